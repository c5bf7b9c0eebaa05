use std::sync::Arc;
use std::time::Duration;

use tidings_platforms::HoldScope;

use crate::{Category, Class, PartitionId, PermitId, Settlement, SlotId};

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
    /// Everything before `offset` has its end: commit it. Not answered.
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
    /// The platform refused an account's credential: tell people. Not answered.
    AccountBroken {
        /// The account.
        account: Arc<str>,
        /// When it is tried again.
        wait: Duration,
        /// The platform's words.
        reason: Arc<str>,
    },
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
}
