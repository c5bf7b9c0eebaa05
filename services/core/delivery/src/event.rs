use std::sync::Arc;
use std::time::Duration;

use tidings_platforms::Verdict;

use crate::{
    Class, CloseAnswer, DeferredChat, Moment, OnUnknown, PartitionId, PermitId, RetryName,
    Settlement, SlotId, TargetKey, TargetState,
};

/// Something that happened outside.
#[derive(Debug, Clone)]
pub enum Event {
    /// The group gave this worker a partition and its epoch row was bumped in Postgres.
    Assigned {
        /// The partition.
        partition: PartitionId,
        /// The epoch that every claim of this assignment carries.
        epoch: i64,
        /// Its deferred chats, read after the bump: nothing of an older epoch is added any more.
        deferred: Vec<DeferredChat>,
    },
    /// Where a partition is fetched from in this assignment: what is committed. Told once it is known, and again if the
    /// fetch begins later than that because the log does; only the greatest counts. Until then deferred messages of this
    /// partition are loaded only as far as their records came again: one that lies beyond what is committed may have
    /// predecessors that Kafka has still to bring.
    Begins {
        /// The partition.
        partition: PartitionId,
        /// The first offset that is fetched.
        offset: i64,
    },
    /// An operator changed a deferral (try now, hold, give up). Nothing but an operator's change may be told: what this
    /// worker wrote itself, read a moment too late, would undo what it decided since. It may be told again, and has to be:
    /// it is ignored while the partition is not this worker's yet, and while this worker writes the same marker.
    DeferralChanged {
        /// The partition.
        partition: PartitionId,
        /// As it is now.
        chat: DeferredChat,
    },
    /// The group takes a partition back: nothing new starts; ends in [`Effect::Drained`](crate::Effect::Drained).
    Revoked(PartitionId),
    /// The partition is gone already (session lost, epoch stale, drain deadline past): whatever is on its way is an
    /// orphan whose success is still recorded.
    Lost(PartitionId),
    /// A record came.
    Arrived(Arrival),
    /// The content of a record that arrived as [`Content::Waiting`].
    Resolved {
        /// The record.
        slot: SlotId,
        /// What it holds.
        content: Content,
    },
    /// The answer to [`Effect::Claim`](crate::Effect::Claim).
    Claimed {
        /// The record.
        slot: SlotId,
        /// When the statement was sent: the lease is counted from here, so it ends here before it ends in Postgres.
        asked_at: Moment,
        /// What Postgres said.
        outcome: ClaimOutcome,
    },
    /// The answer to [`Effect::Start`](crate::Effect::Start).
    Started {
        /// The record.
        slot: SlotId,
        /// What Postgres said.
        answer: Answer,
    },
    /// An attempt ended.
    Answered {
        /// The record.
        slot: SlotId,
        /// Whether the platform was called: what failed before says nothing about it.
        called: bool,
        /// What the answer means.
        verdict: Verdict,
        /// For people: the platform's words or the failure's (≤ 2,000 characters, no secrets).
        reason: Arc<str>,
    },
    /// The message of [`Effect::Want`](crate::Effect::Want) may be sent from a moment on.
    Permitted {
        /// Its number.
        permit: PermitId,
        /// The first moment at which the call may start.
        from: Moment,
    },
    /// A permit that was granted is void before its call began; another was asked for under the same number.
    Voided(PermitId),
    /// The last look, at the moment of sending, said that the permit of [`Effect::Call`](crate::Effect::Call) is void:
    /// nothing went out.
    NotCalled(PermitId),
    /// The chat of a message that wants a permit is held or not ready yet.
    ChatWaits {
        /// Its number.
        permit: PermitId,
        /// About how long.
        wait: Duration,
    },
    /// The answer to [`Effect::Settle`](crate::Effect::Settle).
    Recorded {
        /// The record.
        slot: SlotId,
        /// What Postgres said. A write that came from an old fence counts as [`Answer::Fenced`].
        answer: Answer,
    },
    /// The answer to [`Effect::DeadLetter`](crate::Effect::DeadLetter): acknowledged by the broker, or not.
    DeadLettered {
        /// The record.
        slot: SlotId,
        /// Whether all in-sync replicas have it.
        acknowledged: bool,
    },
    /// An operator set how many calls of an account there may be at once; what is over a smaller number finishes.
    CallsLimit {
        /// The account `platform:alias`.
        account: Arc<str>,
        /// At once, in this worker.
        limit: usize,
    },
    /// The answer to [`Effect::Defer`](crate::Effect::Defer). [`Answer::Fenced`] is a stale epoch.
    Deferred {
        /// The record.
        slot: SlotId,
        /// What Postgres said.
        answer: Answer,
    },
    /// The other answer to [`Effect::Defer`](crate::Effect::Defer): nothing was written, because the message has its end
    /// already.
    HadItsEnd {
        /// The record.
        slot: SlotId,
    },
    /// The answer to [`Effect::Load`](crate::Effect::Load), with rows or without.
    Loaded {
        /// The partition.
        partition: PartitionId,
        /// The epoch of the effect.
        epoch: i64,
        /// The chat.
        chat: Arc<str>,
        /// At most as many as were asked for, each under a new slot, ascending by offset.
        records: Vec<Arrival>,
        /// Whether there are more rows below the bound that was asked for.
        more: bool,
    },
    /// The other answer to [`Effect::Load`](crate::Effect::Load): there is none.
    NotLoaded {
        /// The partition.
        partition: PartitionId,
        /// The epoch of the effect.
        epoch: i64,
        /// The chat.
        chat: Arc<str>,
        /// The epoch was stale; otherwise it is tried again after `storage_retry`.
        stale: bool,
    },
    /// The answer to [`Effect::Undefer`](crate::Effect::Undefer). [`Answer::Fenced`] is a stale epoch.
    Undeferred {
        /// The record.
        slot: SlotId,
        /// What Postgres said.
        answer: Answer,
    },
    /// The answer to [`Effect::CloseDeferral`](crate::Effect::CloseDeferral).
    Closed {
        /// The partition.
        partition: PartitionId,
        /// The epoch of the effect.
        epoch: i64,
        /// The chat.
        chat: Arc<str>,
        /// What Postgres said.
        answer: CloseAnswer,
    },
    /// An account has another credential, or an operator says that it is good.
    CredentialChanged(Arc<str>),
    /// The registry of targets says something new, or says it again.
    TargetChanged {
        /// The target.
        target: TargetKey,
        /// What it is now.
        state: TargetState,
    },
    /// Time passed: see [`Machine::next_timer`](crate::Machine::next_timer).
    Tick,
}

