//! `[relay]` and `[dispatcher]`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::{
    BrokenAccountConfig, CircuitConfig, DeadLetterLimitConfig, RelayTuning, TargetsConfig,
    duration_list,
};

/// `[relay]` (design §6).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelayConfig {
    /// The most rows one read takes.
    pub batch_rows: usize,
    /// The most bytes of data one read takes; a single larger row is still read, alone.
    pub batch_bytes: usize,
    /// The most rows of one shard that are read and not yet deleted.
    pub max_in_flight_rows: usize,
    /// The pause between reads while there is work.
    #[serde(with = "humantime_serde")]
    pub poll_min: Duration,
    /// The pause between reads after a long idle time.
    #[serde(with = "humantime_serde")]
    pub poll_max: Duration,
    /// The least time between two passes from the table's start; the real one is the greater of this and 20 ×
    /// the last pass' duration (design §6).
    #[serde(with = "humantime_serde")]
    pub safety_pass_min: Duration,
    /// How long a record may wait for its acknowledgement before the shard stops and reads again.
    #[serde(with = "humantime_serde")]
    pub produce_deadline: Duration,
    /// The largest `data` of a row, in bytes (requirement B7).
    pub payload_bytes: usize,
    /// The streams `tidings.events.<stream>` that rows without a destination may go to.
    pub streams: Vec<String>,
    /// Which headers a record carries.
    pub headers: HeaderSet,
    /// The longest the relay waits for its acknowledgements when it is asked to stop.
    #[serde(with = "humantime_serde")]
    pub drain_deadline: Duration,
    /// Without progress for this long while there is work, `/health` says so and the role restarts its parts.
    #[serde(with = "humantime_serde")]
    pub progress_deadline: Duration,
    /// Bounds that need no change in ordinary use.
    pub tuning: RelayTuning,
}

/// Which headers a record carries (reference/conventions.md: a header costs ≈0.5 µs and 40 bytes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeaderSet {
    /// `ce_specversion`, `ce_id`, `ce_source`, `ce_type`, `content-type`, `traceparent`.
    Minimal,
    /// All of CloudEvents' and the extensions.
    Full,
}

/// `[dispatcher]` (design §7).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DispatcherConfig {
    /// The consumer group, which is also the claims' `consumer_name`.
    pub group: String,
    /// The platforms whose lanes are read.
    pub platforms: Vec<String>,
    /// The longest one call of a platform may take.
    #[serde(with = "humantime_serde")]
    pub call_deadline: Duration,
    /// How long a claim lasts; outlives the call's deadline and the margin.
    #[serde(with = "humantime_serde")]
    pub lease: Duration,
    /// What must be left of the lease beyond the deadline for a call to start.
    #[serde(with = "humantime_serde")]
    pub lease_margin: Duration,
    /// The longest a revocation or a stop waits for what is in flight.
    #[serde(with = "humantime_serde")]
    pub drain_deadline: Duration,
    /// The most records in one worker between intake and settlement.
    pub max_records: usize,
    /// The most bytes of them.
    pub max_bytes: usize,
    /// The most records of one chat in memory; past it the chat is deferred (design §8).
    pub max_records_per_chat: usize,
    /// The most calls in flight in one worker.
    pub max_in_flight_calls: usize,
    /// The most calls in flight of one account in one worker.
    pub max_in_flight_calls_per_account: usize,
    /// Connections to the state database.
    pub database_connections: usize,
    /// The most messages one claim statement takes.
    pub claim_batch: usize,
    /// How many days claims are kept, at least the lanes' and dead letters' retention + 1 day (design §7).
    pub dedupe_retention_days: u32,
    /// Without progress for this long while there is work, the worker is taken for stuck.
    #[serde(with = "humantime_serde")]
    pub progress_deadline: Duration,
    /// How often watermarks are committed while records flow.
    #[serde(with = "humantime_serde")]
    pub commit_interval: Duration,
    /// Older messages get their permits after live ones (requirement B27).
    #[serde(with = "humantime_serde")]
    pub backlog_after: Duration,
    /// The wait before a failed write to the state database is tried again; leases are seconds.
    #[serde(with = "humantime_serde")]
    pub storage_retry: Duration,
    /// How often the lanes' lag is looked at, and the group member tells whether it sees a broker and what it holds for committed.
    #[serde(with = "humantime_serde")]
    pub statistics_interval: Duration,
    /// A chat whose head waits longer is deferred (design §8).
    #[serde(with = "humantime_serde")]
    pub hold_in_memory: Duration,
    /// The most messages of a deferred chat that are read back at once.
    pub deferred_load_batch: usize,
    /// Of how many deferred chats messages are read back at once.
    pub deferred_loads: usize,
    /// The most bytes that one statement reads of a deferred chat or writes; a single larger message goes alone.
    pub deferred_batch_bytes: usize,
    /// The most deferred chats that a worker knows of; past it partitions pause instead.
    pub max_deferred_chats: usize,
    /// How often a worker looks for markers that an operator changed.
    #[serde(with = "humantime_serde")]
    pub deferred_poll: Duration,
    /// When a failed attempt is repeated.
    pub retry: RetryConfig,
    /// When an account's platform is left alone.
    pub circuit: CircuitConfig,
    /// When dead letters of an event type are held back.
    pub dead_letter_limit: DeadLetterLimitConfig,
    /// When an account stops because its credential is refused.
    pub broken_account: BrokenAccountConfig,
    /// What is known of dead and migrated targets.
    pub targets: TargetsConfig,
    /// Event types whose policy differs here from the one that they declare.
    pub policies: BTreeMap<String, UnknownPolicy>,
}

/// What follows an attempt whose outcome is unknown (design §7, requirement B1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnknownPolicy {
    /// Send again: at least once.
    Resend,
    /// Keep it as a dead letter for a person to decide: at most once.
    Park,
}

/// `[dispatcher.retry]`: the profiles that event types name (design §8).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetryConfig {
    /// Exponential: for what nobody waits for.
    pub standard: StandardRetry,
    /// A few quick repeats: for what somebody looks at.
    pub interactive: InteractiveRetry,
}

/// `[dispatcher.retry.standard]` (requirements B10, B11).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandardRetry {
    /// The first wait; doubles with each attempt.
    #[serde(with = "humantime_serde")]
    pub base: Duration,
    /// The longest wait before jitter.
    #[serde(with = "humantime_serde")]
    pub cap: Duration,
    /// The part by which a wait is randomly longer or shorter, 0 to 1.
    pub jitter: f64,
    /// The most attempts, the first included.
    pub attempts: u32,
    /// The oldest a message may be, from its first failure, to be tried again.
    #[serde(with = "humantime_serde")]
    pub max_age: Duration,
}

/// `[dispatcher.retry.interactive]` (requirement Q3).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InteractiveRetry {
    /// The waits before the second, third … attempt; as many repeats as there are waits.
    #[serde(with = "duration_list")]
    pub delays: Vec<Duration>,
    /// The oldest a message may be, from its first failure, to be tried again.
    #[serde(with = "humantime_serde")]
    pub max_age: Duration,
}
