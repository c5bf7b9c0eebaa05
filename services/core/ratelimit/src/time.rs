use std::time::Duration;

/// Time of the log, in microseconds since the log was begun. It advances by what the broker's append times advance, as
/// far as they can be believed (`machine`); no worker's clock enters (design §9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LogTime(pub i64);

impl LogTime {
    /// The time `wait` later; saturates, because a platform may ask for any wait.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(micros(wait)))
    }

    /// The time `wait` earlier; saturates.
    #[must_use]
    pub fn before(self, wait: Duration) -> Self {
        Self(self.0.saturating_sub(micros(wait)))
    }

    /// How long from `self` until `later`; zero when `later` has passed.
    #[must_use]
    pub fn until(self, later: Self) -> Duration {
        Duration::from_micros(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0))
    }
}

/// A point of a worker's own monotonic time, in microseconds since that worker began. Two workers' moments mean nothing
/// to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(pub u64);

impl Moment {
    /// The moment `wait` later; saturates.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX)),
        )
    }

    /// How long from `self` until `later`; zero when `later` has passed.
    #[must_use]
    pub fn until(self, later: Self) -> Duration {
        Duration::from_micros(later.0.saturating_sub(self.0))
    }
}

/// Whole microseconds of a duration; saturates.
pub(crate) fn micros(wait: Duration) -> i64 {
    i64::try_from(wait.as_micros()).unwrap_or(i64::MAX)
}