/// A record that came from a partition, or was loaded from what is deferred.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// A new number.
    pub slot: SlotId,
    /// Where it lies.
    pub partition: PartitionId,
    /// Its offset.
    pub offset: i64,
    /// What it costs to hold, in bytes.
    pub bytes: usize,
    /// What it holds.
    pub content: Content,
}

/// What a record holds, as far as decisions need it.
#[derive(Debug, Clone)]
pub enum Content {
    /// A message.
    Message(Delivery),
    /// Something that nobody can send.
    Poison(Poison),
    /// Not known yet: its schema is being fetched. It holds its place in the partition, and nothing else.
    Waiting,
}

/// A message, as far as decisions need it.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The chat key `platform:account:chat_id`: what is kept in order.
    pub chat: Arc<str>,
    /// The account `platform:account`.
    pub account: Arc<str>,
    /// The thread of the chat that it goes to, if it names one.
    pub thread: Option<Arc<str>>,
    /// Its type: what declares the policies, and by whose dead letters they are limited.
    pub event_type: Arc<str>,
    /// From the envelope, microseconds since the Unix epoch.
    pub expires_at_micros: Option<i64>,
    /// In whose turn it gets its permit.
    pub class: Class,
    /// Declared by the event type.
    pub on_unknown: OnUnknown,
    /// Declared by the event type.
    pub retry: RetryName,
    /// Declared by the event type: once such a message is a dead letter, the rest of its chat in its partition is held
    /// until an operator lets go.
    pub hold_on_dead: bool,
}

/// Why a record is poison.
#[derive(Debug, Clone)]
pub struct Poison {
    /// For people and for the dead letter's header (≤ 2,000 characters).
    pub reason: Arc<str>,
}

/// What Postgres said to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The right to attempt, or to go on attempting, is ours.
    Granted(Grant),
    /// The message has its end already: this record is a duplicate.
    Settled(Settlement),
    /// Another worker's lease has this long to run, by Postgres' clock.
    Busy {
        /// At least one millisecond.
        wait: Duration,
    },
    /// A renewal found another fence: somebody else has the message now.
    Fenced,
    /// The partition's epoch is not ours any more: we are a zombie there.
    StaleEpoch,
    /// Postgres gave no answer.
    Failed,
}

/// A granted claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Numbered per message; writes of older fences are refused.
    pub fence: i64,
    /// Attempts made before, by anybody.
    pub attempts: u32,
    /// When the first of them failed, microseconds since the Unix epoch.
    pub first_failed_at_micros: Option<i64>,
    /// An earlier worker committed `started` and no end: the message may have been posted.
    pub started_before: bool,
}

/// What Postgres said to a conditional write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Committed.
    Done,
    /// Refused: the fence is not ours any more.
    Fenced,
    /// No answer; it may or may not have been committed.
    Failed,
}
