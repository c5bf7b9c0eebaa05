//! The processed-message record in Postgres: claims, starts, settlements and releases in batches (design §7).
//!
//! No timer delays a statement: whatever waits when a connection frees goes together, so a quiet worker answers in one
//! round trip and a busy one in large batches.

mod batch;
mod clock;
mod sql;
mod store;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tidings_delivery::{Answer, ClaimOutcome, Moment, Settlement, SlotId};
use uuid::Uuid;

pub(crate) use batch::Claims;
pub(crate) use store::Store;

/// What names a message in the claims table, beside the consumer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    /// The UTC day of `recorded_at`, as days since 1970-01-01: the table's partition.
    pub(crate) recorded_day: i32,
    pub(crate) message_id: Uuid,
    /// Empty but for deliberate second sends.
    pub(crate) resend_nonce: Arc<str>,
}

/// A statement about one message, and where its answer goes.
#[derive(Debug, Clone)]
pub(crate) struct Ask<T> {
    pub(crate) slot: SlotId,
    pub(crate) key: Key,
    pub(crate) what: T,
}

/// For the right to attempt.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) asked_at: Moment,
    pub(crate) topic: Arc<str>,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) epoch: i64,
    pub(crate) attempts: u32,
    pub(crate) first_failed_at_micros: Option<i64>,
    /// The fence that is held, for a renewal.
    pub(crate) renew: Option<i64>,
}

/// Before the first byte, under `park`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub(crate) fence: i64,
}

/// The end of a message.
#[derive(Debug, Clone)]
pub(crate) struct Settle {
    pub(crate) settlement: Settlement,
    pub(crate) fence: i64,
    pub(crate) attempts: u32,
    pub(crate) call: u32,
    pub(crate) platform_message_id: Option<Arc<str>>,
    pub(crate) reason: Arc<str>,
}

/// A claim given back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release {
    pub(crate) fence: i64,
    pub(crate) attempts: u32,
    pub(crate) first_failed_at_micros: Option<i64>,
}

/// What came of a statement.
pub(crate) enum Answered {
    Claim {
        slot: SlotId,
        asked_at: Moment,
        outcome: ClaimOutcome,
        statement: Statement,
    },
    Start {
        slot: SlotId,
        answer: Answer,
        statement: Statement,
    },
    Settle {
        slot: SlotId,
        answer: Answer,
        statement: Statement,
    },
}

/// A statement that ended, for the traces of those it was about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Statement {
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
}

impl StatementKind {
    /// What it is called in traces.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Renew => "renew",
            Self::Started => "started",
            Self::Sent => "sent",
        }
    }

    /// OpenTelemetry's `db.operation.name` and `db.query.summary`.
    pub(crate) fn summary(self) -> (&'static str, &'static str) {
        match self {
            Self::Claim => ("INSERT", "INSERT tidings_delivery.claims"),
            Self::Renew | Self::Started | Self::Sent => {
                ("UPDATE", "UPDATE tidings_delivery.claims")
            }
        }
    }
}

impl Answered {
    /// Whether Postgres gave no answer.
    pub(crate) fn is_failure(&self) -> bool {
        match self {
            Self::Claim { outcome, .. } => *outcome == ClaimOutcome::Failed,
            Self::Start { answer, .. } | Self::Settle { answer, .. } => *answer == Answer::Failed,
        }
    }

    /// Whether Postgres refused it to a zombie, or to one who came too late.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            Self::Claim { outcome, .. } => {
                matches!(outcome, ClaimOutcome::Fenced | ClaimOutcome::StaleEpoch)
            }
            Self::Start { answer, .. } | Self::Settle { answer, .. } => *answer == Answer::Fenced,
        }
    }
}

/// What every statement needs to know of this worker.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// The consumer group, which is the claims' `consumer_name`.
    pub(crate) consumer: String,
    /// This incarnation of the worker.
    pub(crate) owner: Uuid,
    pub(crate) lease: Duration,
    /// The longest a statement may take before it counts as unanswered.
    pub(crate) deadline: Duration,
}
