use std::time::Duration;

use uuid::Uuid;

use crate::{Class, LogTime, Moment, ScopeLimits, Target};

/// A number by which the caller knows one message that needs a permit. Unique within a worker's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PermitId(pub u64);

/// A number by which the caller answers [`Effect::Append`](crate::Effect::Append).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppendId(pub u64);

/// Something that happened outside.
#[derive(Debug, Clone)]
pub enum Event {
    /// The log can be read. Sent at start, and again after [`Effect::Reopen`](crate::Effect::Reopen). Answered by
    /// [`Effect::Read`](crate::Effect::Read).
    Opened {
        /// The first offset that the broker still has (low watermark).
        first: i64,
        /// The offset after the last one (high watermark).
        end: i64,
    },
    /// A record was read, in offset order from the last [`Effect::Read`](crate::Effect::Read) on.
    Record {
        /// Its offset.
        offset: i64,
        /// Its `LogAppendTime`, milliseconds since the Unix epoch.
        append_time_millis: i64,
        /// Its value, as it came.
        value: Vec<u8>,
    },
    /// Everything up to `end` was read ([`Event::Opened`]), or to the end as it is now. Also sent when there is nothing
    /// to read.
    ReachedEnd {
        /// The offset after the last one.
        end: i64,
    },
    /// The log cannot be read, or is not the one it was: deleted, recreated, an offset out of range. Nothing is granted
    /// until it is opened again.
    Lost {
        /// For people.
        reason: String,
    },
    /// The broker refused or did not acknowledge what was appended. It may still turn up in the log.
    NotAppended(AppendId),
    /// A message is ready to be sent.
    Want {
        /// The caller's number.
        permit: PermitId,
        /// Its limit scope; announced before by [`Event::Scope`].
        scope: String,
        /// Its chat id.
        chat: String,
        /// Its class.
        class: Class,
    },
    /// The message needs no permit any more (sent, expired, handed over). A grant that it has lapses.
    Cancel(PermitId),
    /// An account's scope and the limits that the configuration proposes for it. They take effect only if the scope is
    /// new to the log.
    Scope {
        /// The scope.
        scope: String,
        /// What is proposed.
        limits: ScopeLimits,
    },
    /// The platform answered 429.
    Throttled {
        /// What its answer names.
        target: Target,
        /// Its hint, floor and cap applied.
        wait: Duration,
        /// Its words, for people.
        reason: String,
    },
    /// What Postgres keeps of long penalties, by its own clock. Sent once the limiter is
    /// [live](crate::Mode::Live); what the log lacks of them is appended.
    Kept(Vec<KeptPenalty>),
    /// Somebody wants something: `tidings limits penalise | reset | set`.
    Operate(Operation),
    /// Time passed: see [`Limiter::next_timer`](crate::Limiter::next_timer).
    Timer,
}

/// A long penalty as Postgres keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptPenalty {
    /// Its id there.
    pub id: Uuid,
    /// What is held.
    pub target: Target,
    /// How long it has still to run.
    pub remaining: Duration,
}

/// What an operator wants. Operator and reason are required and are kept in the log.
#[derive(Debug, Clone)]
pub enum Operation {
    /// Hold something.
    Penalise {
        /// What.
        target: Target,
        /// How long.
        wait: Duration,
        /// Who.
        operator: String,
        /// Why.
        reason: String,
    },
    /// End penalties. Long ones must be gone from Postgres first.
    Reset {
        /// Whose.
        target: Target,
        /// Who.
        operator: String,
        /// Why.
        reason: String,
    },
    /// Other limits for a scope, from the next record on.
    SetLimits {
        /// The scope.
        scope: String,
        /// Its limits.
        limits: ScopeLimits,
        /// Who.
        operator: String,
        /// Why.
        reason: String,
    },
}

/// When a grant may be used, in the log's time and in this worker's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// The time that was granted.
    pub at: LogTime,
    /// The first moment at which the call may start.
    pub from: Moment,
    /// The last one.
    pub until: Moment,
}
