//! What each event type declares about itself in `type.toml` (design §5).

use serde::{Deserialize, Serialize};

/// The content of a `type.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// Who answers for it; shown with its dead letters and alerts.
    pub owner: String,
    /// What follows an attempt whose outcome is unknown.
    pub policy: Policy,
    /// How failures are retried.
    pub retry: RetryProfile,
    /// What follows a message that had to be given up.
    pub on_dead: OnDead,
    /// What happens to a message older than one already seen of its aggregate.
    pub on_stale: OnStale,
    /// Where the text comes from.
    pub text: TextSource,
    /// Whether it tells or asks.
    #[serde(default)]
    pub kind: Kind,
}

/// What an event type's name must be (design §1, requirement B5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A fact that happened, named in the past tense: `order.confirmed`.
    #[default]
    Event,
    /// A request, named by an imperative: `notification.send`.
    Command,
}

/// What follows an attempt whose outcome is unknown (design §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Send again: at least once.
    Resend,
    /// Give up for a person to decide: at most once.
    Park,
}

/// How failures are retried (design §8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetryProfile {
    /// 8 attempts within 24 hours.
    Standard,
    /// 3 retries within seconds.
    Interactive,
}

/// What follows a message that had to be given up (design §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDead {
    /// The chat's next message goes on.
    Continue,
    /// The chat is held until an operator decides.
    Hold,
}

/// What happens to a message whose `aggregate_sequence` is older than one already seen (requirement B18).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnStale {
    /// It is sent.
    Send,
    /// It is skipped.
    Skip,
}

/// Where the text of a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextSource {
    /// The type's `template.txt`, over its data.
    Template,
    /// The data's field `text`, as it is, with an optional `parse_mode`.
    Ready,
}
