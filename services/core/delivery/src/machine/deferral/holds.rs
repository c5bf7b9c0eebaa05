//! When a chat is deferred: its head waits for long, its account is held while memory is short, or an operator says so.

use std::sync::Arc;

use super::state::moment_of;
use crate::account::AccountId;
use crate::machine::slot::Stage;
use crate::machine::{ChatKey, Machine};
use crate::{DeferredChat, Effect, Moment, PartitionId, SlotId};

impl Machine {
    pub(in crate::machine) fn take_deferrals_over(
        &mut self,
        id: PartitionId,
        deferred: &[DeferredChat],
        effects: &mut Vec<Effect>,
    ) {
        for found in deferred {
            let key = (id, Arc::clone(&found.chat));
            self.deferrals.take_over(&key, found, self.moment);
            self.go_on(&key, effects);
        }
    }

    /// Everything before `offset` has its end or its row: rows below it have no predecessor that is still to come.
    pub(in crate::machine) fn begins(
        &mut self,
        id: PartitionId,
        offset: i64,
        effects: &mut Vec<Effect>,
    ) {
        let Some(partition) = self.partitions.get_mut(&id) else {
            return;
        };
        partition.begins = partition.begins.max(Some(offset));
        for key in self.deferrals.of_partition(id) {
            if let Some(deferral) = self.deferrals.get_mut(&key) {
                deferral.wrote();
            }
            self.go_on(&key, effects);
        }
    }

    /// An operator's word. What waits in memory goes on at once, or to Postgres. While the marker is being written here, a
    /// word that came before that would undo it; the operator's stands in the marker, if it came after.
    pub(in crate::machine) fn deferral_changed(
        &mut self,
        id: PartitionId,
        found: &DeferredChat,
        effects: &mut Vec<Effect>,
    ) {
        let owned = self
            .partitions
            .get(&id)
            .is_some_and(|partition| !partition.draining);
        if !owned {
            return;
        }
        let key = (id, Arc::clone(&found.chat));
        let deferral = self.deferrals.get(&key);
        if deferral.is_some_and(|deferral| deferral.moving.is_some()) {
            return;
        }
        let seen = self.newest_record(&key);
        self.deferrals.take_over(&key, found, self.moment);
        if let Some(deferral) = self.deferrals.get_mut(&key) {
            deferral.seen = deferral.seen.max(seen);
        }
        let due = moment_of(found.due, self.moment);
        if due.is_some_and(|due| due <= self.moment) {
            self.hurry(&key, effects);
        } else if let Some(head) = self.chats.get(&key).and_then(|chat| chat.head()) {
            self.defer_behind(head, due, "an operator deferred it", effects);
        }
        self.go_on(&key, effects);
    }

    /// A head that waits for its next attempt has it now.
    fn hurry(&mut self, key: &ChatKey, effects: &mut Vec<Effect>) {
        let Some(head) = self.chats.get(key).and_then(|chat| chat.head()) else {
            return;
        };
        if let Some(work) = self.slots.work_mut(head) {
            work.not_before = Moment::default();
        }
        if self.stage_is(head, &Stage::Held) {
            self.forget_wake(head);
            self.queue_for_admission(head, effects);
        }
    }

    /// What an operator gave a message's chat up for.
    pub(in crate::machine) fn given_up(&self, id: SlotId) -> Option<Arc<str>> {
        let deferral = self.deferrals.get(&self.chat_key(id)?)?;
        deferral.give_up.clone()
    }

    /// Whether a wait until `at` is too long for memory.
    pub(in crate::machine) fn is_long(&self, at: Moment) -> bool {
        self.moment.until(at) > self.options.timing.hold_in_memory
    }

    /// The rest of an account's hold, if that is too long for memory.
    pub(in crate::machine) fn long_hold(&mut self, account: AccountId) -> Option<Moment> {
        let until = self.accounts.get(account).held_until;
        self.is_long(until).then_some(until)
    }

    /// Defers a chat whose head waits; others get the places that the head had.
    pub(in crate::machine) fn defer_behind(
        &mut self,
        head: SlotId,
        due: Option<Moment>,
        reason: &'static str,
        effects: &mut Vec<Effect>,
    ) -> bool {
        let account = self.slots.work(head).map(|work| work.account);
        let deferred = self.defer_head(head, due, reason, effects);
        if let Some(account) = account.filter(|_| deferred) {
            self.admit(account, effects);
        }
        deferred
    }

    fn defer_head(
        &mut self,
        head: SlotId,
        due: Option<Moment>,
        reason: &'static str,
        effects: &mut Vec<Effect>,
    ) -> bool {
        let Some(key) = self.deferrable(head) else {
            return false;
        };
        self.step_aside(head, effects) && self.defer_chat(&key, due, reason, effects)
    }

    /// The chat that a message heads, if there is room to defer it.
    pub(in crate::machine) fn deferrable(&self, head: SlotId) -> Option<ChatKey> {
        let key = self.chat_key(head)?;
        let heads = self.chats.get(&key)?.head() == Some(head);
        (heads && self.may_defer(&key)).then_some(key)
    }

    /// Whether a head is where nothing is asked about it, after it gave its places up.
    fn step_aside(&mut self, head: SlotId, effects: &mut Vec<Effect>) -> bool {
        let Some(slot) = self.slots.get(&head) else {
            return false;
        };
        match slot.stage {
            Stage::Admission | Stage::Held => true,
            Stage::Permit | Stage::Ready => {
                self.leave_place(head, effects);
                true
            }
            Stage::Unresolved
            | Stage::Queued
            | Stage::Claiming
            | Stage::Starting
            | Stage::Armed
            | Stage::Calling
            | Stage::Settling { .. }
            | Stage::DeadLettering(_)
            | Stage::Deferring { .. }
            | Stage::Holding(_)
            | Stage::Undeferring(_) => false,
        }
    }

    /// Defers what waits in accounts that rest for long.
    pub(in crate::machine) fn defer_what_rests(&mut self, effects: &mut Vec<Effect>) {
        for account in (0..self.accounts.len()).map(AccountId) {
            if let Some(until) = self.long_hold(account) {
                self.defer_account(account, until, "its account rests", effects);
            }
        }
    }

    /// Defers every chat of an account whose head waits.
    fn defer_account(
        &mut self,
        account: AccountId,
        until: Moment,
        reason: &'static str,
        effects: &mut Vec<Effect>,
    ) {
        let mut heads: Vec<SlotId> = self.chats.values().filter_map(|chat| chat.head()).collect();
        heads.retain(|head| {
            let work = self.slots.work(*head);
            work.is_some_and(|work| work.account == account)
        });
        heads.sort_unstable();
        for head in heads {
            self.defer_head(head, Some(until), reason, effects);
        }
        self.admit(account, effects);
    }

    /// A full worker whose memory is taken by accounts that are held makes room for the others.
    pub(in crate::machine) fn make_room(&mut self, effects: &mut Vec<Effect>) {
        let held: Vec<(AccountId, Moment)> = (0..self.accounts.len())
            .map(AccountId)
            .filter_map(|account| {
                let state = self.accounts.get(account);
                let until = state.breaker.opens_until().max(Some(state.held_until));
                until.map(|until| (account, until))
            })
            .filter(|(_, until)| *until > self.moment)
            .collect();
        if held.len() == self.accounts.len() {
            return;
        }
        for (account, until) in held {
            let reason = "its account is held and memory is short";
            self.defer_account(account, until, reason, effects);
        }
    }
}
