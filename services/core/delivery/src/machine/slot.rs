use std::collections::HashMap;
use std::sync::Arc;

use crate::account::AccountId;
use crate::breaker::Ticket;
use crate::{
    Class, DeadLetterFacts, Moment, OnUnknown, Outcome, PartitionId, PermitId, RetryName,
    Settlement, SlotId,
};

/// The records that this worker holds.
#[derive(Debug, Default)]
pub(super) struct Slots(HashMap<SlotId, Slot>);

impl Slots {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn insert(&mut self, id: SlotId, slot: Slot) {
        self.0.insert(id, slot);
    }

    pub(super) fn remove(&mut self, id: &SlotId) -> Option<Slot> {
        self.0.remove(id)
    }

    pub(super) fn get(&self, id: &SlotId) -> Option<&Slot> {
        self.0.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &SlotId) -> Option<&mut Slot> {
        self.0.get_mut(id)
    }

    /// A record's part that is a message; `None` for poison, while unresolved, and for what is gone.
    pub(super) fn work(&self, id: SlotId) -> Option<&Work> {
        self.0.get(&id)?.work.as_ref()
    }

    pub(super) fn work_mut(&mut self, id: SlotId) -> Option<&mut Work> {
        self.0.get_mut(&id)?.work.as_mut()
    }

    /// The messages of an account that wait for a permit or for a place to call.
    pub(super) fn before_a_call(&self, account: AccountId) -> Vec<SlotId> {
        let waits = |slot: &Slot| {
            matches!(slot.stage, Stage::Permit | Stage::Ready)
                && slot
                    .work
                    .as_ref()
                    .is_some_and(|work| work.account == account)
        };
        let slots = self.0.iter().filter(|(_, slot)| waits(slot));
        slots.map(|(id, _)| *id).collect()
    }

    /// The messages of an account with which its credential was refused.
    pub(super) fn refused(&self, account: AccountId) -> Vec<SlotId> {
        let refused = |work: &Work| work.account == account && work.refusals > 0;
        let slots = self.0.iter();
        let slots = slots.filter(|(_, slot)| slot.work.as_ref().is_some_and(refused));
        slots.map(|(id, _)| *id).collect()
    }

    /// Where a message stands, and the message.
    pub(super) fn stage_and_work(&mut self, id: SlotId) -> Option<(&Stage, &mut Work)> {
        let slot = self.0.get_mut(&id)?;
        Some((&slot.stage, slot.work.as_mut()?))
    }
}

/// One record that this worker holds.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) partition: PartitionId,
    pub(super) offset: i64,
    pub(super) origin: Origin,
    pub(super) bytes: usize,
    /// The one moment at which it is woken.
    pub(super) wakes_at: Option<Moment>,
    pub(super) stage: Stage,
    /// `None` for poison and while unresolved.
    pub(super) work: Option<Work>,
}

/// What a record leaves behind once it has its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// It came from Kafka: its place in the partition's watermark.
    Record { position: u64 },
    /// It was loaded from its deferred chat: its row.
    Deferred { chat: Arc<str> },
    /// The assignment under which it came is gone: neither is this worker's any more.
    Gone,
}

impl Origin {
    pub(super) fn is_row(&self) -> bool {
        matches!(self, Self::Deferred { .. })
    }
}

/// Where a record stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stage {
    /// Its schema is being fetched.
    Unresolved,
    /// Behind another message of its chat.
    Queued,
    /// At the head of its chat, waiting for a place in its account.
    Admission,
    /// Admitted, and its permit is so far away that a claim would run out before: it is claimed when that is granted.
    Permit,
    /// A claim or a renewal is asked for.
    Claiming,
    /// Backing off, held by a hint, or waiting for another worker's lease.
    Held,
    /// Claimed, waiting for its permit or for a place to call.
    Ready,
    /// `started` is being committed.
    Starting,
    /// `started` is committed, and its permit begins later.
    Armed,
    /// The call is out.
    Calling,
    /// Its end is being recorded.
    Settling {
        settlement: Settlement,
        platform_message_id: Option<Arc<str>>,
        reason: Arc<str>,
    },
    /// Its bytes are being appended to the dead-letter topic.
    DeadLettering(DeadLetterFacts),
    /// It is a dead letter, and the hold of its chat is being written.
    Holding(DeadLetterFacts),
    /// It is being written behind its deferred chat.
    Deferring { moves_due: bool },
    /// Its end is known, and its row is being removed.
    Undeferring(Outcome),
}

/// What a message has of its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permit {
    /// Nothing asked for.
    None,
    /// Asked for.
    Wanted(PermitId),
    /// Granted from a moment on.
    Granted { id: PermitId, from: Moment },
    /// Its call was told to start under it.
    Calling(PermitId),
}

/// A message's part of a slot.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) chat: Arc<str>,
    pub(super) account: AccountId,
    pub(super) thread: Option<Arc<str>>,
    pub(super) event_type: Arc<str>,
    pub(super) class: Class,
    pub(super) permit: Permit,
    /// Its chat was held or not ready when it was last looked at: it is claimed when that has changed.
    pub(super) chat_waits: bool,
    /// With `started` committed, it waits for a permit until then.
    pub(super) armed_until: Moment,
    /// When it is woken to end as expired.
    pub(super) expiry: Option<Moment>,
    /// Permits asked for from this slot: numbers them.
    pub(super) wishes: u16,
    pub(super) expires_at_micros: Option<i64>,
    pub(super) on_unknown: OnUnknown,
    pub(super) retry: RetryName,
    pub(super) hold_on_dead: bool,
    /// The fence of the claim that is held.
    pub(super) fence: Option<i64>,
    pub(super) lease_until: Moment,
    /// Attempts that count.
    pub(super) attempts: u32,
    /// What its call tells the account's circuit under; `None` while it has no place to call, and once it told.
    pub(super) ticket: Option<Ticket>,
    /// Calls made from this slot, those that do not count included: numbers the attempt ids.
    pub(super) calls: u32,
    pub(super) first_failed_at_micros: Option<i64>,
    pub(super) last_failed_at_micros: Option<i64>,
    /// No attempt before this, once the claim is renewed.
    pub(super) not_before: Moment,
    /// Times that the account's credential was refused with it.
    pub(super) refusals: u32,
    /// Migrations followed from this slot.
    pub(super) migrations: u32,
    /// The chat's new id after a migration.
    pub(super) target: Option<Arc<str>>,
    /// Its target was found dead, for these words: it ends once it is claimed.
    pub(super) dead: Option<Arc<str>>,
}
