//! The state database (Postgres): a bounded pool, statements that take many questions at once, and the queues that
//! gather them.
//!
//! No timer delays a statement: whatever waits when a connection frees goes together, so a quiet worker answers in one
//! round trip and a busy one in large batches.

mod database;
mod queues;

use std::time::SystemTime;

pub(crate) use database::{Database, StateError, Statement, Unanswered, count, in_order, ordinal};
pub(crate) use queues::{Asked, Queue, Queues};

/// A statement that ended, for the traces of those it was about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Performed {
    pub(crate) kind: StatementKind,
    pub(crate) began: SystemTime,
    pub(crate) ended: SystemTime,
    /// How many messages went together.
    pub(crate) messages: u32,
    /// There was no answer.
    pub(crate) failed: bool,
}

/// What a statement is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StatementKind {
    Claim,
    Renew,
    Started,
    Sent,
    Defer,
    Undefer,
}

impl StatementKind {
    /// What it is called in traces.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Renew => "renew",
            Self::Started => "started",
            Self::Sent => "sent",
            Self::Defer => "defer",
            Self::Undefer => "undefer",
        }
    }

    /// OpenTelemetry's `db.operation.name` and `db.query.summary`.
    pub(crate) fn summary(self) -> (&'static str, &'static str) {
        match self {
            Self::Claim => ("INSERT", "INSERT tidings_delivery.claims"),
            Self::Renew | Self::Started | Self::Sent => {
                ("UPDATE", "UPDATE tidings_delivery.claims")
            }
            Self::Defer => ("INSERT", "INSERT tidings_delivery.deferred_messages"),
            Self::Undefer => ("DELETE", "DELETE tidings_delivery.deferred_messages"),
        }
    }

    /// A statement of this kind about `messages` messages that began at `began` and ends now.
    pub(crate) fn performed(self, began: SystemTime, messages: usize, failed: bool) -> Performed {
        Performed {
            kind: self,
            began,
            ended: SystemTime::now(),
            messages: u32::try_from(messages).unwrap_or(u32::MAX),
            failed,
        }
    }
}
