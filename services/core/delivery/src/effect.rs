use std::sync::Arc;
use std::time::Duration;

use tidings_platforms::HoldScope;

use crate::{
    Category, CircuitState, Class, DeadLetterHold, Due, KeptClaim, PartitionId, PermitId,
    Settlement, SlotId, TargetKey, TargetState,
};

/// Something to do outside. Each effect about a slot is answered by exactly one event, unless it says otherwise.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Claim a message, or renew the claim that `renew` numbers, under `epoch`. Answered by `Claimed`.
    Claim {
        /// The record.
        slot: SlotId,
        /// The partition of the record.
        partition: PartitionId,
        /// The epoch of this assignment.
        epoch: i64,
        /// The fence that is held, for a renewal.
        renew: Option<i64>,
        /// Attempts made so far, kept in the row on renewal.
        attempts: u32,
        /// When the first one failed, kept in the row on renewal.
        first_failed_at_micros: Option<i64>,
    },
    /// Ask for a permit in the message's account. Answered by `Permitted`, maybe after `ChatWaits`, each maybe followed
    /// by `Voided`, until the call starts or [`Effect::Unwant`].
    Want {
        /// The record.
        slot: SlotId,
        /// The number of this wish; a later call of the same message has another.
        permit: PermitId,
        /// Its class.
        class: Class,
        /// The chat id to use instead of the message's own, after a migration.
        target: Option<Arc<str>>,
    },
    /// A permit is not needed any more. Not answered.
    Unwant(PermitId),
    /// The platform said 429 to a limited account: the shared limit holds what its answer names. Not answered.
    Penalise {
        /// The record whose call was answered so.
        slot: SlotId,
        /// The chat id that was called instead of the message's own.
        target: Option<Arc<str>>,
        /// What is held.
        scope: HoldScope,
        /// How long, from now.
        wait: Duration,
    },
    /// Commit `started` before the first byte goes out (`park`). Answered by `Started`.
    Start {
        /// The record.
        slot: SlotId,
        /// The fence that must still be held.
        fence: i64,
    },
    /// Call the platform, unless a last look at the permit says that it is void. Answered by `Answered`, or by
    /// `NotCalled` when nothing went out.
    Call {
        /// The record.
        slot: SlotId,
        /// The fence under which it goes.
        fence: i64,
        /// The number of the call under this claim, 1 for the first; those that do not count are numbered as well.
        call: u32,
        /// The chat id to use instead of the message's own, after a migration.
        target: Option<Arc<str>>,
        /// What it is sent under; `None` in an account without limits.
        permit: Option<PermitId>,
    },
    /// Record a settlement. `Delivered` is a fact and is recorded from any fence; the others under their own fence, or
    /// when the lease of the fence that took over has run out. A message that is settled already stays so, and that
    /// counts as done. Answered by `Recorded`.
    Settle {
        /// The record.
        slot: SlotId,
        /// The end.
        settlement: Settlement,
        /// The fence of the attempt.
        fence: i64,
        /// Attempts that count.
        attempts: u32,
        /// The number of the call that brought it: with worker and fence, the attempt's id.
        call: u32,
        /// The platform's own id of the post.
        platform_message_id: Option<Arc<str>>,
        /// Why, for people; empty for `Delivered`.
        reason: Arc<str>,
    },
    /// Append the record, byte for byte, to the dead-letter topic. Answered by `DeadLettered`.
    DeadLetter {
        /// The record.
        slot: SlotId,
        /// Why and how often.
        facts: DeadLetterFacts,
    },
    /// Give a claim back, so that the next owner need not wait for its lease. Not answered; losing it costs a wait.
    Release {
        /// The record.
        slot: SlotId,
        /// The fence that is held.
        fence: i64,
        /// Attempts that count, kept for the next owner.
        attempts: u32,
        /// When the first one failed, kept for the next owner.
        first_failed_at_micros: Option<i64>,
    },
    /// Write a record behind its deferred chat, all in one statement under the partition's epoch, read `FOR SHARE`:
    /// - a message that has its end already is not written, nor anything else: answered by `HadItsEnd`;
    /// - its row is inserted; a row of the same message that is there stays, under the smaller offset of the two;
    /// - if a row of the message is there now, a missing marker of the chat is inserted with `due` and `reason`; one that
    ///   exists gets them when `moves_due`, and is locked otherwise (so that a close that runs beside waits and sees it);
    /// - `claim` is given back, under the same conditions as [`Effect::Release`].
    ///
    /// A record that was loaded is written so once more when its chat has to wait again: its row is there, so only
    /// marker and claim change. Answered by `Deferred` or `HadItsEnd`.
    Defer {
        /// The record.
        slot: SlotId,
        /// The partition.
        partition: PartitionId,
        /// The epoch of this assignment.
        epoch: i64,
        /// The chat key.
        chat: Arc<str>,
        /// When the chat is due, from now.
        due: Due,
        /// Whether a marker that exists is changed.
        moves_due: bool,
        /// The claim that is held.
        claim: Option<KeptClaim>,
        /// Why the chat is deferred, for people.
        reason: Arc<str>,
    },
    /// Read rows of a deferred chat with `after < offset < below`, ascending, at most `limit`, under the epoch. Answered
    /// by `Loaded` or `NotLoaded`.
    Load {
        /// The partition.
        partition: PartitionId,
        /// The epoch of this assignment.
        epoch: i64,
        /// The chat key.
        chat: Arc<str>,
        /// Rows up to this offset are in memory.
        after: Option<i64>,
        /// Rows from this offset on may have predecessors that are not written yet.
        below: i64,
        /// At least 1.
        limit: usize,
    },
    /// Remove the row of a record whose message has its end, under the epoch; that it is gone already counts as done.
    /// Answered by `Undeferred`.
    Undefer {
        /// The record.
        slot: SlotId,
        /// The partition.
        partition: PartitionId,
        /// The epoch of this assignment.
        epoch: i64,
        /// The row.
        offset: i64,
    },
    /// Remove the marker of a chat unless a row of it remains, under the epoch; that it is gone already counts as gone.
    /// The look at the rows must come after the marker's lock, in a snapshot of its own. Answered by `Closed`.
    CloseDeferral {
        /// The partition.
        partition: PartitionId,
        /// The epoch of this assignment.
        epoch: i64,
        /// The chat key.
        chat: Arc<str>,
    },
    /// Everything before `offset` has its end, or is deferred: commit it. Not answered.
    Commit {
        /// The partition.
        partition: PartitionId,
        /// The next offset to read.
        offset: i64,
    },
    /// Stop fetching a partition. Not answered.
    Pause(PartitionId),
    /// Fetch it again. Not answered.
    Resume(PartitionId),
    /// Nothing of a revoked partition is left. Not answered.
    Drained(PartitionId),
    /// A partition's epoch is not ours any more: count it, and make the group notice. Not answered.
    FencedPartition(PartitionId),
    /// The platform refused an account's credential several times in a row, and it stopped: tell people, and look for
    /// another credential (`CredentialChanged`). Not answered.
    AccountBroken {
        /// The account.
        account: Arc<str>,
        /// How often one message looks whether it is accepted again.
        wait: Duration,
        /// The platform's words.
        reason: Arc<str>,
    },
    /// An account's circuit opened, is probed, or closed: tell people. Not answered.
    Circuit {
        /// The account.
        account: Arc<str>,
        /// What it is now.
        state: CircuitState,
    },
    /// An event type's would-be dead letters begin to be held back, still are, or are not any more: tell people. Not
    /// answered.
    DeadLettersHeld {
        /// The event type.
        event_type: Arc<str>,
        /// What changed.
        hold: DeadLetterHold,
        /// The platform's words about the last of them; empty at the end.
        reason: Arc<str>,
    },
    /// A call's answer told something about a target: keep it for all workers. Not answered; lost, it is learnt again.
    Remember {
        /// The target.
        target: TargetKey,
        /// What it is now.
        state: TargetState,
    },
    /// An account that had stopped goes on. Not answered.
    AccountMended(Arc<str>),
    /// The last word about a slot; its payload may be dropped. Not answered.
    Finish {
        /// The record.
        slot: SlotId,
        /// How it left this worker.
        outcome: Outcome,
        /// Attempts made.
        attempts: u32,
    },
}

/// What a dead letter's headers say (reference/conventions.md).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetterFacts {
    /// Why.
    pub category: Category,
    /// Why, for people.
    pub reason: Arc<str>,
    /// Attempts made.
    pub attempts: u32,
    /// Microseconds since the Unix epoch; the time of giving up when no attempt failed.
    pub first_failed_at_micros: i64,
    /// Microseconds since the Unix epoch.
    pub last_failed_at_micros: i64,
}

/// How a record left this worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Its message got this end here.
    Settled(Settlement),
    /// Its bytes are in the dead-letter topic; it had no message to settle.
    Poison,
    /// Suppressed: the message had its end already.
    Duplicate(Settlement),
    /// Suppressed: another worker has the message.
    Fenced,
    /// Left to the partition's next owner.
    Handed,
    /// Left to Postgres: it is in the rows of its deferred chat, or its message had its end when it was to be written.
    Deferred,
}
