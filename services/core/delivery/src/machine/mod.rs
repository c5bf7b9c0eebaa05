//! The machine's state and its one entry; the rooms beside this file each hold one stretch of a record's way.

mod broken;
mod calls;
mod circuit;
mod claims;
mod deferral;
mod drain;
mod hold_back;
mod intake;
mod permits;
mod settle;
mod slot;
mod targets;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use crate::account::{AccountId, Accounts};
use crate::chat::Chat;
use crate::dead_letter_limit::DeadLetterLimit;
use crate::random::Random;
use crate::targets::Targets;
use crate::watermark::Watermark;
use crate::{
    CircuitOptions, DeadLetterLimitOptions, Effect, Event, Moment, Now, PartitionId, RetryProfiles,
    SlotId, TargetOptions,
};

pub(crate) use broken::Refusals;
use deferral::Deferrals;
pub use permits::slot_of;
use slot::{Slots, Stage};

/// The bounds of one worker's memory and concurrency (design §7, B14, B15).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Records held; past it every partition pauses.
    pub records: usize,
    /// Bytes held; past it every partition pauses.
    pub bytes: usize,
    /// Records held of one chat in one lane partition; past it the chat is deferred.
    pub records_per_chat: usize,
    /// Rows of one deferred chat that are loaded at once (default 100). All that are in memory take at most half of
    /// `records`: what comes has the other half.
    pub load_batch: usize,
    /// Loads of deferred chats on their way at once (default 4); chats that are due beyond it wait in order.
    pub loads: usize,
    /// Deferred chats known at once (default 100,000); past it a chat that has to wait is held in memory, and one past
    /// its share pauses its partition. Those that are found at an assignment, or held for a dead letter, are kept whatever
    /// their number.
    pub deferred_chats: usize,
    /// Calls of platforms at once.
    pub calls: usize,
    /// Calls of one account at once.
    pub calls_per_account: usize,
}

/// The times that hang together (design §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// The longest that one call may take.
    pub call_deadline: Duration,
    /// How long a claim holds.
    pub lease: Duration,
    /// What must be left of the lease beyond the deadline when a call starts.
    pub lease_margin: Duration,
    /// The wait before a write or read of Tidings' own parts (Postgres, Kafka) is tried again.
    pub storage_retry: Duration,
    /// The longest that a chat's head waits in memory (design §8, default 30 s); past it the chat is deferred.
    pub hold_in_memory: Duration,
}

/// Everything that a machine is made with.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Bounds.
    pub limits: Limits,
    /// Deadlines and leases.
    pub timing: Timing,
    /// Retry profiles.
    pub retries: RetryProfiles,
    /// The accounts' circuit breakers.
    pub circuit: CircuitOptions,
    /// When dead-lettering of an event type stops.
    pub dead_letter_limit: DeadLetterLimitOptions,
    /// Dead and migrated targets.
    pub targets: TargetOptions,
    /// Seed of the jitter.
    pub seed: u64,
}

/// What a worker holds now: for `/health` and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Records held.
    pub records: usize,
    /// Bytes held.
    pub bytes: usize,
    /// Calls on their way.
    pub calls: usize,
    /// Chats with something waiting or on its way.
    pub chats: usize,
    /// Partitions owned.
    pub partitions: usize,
    /// Partitions paused for a bound.
    pub paused: usize,
    /// Deferred chats of the partitions owned.
    pub deferred_chats: usize,
    /// Dead and migrated targets that are known.
    pub targets: usize,
}

/// One assignment of a partition to this worker.
#[derive(Debug)]
struct Partition {
    epoch: i64,
    draining: bool,
    paused: bool,
    /// Chats past their share that could not be deferred.
    chats_over: usize,
    watermark: Watermark,
    slots: BTreeSet<SlotId>,
    /// Where this assignment begins to fetch, once that is known.
    begins: Option<i64>,
}

/// What a timer wakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Slot(SlotId),
    Expiry(SlotId),
    Account(AccountId),
}

/// A chat in one lane partition: two lanes of one chat have no order between them (design §6).
type ChatKey = (PartitionId, Arc<str>);

