//! The processed-message record in Postgres: claims, starts, settlements and releases in batches (design §7).

mod batch;
mod clock;
mod sql;
mod store;

use std::sync::Arc;
use std::time::Duration;

use tidings_delivery::{Answer, ClaimOutcome, Moment, Settlement, SlotId};
use uuid::Uuid;

use crate::state::{Asked, Performed};

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

impl<T: Send + 'static> Asked for Ask<T> {
    type Name = Key;

    fn name(&self) -> Key {
        self.key.clone()
    }
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
        statement: Performed,
    },
    Start {
        slot: SlotId,
        answer: Answer,
        statement: Performed,
    },
    Settle {
        slot: SlotId,
        answer: Answer,
        statement: Performed,
    },
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
}
