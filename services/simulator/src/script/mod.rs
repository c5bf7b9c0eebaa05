//! What the simulator answers, as data: a list of rules of which the first that fits a call decides.
//!
//! ```json
//! {
//!   "seed": 7,
//!   "default_latency_ms": { "mean": 20, "jitter": 5 },
//!   "rules": [
//!     { "name": "storm", "match": { "account": "main", "probability": 0.1, "after": 100, "times": 50 },
//!       "action": { "answer": { "throttle": { "retry_after": 3 } } } },
//!     { "match": { "chat_id": 7 }, "action": { "latency_ms": 50, "answer": "lost" } }
//!   ]
//! }
//! ```
//!
//! A call that no rule fits, and one that a rule answers with `"ok"`, is answered as Telegram would. A call that Telegram
//! would refuse for its own faults, or that a limit refuses ([`crate::limits`]), is refused before any rule is looked at.

mod engine;
mod validate;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::limits::PenaltyScope;

pub(crate) use engine::Engine;
pub use engine::{RuleCount, ScriptReport};
pub use validate::{MAX_LATENCY_MS, MAX_RAW_BODY_BYTES, MAX_RULES, ScriptError};

/// The whole of what is answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// Makes probabilities and jitter repeatable; without one a random seed is drawn, logged and reported.
    pub seed: Option<u64>,
    /// How long a call takes if no rule says so (default 0).
    pub default_latency_ms: LatencyMs,
    /// The rules, the first that fits first.
    pub rules: Vec<Rule>,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What reports call it.
    #[serde(default)]
    pub name: Option<String>,
    /// Which calls it is for.
    #[serde(default, rename = "match")]
    pub matcher: Match,
    /// What it does to them.
    pub action: Action,
}

/// Which calls a rule is for: those for which everything given here holds, in the order given here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Match {
    /// The account's alias.
    pub account: Option<String>,
    /// The chat: as a number, or as text.
    #[serde(deserialize_with = "number_or_text")]
    pub chat_id: Option<String>,
    /// A part of the text.
    pub text_contains: Option<String>,
    /// How many of the calls that fit so far are let by first (default 0).
    pub after: u64,
    /// The chance of being used for a call that fits so far, 0 to 1 (default 1).
    pub probability: Option<f64>,
    /// How often the rule is used at most (default: without end).
    pub times: Option<u64>,
}

/// What happens to a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// How long it takes until the answer (default: the script's).
    #[serde(default)]
    pub latency_ms: Option<LatencyMs>,
    /// The answer (default `"ok"`).
    #[serde(default)]
    pub answer: Answer,
}

/// A latency in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum LatencyMs {
    /// Always the same.
    Fixed(u64),
    /// Even between `mean - jitter` and `mean + jitter`.
    Spread {
        /// The middle.
        mean: u64,
        /// The greatest distance from it; not more than `mean`.
        jitter: u64,
    },
}

impl Default for LatencyMs {
    fn default() -> Self {
        Self::Fixed(0)
    }
}

/// An answer, or the lack of one. Written in JSON as `"ok"`, or as `{"throttle": {"retry_after": 3}}`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// Accepted and answered.
    #[default]
    Ok,
    /// Not accepted, and no answer until the caller gives up.
    Hang,
    /// Accepted, and no answer until the caller gives up (case S4).
    HangAccepted,
    /// Accepted, then the connection is closed without an answer.
    Lost,
    /// Not accepted: the connection is reset.
    Reset,
    /// Refused with 429, or in one of its disguises; a penalty runs from the answer on ([`crate::limits`]).
    Throttle {
        /// Seconds to wait.
        retry_after: u64,
        /// What the penalty holds (default `"chat"`). No answer says it.
        #[serde(default)]
        scope: PenaltyScope,
        /// Where the seconds stand.
        #[serde(default, rename = "in")]
        form: ThrottleForm,
    },
    /// A server error.
    ServerError {
        /// 500 to 599.
        status: u16,
        /// Whether the body is a page in place of Telegram's JSON.
        #[serde(default)]
        html: bool,
        /// Whether the message was accepted before the error.
        #[serde(default)]
        accepted: bool,
    },
    /// Refused with 403: the person blocked the bot.
    Blocked,
    /// Refused with 400: no such chat.
    ChatNotFound,
    /// Refused with 400: the group became a supergroup.
    Migrated {
        /// The supergroup's id.
        new_chat_id: i64,
    },
    /// Refused with 401.
    Unauthorized,
    /// Any answer at all.
    Raw {
        /// 200 to 599.
        status: u16,
        /// Header names and values.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// The body.
        #[serde(default)]
        body: String,
        /// Whether the message was accepted before the answer.
        #[serde(default)]
        accepted: bool,
    },
}

/// Where a throttled answer names its seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThrottleForm {
    /// In the header and the body, as Telegram does.
    #[default]
    HeaderAndBody,
    /// In the body alone.
    Body,
    /// In the words of the body alone (case S1).
    Text,
    /// In the words of a 400 (case S3).
    #[serde(rename = "text_400")]
    Text400,
}

fn number_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Id {
        Number(i64),
        Text(String),
    }
    Ok(Option::<Id>::deserialize(deserializer)?.map(|id| match id {
        Id::Number(number) => number.to_string(),
        Id::Text(text) => text,
    }))
}
