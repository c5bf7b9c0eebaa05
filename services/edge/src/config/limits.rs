//! `[limits]` and `[accounts."…".limits]`: the client of the rate-limit topic, and the limits proposed for a scope.

mod window;

use std::time::Duration;

use serde::Deserialize;

pub use window::{WindowError, WindowLimit};

/// `[limits]`: the client of the rate-limit topic (design §9).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsConfig {
    /// How long an append may stay unacknowledged before it counts as failed.
    #[serde(with = "humantime_serde")]
    pub append_timeout: Duration,
    /// How long what was appended may stay unread before the clients are made anew: a client can fail to reconnect
    /// without a word (reference/libraries.md, librdkafka #5267).
    #[serde(with = "humantime_serde")]
    pub stall_deadline: Duration,
    /// The longest that the broker holds an empty answer back. A record is answered at once; this bounds what a change
    /// of the position waits for.
    #[serde(with = "humantime_serde")]
    pub fetch_wait: Duration,
    /// The first pause before the log is opened again; it doubles up to `backoff_max`.
    #[serde(with = "humantime_serde")]
    pub backoff_min: Duration,
    /// The longest pause before the log is opened again.
    #[serde(with = "humantime_serde")]
    pub backoff_max: Duration,
    /// The longest that closing a client is waited for. It can hang (reference/libraries.md).
    #[serde(with = "humantime_serde")]
    pub close_deadline: Duration,
    /// How many clients may hang in their close before no new one is made.
    pub max_abandoned_clients: usize,
    /// The most long penalties that wait to be written to the state database.
    pub max_pending_penalties: usize,
}

/// Limits as people write them: in `[accounts."…".limits]`, where they are proposed for a scope that the log does not
/// know yet, and in the flags of `tidings limits set`. All that is given must hold at once.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsProposal {
    /// Whether the platform's exact limits hold; absent: they do. Without them the others stand alone: for a platform
    /// that has other limits, such as a simulator.
    pub exact: Option<bool>,
    /// A preset of the second source document (`telegram-source`, …), added.
    pub preset: Option<String>,
    /// Windows over all messages of the account, such as `30/1s`, added.
    pub account: Vec<WindowLimit>,
    /// Windows over the messages of each chat, added.
    pub chat: Vec<WindowLimit>,
    /// Windows over the messages of each group (a negative chat id), added.
    pub group: Vec<WindowLimit>,
    /// A token bucket over the account, in messages a second, added.
    pub rate: Option<f64>,
    /// The bucket's capacity; absent: `rate`, rounded up.
    pub burst: Option<u32>,
    /// Tokens that a message takes from the bucket; absent: 1.
    pub cost: Option<u32>,
    /// The least time between two messages of a chat, added.
    #[serde(with = "humantime_serde")]
    pub chat_delay: Option<Duration>,
    /// The share of every limit that is used, instead of 1.0 for windows and 0.75 for token buckets.
    pub headroom: Option<f64>,
}
