use std::time::Duration;

use uuid::Uuid;

use crate::{AppendId, Moment, PermitId, RefusedWhy, Target, Validity};

/// Something to do outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Append a record to the topic's one partition, at once, without waiting for others. Not retried by the caller: a
    /// failure is answered by [`Event::NotAppended`](crate::Event::NotAppended), success by reading the record.
    Append {
        /// For the answer.
        id: AppendId,
        /// The Kafka key; only for people.
        key: String,
        /// The value.
        value: Vec<u8>,
    },
    /// Read from this offset on (seek), whatever was read before. Records of earlier reads must not follow.
    Read {
        /// The next offset.
        from: i64,
    },
    /// The log is not what it was: look at it anew and answer with [`Event::Opened`](crate::Event::Opened).
    Reopen,
    /// The limiter serves, or does not, and why. For readiness, `/health` and the log.
    Mode(Mode),
    /// A message may be sent: call [`Limiter::start`](crate::Limiter::start) at `validity.from`, and send only if it
    /// says so.
    Granted {
        /// The message.
        permit: PermitId,
        /// When.
        validity: Validity,
    },
    /// A grant that was not started is void (penalty, lost log, too late); another was asked for already. What waits
    /// for its moment must not start.
    Voided {
        /// The message.
        permit: PermitId,
        /// Why.
        why: VoidWhy,
    },
    /// More messages wait than the limiter may hold (`Options::max_wants`): it did not take this one. Want it again
    /// later.
    Declined(PermitId),
    /// A message has to wait, as a record or the asker's own replica says: for the debug log (requirement L13), and so
    /// that chats which wait for long keep no place. Sent when the reason changes, or when the wait first exceeds 1 s;
    /// not for each try.
    Waiting {
        /// The message.
        permit: PermitId,
        /// About how long.
        wait: Duration,
        /// What for.
        why: RefusedWhy,
    },
    /// Keep a long penalty in Postgres, with its end by Postgres' clock; one that ends later stays.
    KeepPenalty {
        /// Its id.
        id: Uuid,
        /// What is held.
        target: Target,
        /// How long from now.
        wait: Duration,
    },
    /// An operator ended penalties: forget what Postgres keeps of them.
    ForgetPenalty(Target),
}

/// Whether permits can be granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// Looking for a snapshot or the log's beginning.
    Searching,
    /// Reading what came after it.
    Replaying,
    /// Everything was read; permits are asked for.
    Live,
    /// Nothing will be granted until the log is opened again. [`Effect::Reopen`] follows.
    Closed(ClosedWhy),
    /// For good: this worker must end.
    Stopped(StoppedWhy),
}

/// Why nothing is granted for now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClosedWhy {
    /// The caller said so.
    #[error("the rate-limit topic cannot be read: {0}")]
    Lost(String),
    /// Offsets are missing: records were deleted before they were read.
    #[error("records of the rate-limit topic are missing between offset {expected} and {found}")]
    Gap {
        /// The next offset.
        expected: i64,
        /// What came.
        found: i64,
    },
    /// Another log's records appear.
    #[error("the rate-limit topic holds records of another log, {0}: it was recreated")]
    OtherLog(Uuid),
    /// A snapshot has another hash than this worker's state: one of the two is wrong.
    #[error(
        "the snapshot as of offset {as_of} in the rate-limit topic differs from this worker's state"
    )]
    HashMismatch {
        /// The offset.
        as_of: i64,
    },
}

/// Why a worker must end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoppedWhy {
    /// The log demands a later machine.
    #[error(
        "the rate-limit topic is at machine version {wanted}, and this program has {supported}: update this worker"
    )]
    MachineVersion {
        /// The version in force.
        wanted: u32,
        /// The latest known here.
        supported: u32,
    },
    /// A record of a later schema.
    #[error("a record of schema version {0} in the rate-limit topic: update this worker")]
    SchemaVersion(u8),
}

/// Why a grant is void.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VoidWhy {
    /// Its chat, account or address is held.
    Penalty,
    /// It was not started in time.
    Late,
    /// The log was lost, or its records came too late to be trusted.
    Log,
}

/// What [`Limiter::start`](crate::Limiter::start) says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The call may start now; the permit is used up.
    Go {
        /// Its first byte must be out by then: what starts later would arrive in another's place.
        until: Moment,
    },
    /// Not yet: the grant begins later.
    Early,
    /// The grant is void; another is being asked for.
    Void(VoidWhy),
    /// There is no grant for this message.
    Unknown,
}
