//! What was found, with where it is from.

use std::time::Duration;

use tidings_delivery::Capacity;
use tidings_edge::capacity::{ConnectionRoom, PartitionState};

/// A value and where it is from, in words for people.
#[derive(Debug, Clone)]
pub(super) struct Sourced<T> {
    pub(super) value: T,
    pub(super) source: String,
}

impl<T> Sourced<T> {
    pub(super) fn new(value: T, source: impl Into<String>) -> Self {
        Self {
            value,
            source: source.into(),
        }
    }
}

/// Everything that is printed.
pub(super) struct Facts {
    pub(super) group: String,
    pub(super) capacity: Capacity,
    /// Messages a second.
    pub(super) arrival: Sourced<f64>,
    pub(super) processing: Sourced<Duration>,
    pub(super) concurrency: Sourced<usize>,
    pub(super) quotas: Vec<AccountQuota>,
    /// Of all accounts together; `None` if one has no limit.
    pub(super) quota_per_second: Option<f64>,
    /// Of all lanes together.
    pub(super) partitions: usize,
    pub(super) room: ConnectionRoom,
    pub(super) connections_per_consumer: usize,
    pub(super) lanes: Vec<LaneFacts>,
}

/// What one account may send.
pub(super) struct AccountQuota {
    pub(super) account: String,
    /// Messages a second; `None` without a limit.
    pub(super) per_second: Sourced<Option<f64>>,
}

/// One lane, at the end of the sample.
pub(super) struct LaneFacts {
    pub(super) topic: String,
    /// `None`: it keeps records for ever.
    pub(super) retention: Option<Duration>,
    pub(super) partitions: Vec<PartitionFacts>,
}

/// One partition of a lane.
pub(super) struct PartitionFacts {
    pub(super) state: PartitionState,
    /// Of the oldest record that the group has not done with; `None` without lag, or if it could not be read in time.
    pub(super) oldest_age: Option<Duration>,
}

impl LaneFacts {
    pub(super) fn lag(&self) -> u64 {
        self.partitions.iter().map(|p| p.state.lag()).sum()
    }

    pub(super) fn deleted_unread(&self) -> u64 {
        self.partitions
            .iter()
            .map(|p| p.state.deleted_unread())
            .sum()
    }

    pub(super) fn oldest_age(&self) -> Option<Duration> {
        self.partitions.iter().filter_map(|p| p.oldest_age).max()
    }

    /// Partitions that lag and whose oldest record was not read in time.
    pub(super) fn unknown_ages(&self) -> usize {
        let unknown = |p: &&PartitionFacts| p.state.lag() > 0 && p.oldest_age.is_none();
        self.partitions.iter().filter(unknown).count()
    }

    /// How much of its retention the oldest unread record has used up.
    pub(super) fn lag_of_retention(&self) -> Option<f64> {
        let (age, retention) = (self.oldest_age()?, self.retention?);
        Some(age.as_secs_f64() / retention.as_secs_f64().max(f64::MIN_POSITIVE))
    }

    /// Half of the retention (design §4), or anything deleted already.
    pub(super) fn alarms(&self) -> bool {
        self.deleted_unread() > 0 || self.lag_of_retention().is_some_and(|part| part > 0.5)
    }
}
