use tidings_ratelimit::Moment;

/// The time of one event: the monotonic moment for waits and leases, the wall clock only for `expires_at` and for what
/// people read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// Monotonic time of this worker.
    pub moment: Moment,
    /// Wall clock, microseconds since the Unix epoch; best one that all workers share, such as the database's.
    pub wall_micros: i64,
}