/// The delivery machine of one worker.
#[derive(Debug)]
pub struct Machine {
    options: Options,
    random: Random,
    partitions: BTreeMap<PartitionId, Partition>,
    slots: Slots,
    chats: HashMap<ChatKey, Chat>,
    accounts: Accounts,
    chat_holds: HashMap<Arc<str>, Moment>,
    dead_letter_limit: DeadLetterLimit,
    targets: Targets,
    deferrals: Deferrals,
    timers: BTreeSet<(Moment, Timer)>,
    /// The moment of the event that is being handled.
    moment: Moment,
    bytes: usize,
    /// Of the records held those that were loaded from what is deferred.
    rows: usize,
    calls: usize,
    paused: usize,
    next_account: usize,
}

impl Machine {
    /// A machine that owns nothing yet.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            random: Random::new(options.seed),
            options,
            partitions: BTreeMap::new(),
            slots: Slots::default(),
            chats: HashMap::new(),
            accounts: Accounts::default(),
            chat_holds: HashMap::new(),
            dead_letter_limit: DeadLetterLimit::default(),
            targets: Targets::default(),
            deferrals: Deferrals::default(),
            timers: BTreeSet::new(),
            moment: Moment::default(),
            bytes: 0,
            rows: 0,
            calls: 0,
            paused: 0,
            next_account: 0,
        }
    }

    /// Sets how many calls of one account there may be at once, instead of [`Limits::calls_per_account`]; what is over
    /// a smaller number finishes.
    pub fn limit_account(&mut self, account: &Arc<str>, calls: usize) {
        let id = self.accounts.id(account);
        self.accounts.get(id).calls_limit = Some(calls);
    }

    /// Says that every call of an account needs a permit of the shared limit, or none.
    pub fn permit_account(&mut self, account: &Arc<str>, limited: bool) {
        let id = self.accounts.id(account);
        self.accounts.get(id).limited = limited;
    }

    /// Takes one event in and pushes what is to be done about it, in order, to `effects`.
    pub fn handle(&mut self, event: Event, now: Now, effects: &mut Vec<Effect>) {
        self.moment = now.moment;
        match event {
            Event::Assigned {
                partition,
                epoch,
                deferred,
            } => self.assigned(partition, epoch, &deferred, effects),
            Event::Begins { partition, offset } => self.begins(partition, offset, effects),
            Event::DeferralChanged { partition, chat } => {
                self.deferral_changed(partition, &chat, effects);
            }
            Event::HadItsEnd { slot } => self.had_its_end(slot, now, effects),
            Event::Deferred { slot, answer } => self.deferred(slot, answer, now, effects),
            Event::Loaded {
                partition,
                epoch,
                chat,
                records,
                more,
            } => self.loaded(&(partition, chat), epoch, records, more, now, effects),
            Event::NotLoaded {
                partition,
                epoch,
                chat,
                stale,
            } => self.not_loaded(&(partition, chat), epoch, stale, now, effects),
            Event::Undeferred { slot, answer } => self.undeferred(slot, answer, now, effects),
            Event::Closed {
                partition,
                epoch,
                chat,
                answer,
            } => self.closed(&(partition, chat), epoch, answer, now, effects),
            Event::Revoked(partition) => self.revoked(partition, effects),
            Event::Lost(partition) => self.lost(partition, effects),
            Event::Arrived(arrival) => self.arrived(arrival, now, effects),
            Event::Resolved { slot, content } => self.resolved(slot, content, now, effects),
            Event::Claimed {
                slot,
                asked_at,
                outcome,
            } => self.claimed(slot, asked_at, outcome, now, effects),
            Event::Started { slot, answer } => self.started(slot, answer, now, effects),
            Event::Answered {
                slot,
                called,
                verdict,
                reason,
            } => {
                if called {
                    self.tell_circuit(slot, &verdict, now, effects);
                    self.tell_account(slot, &verdict, effects);
                    self.tell_targets(slot, &verdict, &reason, effects);
                }
                self.answered(slot, verdict, reason, now, effects);
            }
            Event::TargetChanged { target, state } => self.target_changed(target, &state),
            Event::CredentialChanged(account) => self.credential_changed(&account, now, effects),
            Event::CallsLimit { account, limit } => {
                self.calls_limit_changed(&account, limit, now, effects);
            }
            Event::Permitted { permit, from } => self.permitted(permit, from, now, effects),
            Event::Voided(permit) => self.voided(permit),
            Event::NotCalled(permit) => self.not_called(permit, now, effects),
            Event::ChatWaits { permit, wait } => self.chat_waits(permit, wait, now, effects),
            Event::Recorded { slot, answer } => self.recorded(slot, answer, now, effects),
            Event::DeadLettered { slot, acknowledged } => {
                self.dead_lettered(slot, acknowledged, now, effects);
            }
            Event::Tick => self.tick(now, effects),
        }
    }

    /// When [`Event::Tick`] is due; `None` while nothing waits.
    #[must_use]
    pub fn next_timer(&self) -> Option<Moment> {
        let slots = self.timers.first().map(|(at, _)| *at);
        let deferrals = self.deferrals.next_timer();
        slots.into_iter().chain(deferrals).min()
    }

    /// What the worker holds now.
    #[must_use]
    pub fn load(&self) -> Load {
        Load {
            records: self.slots.len(),
            bytes: self.bytes,
            calls: self.calls,
            chats: self.chats.len(),
            partitions: self.partitions.len(),
            paused: self.paused,
            deferred_chats: self.deferrals.len(),
            targets: self.targets.len(),
        }
    }

    fn tick(&mut self, now: Now, effects: &mut Vec<Effect>) {
        while let Some(&(at, timer)) = self.timers.first() {
            if at > now.moment {
                break;
            }
            self.timers.remove(&(at, timer));
            match timer {
                Timer::Slot(slot) => self.wake(slot, now, effects),
                Timer::Expiry(slot) => self.expiry_is_due(slot, now, effects),
                Timer::Account(account) => self.account_is_due(account, now, effects),
            }
        }
        self.deferrals_are_due(effects);
    }

    fn wake(&mut self, id: SlotId, now: Now, effects: &mut Vec<Effect>) {
        let Some(slot) = self.slots.get_mut(&id) else {
            return;
        };
        slot.wakes_at = None;
        if self.waits_for_its_type(id, now) {
            return;
        }
        let Some(slot) = self.slots.get(&id) else {
            return;
        };
        match &slot.stage {
            Stage::Held => self.queue_for_admission(id, effects),
            Stage::Settling { .. } => self.ask_settle(id, effects),
            Stage::DeadLettering(_) => self.ask_dead_letter(id, effects),
            Stage::Ready => self.line_up(id, now, effects),
            Stage::Armed => self.fire(id, now, effects),
            Stage::Holding(_) => self.hold_again(id, effects),
            Stage::Deferring { .. } => self.defer_again(id, effects),
            Stage::Undeferring(_) => self.undefer_again(id, effects),
            Stage::Unresolved
            | Stage::Queued
            | Stage::Admission
            | Stage::Permit
            | Stage::Claiming
            | Stage::Starting
            | Stage::Calling => {}
        }
    }

    /// A slot has one moment at which it is woken: the last that was set.
    fn wake_at(&mut self, at: Moment, timer: Timer) {
        if let Timer::Slot(id) = timer
            && let Some(slot) = self.slots.get_mut(&id)
            && let Some(earlier) = slot.wakes_at.replace(at)
        {
            self.timers.remove(&(earlier, timer));
        }
        self.timers.insert((at, timer));
    }

    fn forget_wake(&mut self, id: SlotId) {
        let woken = self
            .slots
            .get_mut(&id)
            .and_then(|slot| slot.wakes_at.take());
        if let Some(at) = woken {
            self.timers.remove(&(at, Timer::Slot(id)));
        }
    }

    fn forget_timers(&mut self, id: SlotId) {
        let Some(slot) = self.slots.get(&id) else {
            return;
        };
        if let Some(at) = slot.wakes_at {
            self.timers.remove(&(at, Timer::Slot(id)));
        }
        if let Some(at) = slot.work.as_ref().and_then(|work| work.expiry) {
            self.timers.remove(&(at, Timer::Expiry(id)));
        }
    }
}
