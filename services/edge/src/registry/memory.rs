//! What a process remembers of schema ids: bounded, with a time to live on failures.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::RegistryError;

/// Failures that are remembered at most, whatever ids a topic's records name.
const FAILURES: usize = 1_000;

/// A schema, and whether the registry itself has said so in this process.
pub(super) struct Known<S> {
    pub(super) schema: S,
    pub(super) confirmed: bool,
}

/// Schemas and failures by id.
pub(super) struct Memory<S> {
    known: HashMap<u32, Known<S>>,
    failures: HashMap<u32, (RegistryError, Instant)>,
    max_known: usize,
    failure_ttl: Duration,
    missing_ttl: Duration,
}

impl<S: Clone> Memory<S> {
    pub(super) fn new(max_known: usize, failure_ttl: Duration, missing_ttl: Duration) -> Self {
        Self {
            known: HashMap::new(),
            failures: HashMap::new(),
            max_known,
            failure_ttl,
            missing_ttl,
        }
    }

    pub(super) fn schema(&self, id: u32) -> Option<S> {
        self.known.get(&id).map(|known| known.schema.clone())
    }

    /// The failure of an id that is still remembered at `now`.
    pub(super) fn failure(&self, id: u32, now: Instant) -> Option<RegistryError> {
        let (error, until) = self.failures.get(&id)?;
        (now < *until).then(|| error.clone())
    }

    /// Ids whose schema came from the store alone.
    pub(super) fn unconfirmed(&self) -> Vec<u32> {
        let known = self.known.iter().filter(|(_, known)| !known.confirmed);
        known.map(|(id, _)| *id).collect()
    }

    pub(super) fn remember(&mut self, id: u32, known: Known<S>) {
        self.failures.remove(&id);
        if !self.known.contains_key(&id) {
            // Any will do: a topic names few ids, and a forgotten one is read again from the store.
            make_room(&mut self.known, self.max_known);
        }
        self.known.insert(id, known);
    }

    pub(super) fn remember_failure(&mut self, id: u32, error: &RegistryError, now: Instant) {
        let ttl = match error {
            RegistryError::Missing { .. } | RegistryError::Unusable { .. } => self.missing_ttl,
            RegistryError::Unavailable(_)
            | RegistryError::Store(_)
            | RegistryError::Refused { .. }
            | RegistryError::IdChanged { .. }
            | RegistryError::Client(_) => self.failure_ttl,
        };
        if self.failures.len() >= FAILURES {
            self.failures.retain(|_, (_, until)| now < *until);
            make_room(&mut self.failures, FAILURES);
        }
        self.failures.insert(id, (error.clone(), now + ttl));
    }
}

/// Removes any entry while there is no room for one more.
fn make_room<V>(map: &mut HashMap<u32, V>, max: usize) {
    while map.len() >= max.max(1) {
        let Some(any) = map.keys().next().copied() else {
            return;
        };
        map.remove(&any);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(1);
    const MISSING_TTL: Duration = Duration::from_secs(60);

    fn memory() -> Memory<u8> {
        Memory::new(2, TTL, MISSING_TTL)
    }

    fn known(schema: u8) -> Known<u8> {
        Known {
            schema,
            confirmed: true,
        }
    }

    #[test]
    fn a_transient_failure_is_forgotten_sooner_than_a_missing_id() {
        let (mut memory, now) = (memory(), Instant::now());
        let transient =
            RegistryError::Store(std::sync::Arc::new(crate::postgres::PostgresError::Url));
        memory.remember_failure(1, &transient, now);
        memory.remember_failure(2, &RegistryError::Missing { id: 2 }, now);
        let later = now + TTL;
        assert!(memory.failure(1, now).is_some());
        assert!(memory.failure(1, later).is_none());
        assert!(memory.failure(2, later).is_some());
        assert!(memory.failure(2, now + MISSING_TTL).is_none());
    }

    #[test]
    fn a_found_schema_ends_its_failure() {
        let (mut memory, now) = (memory(), Instant::now());
        memory.remember_failure(1, &RegistryError::Missing { id: 1 }, now);
        memory.remember(1, known(7));
        assert!(memory.failure(1, now).is_none());
        assert_eq!(memory.schema(1), Some(7));
    }

    #[test]
    fn schemas_and_failures_are_bounded() {
        let (mut memory, now) = (memory(), Instant::now());
        for id in 0..5_000 {
            memory.remember(id, known(0));
            memory.remember_failure(id + 10_000, &RegistryError::Missing { id }, now);
        }
        assert_eq!(memory.known.len(), 2);
        assert_eq!(memory.failures.len(), FAILURES);
        assert_eq!(memory.schema(4_999), Some(0));
    }

    #[test]
    fn only_stored_schemas_are_unconfirmed() {
        let mut memory = memory();
        memory.remember(1, known(0));
        let stored = Known {
            schema: 0,
            confirmed: false,
        };
        memory.remember(2, stored);
        assert_eq!(memory.unconfirmed(), [2]);
    }
}
