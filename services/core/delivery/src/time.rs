use std::time::Duration;

/// A point of a worker's own monotonic time, in microseconds since that worker began. Two workers' moments mean nothing
/// to each other; what must be compared between workers is compared in Postgres, by its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(pub u64);

impl Moment {
    /// The moment `wait` later; saturates, because a platform may ask for any wait.
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

/// The time of one event: the monotonic moment for waits and leases, the wall clock only for `expires_at` and for what
/// people read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// Monotonic time of this worker.
    pub moment: Moment,
    /// Wall clock, microseconds since the Unix epoch; best one that all workers share, such as the database's.
    pub wall_micros: i64,
}
