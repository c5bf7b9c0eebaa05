//! What a relay is started with.

use std::time::Duration;

use tidings_edge::config::Config;

/// What a relay is started with.
#[derive(Debug, Clone)]
pub struct RelayOptions {
    /// The configuration; the relay uses `kafka`, `upstream`, `state`, `registry`, `relay` and the names of the platforms.
    pub config: Config,
    /// Bounds that need no change in ordinary use.
    pub tuning: Tuning,
}

impl RelayOptions {
    /// A configuration with the default tuning.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            tuning: Tuning::default(),
        }
    }
}

/// Bounds that need no change in ordinary use.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// How often the relays and shards are counted, which bounds how long a free shard waits for an owner: 1 s.
    pub membership_interval: Duration,
    /// The longest one statement may take before its session is given up: 30 s.
    pub statement_deadline: Duration,
    /// After this silence Postgres itself ends a shard's session and frees its lock, so that a relay that is frozen
    /// or cut off loses its shards: 15 s.
    pub idle_session_timeout: Duration,
    /// The least pause between two deletes of a shard, so that acknowledgements share one: 5 ms.
    pub delete_interval: Duration,
    /// The pause after a failure; it doubles from the least, 200 ms, to the greatest, 5 s.
    pub backoff_min: Duration,
    /// See `backoff_min`.
    pub backoff_max: Duration,
    /// The longest that dropping a producer is waited for: 5 s. Its drop can hang (reference/libraries.md).
    pub close_deadline: Duration,
    /// How many producers may hang in their drop before the role stops: 8. A process can't be rid of them otherwise.
    pub max_abandoned_producers: usize,
    /// The most transactions in progress that a cursor tracks one by one: 4,096.
    pub max_tracked_transactions: usize,
    /// How often the outbox' size and oldest age are sampled, at least 20 × as long as that took: 5 s.
    pub sample_interval: Duration,
    /// The most rejected rows that are fed to the dead-letter topic at a time: 100.
    pub feed_rows: i64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            membership_interval: Duration::from_secs(1),
            statement_deadline: Duration::from_secs(30),
            idle_session_timeout: Duration::from_secs(15),
            delete_interval: Duration::from_millis(5),
            backoff_min: Duration::from_millis(200),
            backoff_max: Duration::from_secs(5),
            close_deadline: Duration::from_secs(5),
            max_abandoned_producers: 8,
            max_tracked_transactions: tidings_outbox::cursor::DEFAULT_MAX_TRACKED,
            sample_interval: Duration::from_secs(5),
            feed_rows: 100,
        }
    }
}

/// Logs a failure that is tried again after `pause`.
pub(crate) fn warn_retry(
    what: &'static str,
    error: &(dyn std::error::Error + 'static),
    pause: Duration,
) {
    tracing::warn!(error, ?pause, "{what}; it is tried again");
}
