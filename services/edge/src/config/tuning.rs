//! `[relay.tuning]`: bounds that need no change in ordinary use.

use std::time::Duration;

use serde::Deserialize;

/// `[relay.tuning]`. The defaults are those of `default.toml`; [`Default`] gives the same without it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelayTuning {
    /// How often the relays and shards are counted, which bounds how long a free shard waits for an owner.
    #[serde(with = "humantime_serde")]
    pub membership_interval: Duration,
    /// The longest one statement may take before its session is given up.
    #[serde(with = "humantime_serde")]
    pub statement_deadline: Duration,
    /// After this silence Postgres itself ends a shard's session and frees its lock, so that a relay that is frozen
    /// or cut off loses its shards.
    #[serde(with = "humantime_serde")]
    pub idle_session_timeout: Duration,
    /// The least pause between two deletes of a shard, so that acknowledgements share one.
    #[serde(with = "humantime_serde")]
    pub delete_interval: Duration,
    /// The first pause after a failure; it doubles up to `backoff_max`.
    #[serde(with = "humantime_serde")]
    pub backoff_min: Duration,
    /// The longest pause after a failure.
    #[serde(with = "humantime_serde")]
    pub backoff_max: Duration,
    /// The longest that dropping a producer is waited for. Its drop can hang (reference/libraries.md).
    #[serde(with = "humantime_serde")]
    pub close_deadline: Duration,
    /// How many producers may hang in their drop before the role stops. A process can't be rid of them otherwise.
    pub max_abandoned_producers: usize,
    /// The most transactions in progress that a cursor tracks one by one.
    pub max_tracked_transactions: usize,
    /// How often the outbox' size and oldest age are sampled, at least 20 × as long as that took.
    #[serde(with = "humantime_serde")]
    pub sample_interval: Duration,
    /// The most rejected rows that are fed to the dead-letter topic at a time.
    pub feed_rows: i64,
}

impl Default for RelayTuning {
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
            max_tracked_transactions: 4_096,
            sample_interval: Duration::from_secs(5),
            feed_rows: 100,
        }
    }
}
