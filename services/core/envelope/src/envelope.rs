//! The envelope's fields (design §5), typed.

use crate::Micros;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What every message carries around its data. `schemas/envelope.avsc` says what each field means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// Identity of the message; never changes, neither on retry nor on replay.
    pub message_id: Uuid,
    /// For example `order.confirmed`.
    pub event_type: String,
    /// Major version of the event type, from 1.
    pub event_version: i32,
    /// Business time.
    pub occurred_at: Micros,
    /// Time of the insert into the outbox; immutable.
    pub recorded_at: Micros,
    /// The service that published it.
    pub producer: String,
    /// Groups the messages of one business flow.
    pub correlation_id: Option<String>,
    /// The message or request that caused this one.
    pub causation_id: Option<String>,
    /// Kind of the thing the event is about, for example `order`.
    pub aggregate_type: Option<String>,
    /// Identity of that thing.
    pub aggregate_id: Option<String>,
    /// Position of the event in that thing's history.
    pub aggregate_sequence: Option<i64>,
    /// The chat that gets it; `None` on an event stream.
    pub destination: Option<Destination>,
    /// Which lane it takes.
    pub priority: Priority,
    /// After this time it is not sent any more.
    pub expires_at: Option<Micros>,
    /// Where content lies that is too large for a message.
    pub claim_check: Option<ClaimCheck>,
}

/// The chat that a message goes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Destination {
    /// For example `telegram`.
    pub platform: String,
    /// Alias of the platform identity that sends, for example `main`.
    pub account: String,
    /// The platform's name of the chat; the Kafka record key.
    pub chat_id: String,
    /// A thread or topic inside the chat.
    pub thread_id: Option<String>,
}

impl Destination {
    /// The chat key `platform:account:chat_id` (design §1): what is kept in order.
    pub fn chat_key(&self) -> String {
        format!("{}:{}:{}", self.platform, self.account, self.chat_id)
    }
}

/// Which lane a message takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Before everything else.
    High,
    /// The usual.
    #[default]
    Normal,
}

impl Priority {
    /// The word of the outbox column and of the lane: `high` or `normal`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
        }
    }

    /// The priority of an outbox word; `None` for any other word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "high" => Some(Self::High),
            "normal" => Some(Self::Normal),
            _ => None,
        }
    }

    /// Position in `schemas/envelope.avsc`'s enum.
    pub(crate) fn avro_index(self) -> i32 {
        match self {
            Self::Normal => 0,
            Self::High => 1,
        }
    }
}

/// Where content lies that is too large for a message (requirement B7). It is read under the
/// consumer's own identity, so the key is never a presigned link, and must stay readable for as long as the message
/// may be replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimCheck {
    /// Name of the object in the store.
    pub storage_key: String,
    /// Media type of the content.
    pub content_type: String,
    /// Length of the content.
    pub size_bytes: i64,
    /// SHA-256 of the content, lower-case hexadecimal.
    pub sha256: String,
}
