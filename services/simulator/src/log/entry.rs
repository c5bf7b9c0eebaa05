//! One call in the log.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::limits::Exceeded;

/// One received call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number, from 1, in order of arrival, which is the order of acceptance.
    pub seq: u64,
    /// When it arrived, by the simulator's clock, in microseconds since the Unix epoch.
    pub received_at_micros: i64,
    /// The account's alias; none for a token that nobody knows.
    pub account: Option<String>,
    /// The chat as the caller named it.
    pub chat_id: Option<String>,
    /// The thread as the caller named it.
    pub thread_id: Option<String>,
    /// The text as it came, markup included.
    pub text: Option<String>,
    /// The parse mode as the caller named it.
    pub parse_mode: Option<String>,
    /// The `tidings-attempt` header.
    pub attempt: Option<String>,
    /// Whether a person would see the message, whatever the caller was answered.
    pub accepted: bool,
    /// Whether it was too much for a limit of the platform ([`crate::limits`]), refused for it or not.
    #[serde(default)]
    pub over_limit: bool,
    /// Which limit that was.
    #[serde(default)]
    pub exceeded: Option<Exceeded>,
    /// Whether it came inside a penalty that a 429 had announced, the excuse aside ([`crate::limits::Limits::excuse_ms`]).
    #[serde(default)]
    pub in_penalty: bool,
    /// The platform's id of the message; only if it was accepted.
    pub message_id: Option<i64>,
    /// What the caller was answered; none as long as the call is in progress, and for good if the caller left before.
    pub answer: Option<Outcome>,
}

/// What a caller was answered. In JSON: the status as a number, else a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// An HTTP status.
    Status(u16),
    /// Accepted, and the connection closed without an answer.
    Lost,
    /// No answer until the caller gave up.
    Hang,
    /// Not accepted, and the connection reset.
    Reset,
}

impl Outcome {
    /// The outcome as statistics name it: the status, else the word.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Status(status) => status.to_string(),
            Self::Lost => "lost".to_owned(),
            Self::Hang => "hang".to_owned(),
            Self::Reset => "reset".to_owned(),
        }
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Status(status) => serializer.serialize_u16(*status),
            Self::Lost | Self::Hang | Self::Reset => serializer.serialize_str(&self.name()),
        }
    }
}

impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Wire {
            Status(u16),
            Word(String),
        }
        match Wire::deserialize(deserializer)? {
            Wire::Status(status) => Ok(Self::Status(status)),
            Wire::Word(word) => [Self::Lost, Self::Hang, Self::Reset]
                .into_iter()
                .find(|outcome| outcome.name() == word)
                .ok_or_else(|| de::Error::custom(format!("unknown answer {word:?}"))),
        }
    }
}

/// A call as it arrives, before it has numbers.
#[derive(Debug, Default)]
pub(crate) struct Arrival {
    pub(crate) received_at_micros: i64,
    pub(crate) account: Option<String>,
    pub(crate) chat_id: Option<String>,
    pub(crate) thread_id: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) parse_mode: Option<String>,
    pub(crate) attempt: Option<String>,
    pub(crate) accepted: bool,
    pub(crate) exceeded: Option<Exceeded>,
    pub(crate) in_penalty: bool,
}

impl Arrival {
    /// The entry with its numbers.
    pub(crate) fn numbered(self, seq: u64, message_id: Option<i64>) -> Entry {
        Entry {
            seq,
            received_at_micros: self.received_at_micros,
            account: self.account,
            chat_id: self.chat_id,
            thread_id: self.thread_id,
            text: self.text,
            parse_mode: self.parse_mode,
            attempt: self.attempt,
            accepted: self.accepted,
            over_limit: self.exceeded.is_some(),
            exceeded: self.exceeded,
            in_penalty: self.in_penalty,
            message_id,
            answer: None,
        }
    }
}
