//! A head waits for a place in its account, then for its claim.

use std::time::Duration;

use super::slot::{Slot, Stage};
use super::{Machine, Timer};
use crate::account::AccountId;
use crate::{
    Category, ClaimOutcome, Class, Effect, Grant, Moment, Now, OnUnknown, Outcome, Settlement,
    SlotId,
};

/// Places of a class in an account before the call, per place to call: claims are asked for while calls are out, but not so far
/// ahead that their leases run down in the queue.
const ADMITTED_PER_CALL: usize = 2;

/// How soon a claim that another worker holds is asked for again: its lease may be long, and it may be given back.
const BUSY_LOOK: Duration = Duration::from_secs(1);

impl Machine {
    pub(super) fn queue_for_admission(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        // A loaded one whose schema is being fetched keeps its place.
        if self.stage_is(id, &Stage::Unresolved) {
            return;
        }
        let Some(account) = self.set_stage(id, Stage::Admission) else {
            return;
        };
        let Some(class) = self.class_of(id) else {
            return;
        };
        self.accounts.get(account).waiting[class.index()].push_back(id);
        self.admit_class(account, class, effects);
    }

    /// Moves heads on while their account has places.
    pub(super) fn admit(&mut self, account: AccountId, effects: &mut Vec<Effect>) {
        for class in Class::ALL {
            self.admit_class(account, class, effects);
        }
    }

    fn admit_class(&mut self, account: AccountId, class: Class, effects: &mut Vec<Effect>) {
        let places = self.places(account) * ADMITTED_PER_CALL;
        let class = class.index();
        while self.accounts.get(account).admitted[class] < places {
            let Some(id) = self.accounts.get(account).waiting[class].pop_front() else {
                return;
            };
            if !self.stage_is(id, &Stage::Admission) {
                continue;
            }
            if let Some(until) = self.long_hold(account)
                && let Some(key) = self.deferrable(id)
            {
                self.defer_chat(&key, Some(until), "its account rests", effects);
            } else {
                self.accounts.get(account).admitted[class] += 1;
                self.ask_permit_and_claim(id, account, effects);
            }
        }
    }

    pub(super) fn calls_limit(&mut self, account: AccountId) -> usize {
        let state = self.accounts.get(account);
        if state.refusals.is_stopped() {
            return 1;
        }
        let own = state.calls_limit;
        own.unwrap_or(self.options.limits.calls_per_account)
    }

    pub(super) fn ask_claim(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        self.set_stage(id, Stage::Claiming);
        let Some(slot) = self.slots.get(&id) else {
            return;
        };
        let (Some(work), Some(partition)) =
            (slot.work.as_ref(), self.partitions.get(&slot.partition))
        else {
            return;
        };
        effects.push(Effect::Claim {
            slot: id,
            partition: slot.partition,
            epoch: partition.epoch,
            renew: work.fence,
            attempts: work.attempts,
            first_failed_at_micros: work.first_failed_at_micros,
        });
    }

    pub(super) fn claimed(
        &mut self,
        id: SlotId,
        asked_at: Moment,
        outcome: ClaimOutcome,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        if !self.stage_is(id, &Stage::Claiming) {
            return;
        }
        if self.leaving(id) {
            self.claimed_too_late(id, &outcome, effects);
            return;
        }
        match outcome {
            ClaimOutcome::Granted(grant) => self.granted(id, asked_at, grant, now, effects),
            ClaimOutcome::Settled(settlement) => {
                self.step_back(id, effects);
                self.advance_chat(id, effects);
                self.end(id, Outcome::Duplicate(settlement), effects);
            }
            ClaimOutcome::Busy { wait } => {
                self.forget_claim(id);
                self.hold(id, now.moment.after(wait.min(BUSY_LOOK)), effects);
            }
            ClaimOutcome::Fenced => {
                self.forget_claim(id);
                let at = now.moment.after(self.options.timing.storage_retry);
                self.hold(id, at, effects);
            }
            ClaimOutcome::StaleEpoch => self.zombie(id, effects),
            ClaimOutcome::Failed => {
                let at = self.storage_retry_at(now);
                self.hold(id, at, effects);
            }
        }
    }

    fn granted(
        &mut self,
        id: SlotId,
        asked_at: Moment,
        grant: Grant,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        let lease_until = asked_at.after(self.options.timing.lease);
        let Some(work) = self.slots.work_mut(id) else {
            return;
        };
        work.fence = Some(grant.fence);
        work.lease_until = lease_until;
        work.attempts = work.attempts.max(grant.attempts);
        work.first_failed_at_micros = work.first_failed_at_micros.or(grant.first_failed_at_micros);
        let not_before = work.not_before;
        if grant.started_before && work.on_unknown == OnUnknown::Park {
            self.step_back(id, effects);
            let reason = "a worker ended after it had committed `started` and before an answer";
            self.give_up(id, Category::Unknown, reason.into(), now, effects);
            return;
        }
        if let Some(reason) = self.given_up(id) {
            self.step_back(id, effects);
            self.give_up(id, Category::Exhausted, reason, now, effects);
            return;
        }
        if not_before > now.moment {
            self.hold(id, not_before, effects);
            return;
        }
        if self.ends_at_a_dead_target(id, effects) {
            return;
        }
        if let Some(until) = self.held_with_its_type(id, now) {
            self.hold(id, until, effects);
            return;
        }
        // What waits for its permit must not spend one on a message that nobody wants any more.
        if self.expire(id, now, effects) {
            return;
        }
        self.set_stage(id, Stage::Ready);
        self.line_up(id, now, effects);
    }

