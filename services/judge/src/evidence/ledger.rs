//! What upstream committed: the load program's ledger, written in each business transaction.

use std::str::FromStr;

use thiserror::Error;
use uuid::Uuid;

/// One message that upstream committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRow {
    /// The message's id, as `tidings.publish` returned it.
    pub message_id: Uuid,
    /// The transaction that committed it.
    pub transaction: Transaction,
    /// Its place among the messages of its transaction.
    pub ordinal: i32,
    /// Its place among all messages published under the lock of their chats; `None` without lock.
    pub lock_ordinal: Option<i64>,
    /// The lane it belongs to.
    pub lane: Lane,
    /// The chat key, `platform:account:chat_id`.
    pub chat: String,
    /// What happened, such as `order.confirmed`.
    pub event_type: String,
    /// A text that the posted text must contain.
    pub marker: String,
    /// What should become of it.
    pub expect: Expectation,
    /// When it was about to be inserted: read before the outbox row was written. Microseconds
    /// since the Unix epoch, by upstream's database.
    pub inserted_at_micros: i64,
    /// A moment after its transaction's commit, by the same clock; `None` if none was noted.
    pub committed_at_micros: Option<i64>,
}

/// A business transaction, numbered within its run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Transaction {
    /// The run of the load program.
    pub run: String,
    /// Its number there.
    pub number: i64,
}

/// A message whose transaction was rolled back: nobody may ever see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolledBack {
    /// The id that `tidings.publish` had returned.
    pub message_id: Uuid,
    /// The chat key it would have gone to.
    pub chat: String,
}

/// The lanes that the relay writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// `<prefix>.<platform>.high`.
    High,
    /// `<prefix>.<platform>.normal`.
    Normal,
}

/// What the load program expects of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// A person sees it.
    Posted,
    /// The relay rejects it.
    Rejected,
}

/// A word in the ledger that the judge does not know.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "unknown {column} `{word}` in load.ledger; the judge and the load program are of different versions"
)]
pub struct UnknownWord {
    column: &'static str,
    word: String,
}

impl FromStr for Lane {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "high" => Ok(Self::High),
            "normal" => Ok(Self::Normal),
            other => Err(UnknownWord {
                column: "lane",
                word: other.to_owned(),
            }),
        }
    }
}

impl FromStr for Expectation {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "posted" => Ok(Self::Posted),
            "rejected" => Ok(Self::Rejected),
            other => Err(UnknownWord {
                column: "expect",
                word: other.to_owned(),
            }),
        }
    }
}
