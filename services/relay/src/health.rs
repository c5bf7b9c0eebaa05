//! What the relay tells of itself.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};
use tidings_edge::http::{HealthReport, HealthSource, HealthStatus};

/// The relay's numbers and state, kept in memory for `/health` and `/ready`.
#[derive(Debug, Default)]
pub struct RelayHealth {
    published: AtomicU64,
    rejected: AtomicU64,
    pending: AtomicU64,
    oldest_age_millis: AtomicU64,
    prepared: AtomicBool,
    member: AtomicBool,
    stopping: AtomicBool,
    shards: Mutex<BTreeMap<u32, ShardState>>,
}

/// Where a shard's task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShardState {
    /// It connects, or waits for the broker or for the shard's lock.
    Starting,
    /// It owns the shard and reads.
    Running,
    /// It failed and waits before it tries again.
    Failing,
    /// It has had work and made no progress within the progress deadline, and failed again and again since.
    Stuck,
}

impl ShardState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Failing => "failing",
            Self::Stuck => "stuck",
        }
    }
}

impl RelayHealth {
    /// Records acknowledged by Kafka since the start.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.published.load(Ordering::Relaxed)
    }

    /// Rows moved to `outbox_rejected` since the start.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    /// The shards that this relay owns now, ascending.
    #[must_use]
    pub fn owned_shards(&self) -> Vec<u32> {
        let shards = self.lock();
        shards
            .iter()
            .filter(|(_, state)| **state == ShardState::Running)
            .map(|(shard, _)| *shard)
            .collect()
    }

    pub(crate) fn add_published(&self, count: u64) {
        self.published.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn add_rejected(&self, count: u64) {
        self.rejected.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn sampled(&self, pending: u64, oldest_age_seconds: f64) {
        self.pending.store(pending, Ordering::Relaxed);
        // Saturates: no age is negative or beyond 64 bits of milliseconds.
        self.oldest_age_millis
            .store((oldest_age_seconds * 1e3) as u64, Ordering::Relaxed);
    }

    pub(crate) fn set_prepared(&self) {
        self.prepared.store(true, Ordering::Relaxed);
    }

    pub(crate) fn set_member(&self, member: bool) {
        self.member.store(member, Ordering::Relaxed);
    }

    pub(crate) fn set_stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn set_shard(&self, shard: u32, state: ShardState) {
        self.lock().insert(shard, state);
    }

    pub(crate) fn remove_shard(&self, shard: u32) {
        self.lock().remove(&shard);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, ShardState>> {
        self.shards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn status(&self, shards: &BTreeMap<u32, ShardState>) -> HealthStatus {
        let any = |state| shards.values().any(|other| *other == state);
        if self.stopping.load(Ordering::Relaxed) {
            HealthStatus::Stopping
        } else if any(ShardState::Stuck) {
            HealthStatus::Stuck
        } else if any(ShardState::Failing) || !self.member.load(Ordering::Relaxed) {
            HealthStatus::Degraded
        } else {
            HealthStatus::Ok
        }
    }
}

impl HealthSource for RelayHealth {
    fn health(&self) -> HealthReport {
        let shards = self.lock().clone();
        let states: Map<String, Value> = shards
            .iter()
            .map(|(shard, state)| (shard.to_string(), json!(state.as_str())))
            .collect();
        let oldest_age_seconds = self.oldest_age_millis.load(Ordering::Relaxed) as f64 / 1e3;
        HealthReport {
            status: self.status(&shards),
            dispatched: self.published(),
            failed: self.rejected(),
            queue_depth: self.pending.load(Ordering::Relaxed),
            role_fields: Map::from_iter([
                ("shards".to_owned(), Value::Object(states)),
                ("oldest_age_seconds".to_owned(), json!(oldest_age_seconds)),
            ]),
            ..HealthReport::default()
        }
    }

    /// Ready: prepared, counted among the relays, and no shard of it is without its session and producer. A relay
    /// beyond the number of shards stands by, ready with none.
    fn ready(&self) -> Result<(), Vec<String>> {
        let mut missing = Vec::new();
        if !self.prepared.load(Ordering::Relaxed) {
            missing.push("topics and schemas are not confirmed yet".to_owned());
        }
        if !self.member.load(Ordering::Relaxed) {
            missing.push("there is no session with the upstream database".to_owned());
        }
        for (shard, state) in self
            .lock()
            .iter()
            .filter(|(_, state)| **state != ShardState::Running)
        {
            missing.push(format!("shard {shard} is {}", state.as_str()));
        }
        if self.stopping.load(Ordering::Relaxed) {
            missing.push("the relay is stopping".to_owned());
        }
        if missing.is_empty() {
            Ok(())
        } else {
            Err(missing)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standby_is_ready_and_a_shard_without_its_connections_is_not() {
        let health = RelayHealth::default();
        assert_eq!(health.ready().unwrap_err().len(), 2);
        health.set_prepared();
        health.set_member(true);
        assert_eq!(health.ready(), Ok(()));
        health.set_shard(1, ShardState::Failing);
        assert_eq!(health.ready(), Err(vec!["shard 1 is failing".to_owned()]));
        assert_eq!(health.health().status, HealthStatus::Degraded);
        health.set_shard(1, ShardState::Running);
        assert_eq!((health.ready(), health.owned_shards()), (Ok(()), vec![1]));
        health.set_stopping();
        assert_eq!(health.health().status, HealthStatus::Stopping);
    }

    #[test]
    fn the_report_has_the_numbers_that_operators_expect() {
        let health = RelayHealth::default();
        health.add_published(5);
        health.add_rejected(2);
        health.sampled(7, 1.5);
        let report = health.health();
        assert_eq!(
            (report.dispatched, report.failed, report.queue_depth),
            (5, 2, 7)
        );
        assert_eq!(report.role_fields["oldest_age_seconds"], json!(1.5));
    }
}
