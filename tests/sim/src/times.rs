//! The times of the world, in microseconds. Those of the dispatcher hang together as in demo and drills (design §7:
//! production: "call deadline 30 s, lease 40 s, session timeout 45 s; demo and drills: 2–5 s, 5–8 s, 6 s").

pub(crate) const MILLI: u64 = 1_000;
pub(crate) const SECOND: u64 = 1_000_000;

/// Upstream begins no transaction after this.
pub(crate) const UPSTREAM_END: u64 = 22 * SECOND;
/// No fault begins after this; what is slow, frozen or cut off comes back by itself.
pub(crate) const FAULTS_END: u64 = 30 * SECOND;
/// A world that is not at rest by then never will be.
pub(crate) const PATIENCE_END: u64 = FAULTS_END + 900 * SECOND;

pub(crate) const CALL_DEADLINE: u64 = 2 * SECOND;
pub(crate) const LEASE: u64 = 5 * SECOND;
pub(crate) const LEASE_MARGIN: u64 = 500 * MILLI;
pub(crate) const STORAGE_RETRY: u64 = 200 * MILLI;
pub(crate) const SESSION_TIMEOUT: u64 = 6 * SECOND;
pub(crate) const DRAIN_DEADLINE: u64 = SECOND;
pub(crate) const COMMIT_INTERVAL: u64 = 100 * MILLI;
pub(crate) const REJOIN_WAIT: u64 = SECOND;
pub(crate) const EPOCH_RETRY: u64 = 500 * MILLI;
/// A dispatcher's statement that is not answered by then counts as unanswered; it may still be carried out.
pub(crate) const STATEMENT_DEADLINE: u64 = LEASE;

pub(crate) const POLL_MIN: u64 = 10 * MILLI;
pub(crate) const POLL_MAX: u64 = 640 * MILLI;
pub(crate) const SAFETY_PASS_MIN: u64 = 5 * SECOND;
pub(crate) const DELETE_INTERVAL: u64 = 5 * MILLI;
pub(crate) const PRODUCE_DEADLINE: u64 = 3 * SECOND;
pub(crate) const IDLE_SESSION_TIMEOUT: u64 = 4 * SECOND;
pub(crate) const MEMBERSHIP_INTERVAL: u64 = SECOND;
pub(crate) const RELAY_BACKOFF_MIN: u64 = 200 * MILLI;
pub(crate) const RELAY_BACKOFF_MAX: u64 = 2 * SECOND;

/// Microseconds since the Unix epoch at the world's beginning.
pub(crate) const WALL_BEGIN: i64 = 1_800_000_000_000_000;
/// How far a worker's wall clock may be off (reference/faults.md, row 26).
pub(crate) const WALL_SKEW_MAX: u64 = 3_600 * SECOND;
