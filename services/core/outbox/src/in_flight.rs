//! The rows that were read and not yet deleted.

use std::collections::BTreeSet;

/// The ids of the rows of one shard that a read returned and no delete has confirmed yet. The next read skips them:
/// a row may be read a second time only after it was given up as a whole with its cursor.
#[derive(Debug, Default)]
pub struct InFlight {
    ids: BTreeSet<i64>,
}

impl InFlight {
    /// Nothing in flight.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A read returned the row; whether it was not in flight before.
    pub fn insert(&mut self, id: i64) -> bool {
        self.ids.insert(id)
    }

    /// A delete (or the move to the rejected rows) is committed; whether the row was in flight.
    pub fn remove(&mut self, id: i64) -> bool {
        self.ids.remove(&id)
    }

    /// The ids greater than `id`, ascending.
    #[must_use]
    pub fn after(&self, id: i64) -> Vec<i64> {
        let above = (std::ops::Bound::Excluded(id), std::ops::Bound::Unbounded);
        self.ids.range(above).copied().collect()
    }

    /// How many rows are in flight.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether no row is in flight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_what_a_read_from_an_id_must_skip() {
        let mut in_flight = InFlight::new();
        for id in [5, 3, 9] {
            assert!(in_flight.insert(id));
        }
        assert!(!in_flight.insert(3));
        assert_eq!(in_flight.after(3), [5, 9]);
        assert_eq!(in_flight.after(i64::MAX), []);
        assert!(in_flight.remove(5) && !in_flight.remove(5));
        assert_eq!((in_flight.len(), in_flight.is_empty()), (2, false));
    }
}
