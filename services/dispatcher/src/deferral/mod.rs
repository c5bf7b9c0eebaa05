//! Deferred chats in Postgres: their markers and their messages (design §8).
//!
//! `sql` is what is asked, `store` asks it, `queue` gathers what goes together, `row` turns a stored message back into
//! the record that it was. When what happens is decided by the delivery machine.

mod columns;
mod headers;
mod queue;
mod row;
mod sql;
mod store;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::SystemTime;

use rdkafka::Message as _;
use rdkafka::message::OwnedMessage;
use tidings_delivery::{Answer, CloseAnswer, DeferredChat, Due, KeptClaim, PartitionId, SlotId};

use crate::claims::Key;
use crate::decode::Intake;
use crate::state::{Asked, Performed};

pub(crate) use queue::Deferrals;
pub(crate) use store::DeferralStore;

/// A lane partition, and the epoch under which this worker owns it.
#[derive(Debug, Clone)]
pub(crate) struct Owned {
    pub(crate) partition: PartitionId,
    pub(crate) topic: Arc<str>,
    pub(crate) epoch: i64,
}

/// A record to be written behind its chat's marker.
pub(crate) struct Defer {
    pub(crate) slot: SlotId,
    pub(crate) of: Owned,
    pub(crate) chat: Arc<str>,
    pub(crate) due: Due,
    /// Whether a marker that is there is moved to `due`.
    pub(crate) moves_due: bool,
    /// The claim that is given back in the same statement.
    pub(crate) claim: Option<KeptClaim>,
    pub(crate) reason: Arc<str>,
    pub(crate) key: Key,
    pub(crate) event_type: String,
    pub(crate) record: Arc<OwnedMessage>,
}

/// Messages of a chat to be read back, in order: those with offsets beyond `after` and less than `below`.
pub(crate) struct Load {
    pub(crate) of: Owned,
    pub(crate) chat: Arc<str>,
    pub(crate) after: Option<i64>,
    pub(crate) below: i64,
    pub(crate) limit: usize,
}

/// A message that has its end.
pub(crate) struct Undefer {
    pub(crate) slot: SlotId,
    pub(crate) of: Owned,
    pub(crate) offset: i64,
}

/// A marker that is not needed if no message remains.
pub(crate) struct Close {
    pub(crate) of: Owned,
    pub(crate) chat: Arc<str>,
}

/// A marker that an operator changed.
#[derive(Debug, Clone)]
pub(crate) struct Changed {
    pub(crate) topic: String,
    pub(crate) partition: i32,
    pub(crate) chat: DeferredChat,
    pub(crate) changed_at: SystemTime,
}

/// What came of a record that was to be written behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrittenBehind {
    /// Its row is there, or is not.
    Answered(Answer),
    /// Nothing was written: its message has its end.
    HadItsEnd,
}

/// What came of a question.
pub(crate) enum DeferralAnswered {
    Deferred {
        slot: SlotId,
        written: WrittenBehind,
        statement: Performed,
    },
    Loaded {
        of: Owned,
        chat: Arc<str>,
        loaded: Loaded,
    },
    Undeferred {
        slot: SlotId,
        answer: Answer,
        statement: Performed,
    },
    Closed {
        of: Owned,
        chat: Arc<str>,
        answer: CloseAnswer,
    },
}

/// What came of a load.
pub(crate) enum Loaded {
    Records {
        intakes: Vec<Intake>,
        /// Whether there are more below the bound.
        more: bool,
    },
    StaleEpoch,
    Failed,
}

impl DeferralAnswered {
    /// Whether Postgres gave no answer.
    pub(crate) fn is_failure(&self) -> bool {
        match self {
            Self::Deferred { written, .. } => *written == WrittenBehind::Answered(Answer::Failed),
            Self::Undeferred { answer, .. } => *answer == Answer::Failed,
            Self::Loaded { loaded, .. } => matches!(loaded, Loaded::Failed),
            Self::Closed { answer, .. } => *answer == CloseAnswer::Failed,
        }
    }

    /// Whether Postgres refused it to a zombie.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            Self::Deferred { written, .. } => *written == WrittenBehind::Answered(Answer::Fenced),
            Self::Undeferred { answer, .. } => *answer == Answer::Fenced,
            Self::Loaded { loaded, .. } => matches!(loaded, Loaded::StaleEpoch),
            Self::Closed { answer, .. } => *answer == CloseAnswer::StaleEpoch,
        }
    }
}

impl Asked for Defer {
    type Name = (PartitionId, Arc<str>, i64);

    fn name(&self) -> Self::Name {
        let offset = self.record.offset();
        (self.of.partition, Arc::clone(&self.chat), offset)
    }

    fn bytes(&self) -> usize {
        self.record.payload().map_or(0, <[u8]>::len) + self.record.key().map_or(0, <[u8]>::len)
    }
}

impl Asked for Load {
    type Name = (PartitionId, Arc<str>);

    fn name(&self) -> Self::Name {
        (self.of.partition, Arc::clone(&self.chat))
    }
}

impl Asked for Undefer {
    type Name = (PartitionId, i64);

    fn name(&self) -> Self::Name {
        (self.of.partition, self.offset)
    }
}

impl Asked for Close {
    type Name = (PartitionId, Arc<str>);

    fn name(&self) -> Self::Name {
        (self.of.partition, Arc::clone(&self.chat))
    }
}
