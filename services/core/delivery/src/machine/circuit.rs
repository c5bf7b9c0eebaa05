//! An account's circuit and its bound of calls at once: what they let start, and what changes when they change
//! (design §8, B14, B22).

use tidings_platforms::Verdict;

use super::slot::Stage;
use super::{Machine, Timer};
use crate::account::AccountId;
use crate::breaker::{CircuitState, Sign};
use crate::{Effect, Now, SlotId};

impl Machine {
    /// Whether the account's bound and its circuit let a call more start.
    pub(super) fn account_has_room(&mut self, account: AccountId) -> bool {
        let bound = self.calls_limit(account);
        let options = self.options.circuit;
        let state = self.accounts.get(account);
        state.breaker.may_start(state.calling, bound, &options)
    }

    /// Calls at once for which heads are prepared: no more than the circuit will let start.
    pub(super) fn places(&mut self, account: AccountId) -> usize {
        let bound = self.calls_limit(account);
        let options = self.options.circuit;
        self.accounts.get(account).breaker.places(bound, &options)
    }

    /// Whether nothing of the account may start because its circuit is open.
    pub(super) fn circuit_is_open(&mut self, account: AccountId) -> bool {
        let breaker = &self.accounts.get(account).breaker;
        breaker.opens_until().is_some()
    }

    /// Counts a call that takes its place.
    pub(super) fn count_call(&mut self, id: SlotId, account: AccountId) {
        let ticket = self.accounts.get(account).breaker.start();
        if let Some(work) = self.slots.work_mut(id) {
            work.ticket = Some(ticket);
        }
    }

    /// A place to call is given back; if nothing went out from it, the circuit learnt nothing.
    pub(super) fn discount_call(&mut self, id: SlotId) {
        let Some(work) = self.slots.work_mut(id) else {
            return;
        };
        if let Some(ticket) = work.ticket.take() {
            self.accounts.get(work.account).breaker.withdraw(ticket);
        }
    }

    /// What a call's answer says about the account's platform.
    pub(super) fn tell_circuit(
        &mut self,
        id: SlotId,
        verdict: &Verdict,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        let Some(work) = self.slots.work_mut(id) else {
            return;
        };
        let (account, ticket) = (work.account, work.ticket.take());
        let Some(ticket) = ticket else {
            return;
        };
        let bound = self.calls_limit(account);
        let options = self.options.circuit;
        let breaker = &mut self.accounts.get(account).breaker;
        let change = breaker.record(ticket, sign(verdict), bound, now.moment, &options);
        if let Some(state) = change {
            self.circuit_changed(account, state, effects);
        }
    }

    /// A hold's or a circuit's wait may be over.
    pub(super) fn account_is_due(
        &mut self,
        account: AccountId,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        let change = self.accounts.get(account).breaker.look(now.moment);
        if let Some(state) = change {
            self.circuit_changed(account, state, effects);
        }
        self.start_calls(account, now, effects);
    }

    fn circuit_changed(
        &mut self,
        account: AccountId,
        state: CircuitState,
        effects: &mut Vec<Effect>,
    ) {
        effects.push(Effect::Circuit {
            account: self.accounts.get(account).name.clone(),
            state,
        });
        match state {
            CircuitState::Open { .. } => self.send_all_back(account, effects),
            CircuitState::HalfOpen | CircuitState::Closed => self.admit(account, effects),
        }
        if let Some(until) = self.accounts.get(account).breaker.opens_until() {
            self.wake_at(until, Timer::Account(account));
        }
    }

    /// What waits for a permit or a place to call gives both up: it would use permits up that nobody can use.
    fn send_all_back(&mut self, account: AccountId, effects: &mut Vec<Effect>) {
        for queue in &mut self.accounts.get(account).ready {
            queue.clear();
        }
        let mut waiting = self.slots.before_a_call(account);
        waiting.sort_unstable();
        for id in waiting.into_iter().rev() {
            self.send_back(id, effects);
        }
    }

    /// A head that was to call waits for admission again, before the others.
    pub(super) fn send_back(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        let Some((account, class)) = self.leave_place(id, effects) else {
            return;
        };
        self.set_stage(id, Stage::Admission);
        self.accounts.get(account).waiting[class.index()].push_front(id);
    }

    /// Another bound of calls at once for an account (B14).
    pub(super) fn calls_limit_changed(
        &mut self,
        account: &std::sync::Arc<str>,
        limit: usize,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        self.limit_account(account, limit);
        let id = self.accounts.id(account);
        self.admit(id, effects);
        self.start_calls(id, now, effects);
    }
}

fn sign(verdict: &Verdict) -> Sign {
    match verdict {
        Verdict::Transient | Verdict::Unknown => Sign::Fails,
        Verdict::Unrecognised => Sign::Unclear,
        Verdict::Delivered { .. }
        | Verdict::Throttled { .. }
        | Verdict::Rejected
        | Verdict::DeadTarget { .. }
        | Verdict::Migrated { .. }
        | Verdict::AuthBroken => Sign::Works,
    }
}