    fn claimed_too_late(&mut self, id: SlotId, outcome: &ClaimOutcome, effects: &mut Vec<Effect>) {
        // Giving back a claim makes it fresh, which would forget that an earlier worker may have posted.
        if let ClaimOutcome::Granted(grant) = outcome
            && !grant.started_before
            && let Some(work) = self.slots.work_mut(id)
        {
            work.fence = Some(grant.fence);
        }
        self.step_back(id, effects);
        self.hand_over(id, effects);
    }

    /// Leaves the account's places and waits until `at`: in memory, or in Postgres when that is long.
    pub(super) fn hold(&mut self, id: SlotId, at: Moment, effects: &mut Vec<Effect>) {
        self.set_stage(id, Stage::Held);
        if self.is_long(at)
            && let Some(key) = self.deferrable(id)
        {
            self.step_back(id, effects);
            self.defer_chat(
                &key,
                Some(at),
                "its head waits for its next attempt",
                effects,
            );
            return;
        }
        self.wake_at(at, Timer::Slot(id));
        self.step_back(id, effects);
    }

    /// Gives the place before the call back.
    pub(super) fn step_back(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        if let Some((account, class)) = self.leave_place(id, effects) {
            self.admit_class(account, class, effects);
        }
    }

    /// Gives the place before the call back, and admits nobody to it yet.
    pub(super) fn leave_place(
        &mut self,
        id: SlotId,
        effects: &mut Vec<Effect>,
    ) -> Option<(AccountId, Class)> {
        self.unwant(id, effects);
        let work = self.slots.work(id)?;
        let (account, class) = (work.account, work.class);
        self.accounts.get(account).admitted[class.index()] -= 1;
        Some((account, class))
    }

    fn forget_claim(&mut self, id: SlotId) {
        if let Some(work) = self.slots.work_mut(id) {
            work.fence = None;
        }
    }

    /// Jittered, so that a worker's whole queue does not come back in one moment.
    pub(super) fn storage_retry_at(&mut self, now: Now) -> Moment {
        let factor = 0.5 + self.random.unit();
        let wait = self.options.timing.storage_retry.as_secs_f64() * factor;
        now.moment
            .after(Duration::try_from_secs_f64(wait).unwrap_or(self.options.timing.storage_retry))
    }

    /// Whether a message whose `expires_at` passed ends here instead of going out (B28: checked before every attempt).
    pub(super) fn expire(&mut self, id: SlotId, now: Now, effects: &mut Vec<Effect>) -> bool {
        let expired = self
            .slots
            .work(id)
            .and_then(|work| work.expires_at_micros)
            .is_some_and(|at| at <= now.wall_micros);
        if expired {
            self.step_back(id, effects);
            let reason = "expires_at passed before an attempt";
            self.settle(id, Settlement::Expired, None, reason.into(), effects);
        }
        expired
    }

    /// Has a message with `expires_at` looked at then: its turn may come much later.
    pub(super) fn watch_expiry(&mut self, id: SlotId, now: Now) {
        let Some(work) = self.slots.work_mut(id) else {
            return;
        };
        let Some(expires_at) = work.expires_at_micros else {
            return;
        };
        let left = u64::try_from(expires_at.saturating_sub(now.wall_micros)).unwrap_or(0);
        let at = now.moment.after(Duration::from_micros(left.max(1)));
        work.expiry = Some(at);
        self.wake_at(at, Timer::Expiry(id));
    }

    pub(super) fn expiry_is_due(&mut self, id: SlotId, now: Now, effects: &mut Vec<Effect>) {
        let Some((stage, work)) = self.slots.stage_and_work(id) else {
            return;
        };
        work.expiry = None;
        if work
            .expires_at_micros
            .is_some_and(|at| at > now.wall_micros)
        {
            self.watch_expiry(id, now);
            return;
        }
        match *stage {
            Stage::Ready => {
                self.expire(id, now, effects);
            }
            // The claim comes first, and it ends there.
            Stage::Permit => self.ask_claim(id, effects),
            Stage::Unresolved
            | Stage::Queued
            | Stage::Admission
            | Stage::Claiming
            | Stage::Held
            | Stage::Starting
            | Stage::Armed
            | Stage::Calling
            | Stage::Settling { .. }
            | Stage::DeadLettering(_)
            | Stage::Holding(_)
            | Stage::Deferring { .. }
            | Stage::Undeferring(_) => {}
        }
    }

    pub(super) fn stage_is(&self, id: SlotId, stage: &Stage) -> bool {
        self.slots.get(&id).is_some_and(|slot| slot.stage == *stage)
    }

    /// Sets the stage and returns the message's account; `None` for poison and for what is gone.
    pub(super) fn set_stage(&mut self, id: SlotId, stage: Stage) -> Option<AccountId> {
        let slot = self.slots.get_mut(&id)?;
        slot.stage = stage;
        slot.work.as_ref().map(|work| work.account)
    }

    fn class_of(&self, id: SlotId) -> Option<Class> {
        let slot: &Slot = self.slots.get(&id)?;
        slot.work.as_ref().map(|work| work.class)
    }
}
