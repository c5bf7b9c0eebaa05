//! A claimed head gets a place to call, calls, and the table says what its answer means.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tidings_platforms::{HoldScope, Verdict};

use super::slot::{Permit, Stage};
use super::{Machine, Timer};
use crate::account::AccountId;
use crate::policy::{Next, Tried, next};
use crate::{Answer, Category, Effect, Moment, Now, OnUnknown, Settlement, SlotId};

/// A second chat's unnamed 429 within this time makes the hold the account's (design §9, L9).
const UNNAMED_WINDOW: Duration = Duration::from_secs(10);

/// Migrations of one message that are followed: a group moves once in its life.
const MIGRATIONS: u32 = 2;

/// How long a place to call is kept, with `started` committed, for a permit after one that was void.
const ARMED_WAIT: Duration = Duration::from_secs(1);

/// Holds of chats kept before the ended ones are swept: design §9's bound of idle chats.
const CHAT_HOLDS_SWEEP: usize = 4_096;

impl Machine {
    /// Starts what may start in `account`; with every place to call taken, the next free one goes round the accounts.
    pub(super) fn start_calls(&mut self, account: AccountId, now: Now, effects: &mut Vec<Effect>) {
        while self.may_call(account, now) {
            let mut classes = self.accounts.get(account).ready.iter_mut();
            let Some(id) = classes.find_map(VecDeque::pop_front) else {
                return;
            };
            if self.stage_is(id, &Stage::Ready) {
                self.start(id, account, now, effects);
            }
        }
    }

    fn may_call(&mut self, account: AccountId, now: Now) -> bool {
        self.calls < self.options.limits.calls
            && self.account_has_room(account)
            && self.accounts.get(account).held_until <= now.moment
    }

    /// The last look before a call: expiry, the chat's hold, the lease.
    fn start(&mut self, id: SlotId, account: AccountId, now: Now, effects: &mut Vec<Effect>) {
        if self.expire(id, now, effects)
            || self.ends_given_up(id, now, effects)
            || self.wait_for_chat(id, now, effects)
        {
            return;
        }
        if !self.permit_allows(id, now) {
            return;
        }
        if !self.lease_covers_a_call(id, now) {
            self.ask_claim(id, effects);
            return;
        }
        let Some(work) = self.slots.work(id) else {
            return;
        };
        let (Some(fence), on_unknown) = (work.fence, work.on_unknown) else {
            return;
        };
        self.calls += 1;
        self.accounts.get(account).calling += 1;
        self.count_call(id, account);
        match on_unknown {
            OnUnknown::Park => {
                self.set_stage(id, Stage::Starting);
                effects.push(Effect::Start { slot: id, fence });
            }
            OnUnknown::Resend => self.call(id, effects),
        }
    }

    /// An operator gave its chat up since it was claimed.
    fn ends_given_up(&mut self, id: SlotId, now: Now, effects: &mut Vec<Effect>) -> bool {
        let Some(reason) = self.given_up(id) else {
            return false;
        };
        self.step_back(id, effects);
        self.give_up(id, Category::Exhausted, reason, now, effects);
        true
    }

    /// A hold applies to all lanes of the chat (design §8).
    fn wait_for_chat(&mut self, id: SlotId, now: Now, effects: &mut Vec<Effect>) -> bool {
        let Some(work) = self.slots.work(id) else {
            return false;
        };
        match self.chat_holds.get(&work.chat) {
            Some(until) if *until > now.moment => {
                let until = *until;
                self.hold(id, until, effects);
                true
            }
            Some(_) | None => false,
        }
    }

    pub(super) fn started(
        &mut self,
        id: SlotId,
        answer: Answer,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        if !self.stage_is(id, &Stage::Starting) {
            return;
        }
        if self.leaving(id) {
            self.leave_call(id, now, effects);
            self.hand_over(id, effects);
            return;
        }
        match answer {
            Answer::Done => {
                self.set_stage(id, Stage::Armed);
                if let Some(work) = self.slots.work_mut(id) {
                    work.armed_until = now.moment.after(ARMED_WAIT);
                }
                self.fire(id, now, effects);
            }
            Answer::Fenced | Answer::Failed => self.disarm(id, now, effects),
        }
    }

    /// `started` is committed: the call starts as soon as its permit begins. One that is void is followed by another, so
    /// a slow log or database does not make it begin anew each time.
    pub(super) fn fire(&mut self, id: SlotId, now: Now, effects: &mut Vec<Effect>) {
        if self.leaving(id) {
            self.leave_call(id, now, effects);
            self.hand_over(id, effects);
            return;
        }
        match self.permit_begins(id) {
            Some(from) if from > now.moment => self.wake_at(from, Timer::Slot(id)),
            Some(_) if self.lease_covers_a_call(id, now) => self.call(id, effects),
            None if self.lease_covers_a_call(id, now) && self.armed_until(id) > now.moment => {
                self.wake_at(self.armed_until(id), Timer::Slot(id));
            }
            Some(_) | None => self.disarm(id, now, effects),
        }
    }

    fn armed_until(&self, id: SlotId) -> Moment {
        let work = self.slots.work(id);
        work.map(|work| work.armed_until).unwrap_or_default()
    }

    /// Nothing went out: the renewal takes `started` back, or finds the fence gone.
    pub(super) fn disarm(&mut self, id: SlotId, now: Now, effects: &mut Vec<Effect>) {
        self.set_stage(id, Stage::Held);
        let at = self.storage_retry_at(now);
        self.wake_at(at, Timer::Slot(id));
        self.leave_call(id, now, effects);
    }

    pub(super) fn lease_covers_a_call(&self, id: SlotId, now: Now) -> bool {
        let timing = self.options.timing;
        self.slots.work(id).is_some_and(|work| {
            now.moment.until(work.lease_until) > timing.call_deadline + timing.lease_margin
        })
    }

    fn call(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        self.set_stage(id, Stage::Calling);
        let Some(work) = self.slots.work_mut(id) else {
            return;
        };
        work.calls += 1;
        let permit = match work.permit {
            Permit::Granted { id, .. } => Some(id),
            Permit::None | Permit::Wanted(_) | Permit::Calling(_) => None,
        };
        if let Some(permit) = permit {
            work.permit = Permit::Calling(permit);
        }
        if let Some(fence) = work.fence {
            effects.push(Effect::Call {
                slot: id,
                fence,
                call: work.calls,
                target: work.target.clone(),
                permit,
            });
        }
    }

    pub(super) fn answered(
        &mut self,
        id: SlotId,
        verdict: Verdict,
        reason: Arc<str>,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        if !self.stage_is(id, &Stage::Calling) {
            return;
        }
        self.permit_used(id);
        let next = self.decide(id, &verdict, now);
        match next {
            Next::Settle(settlement) => {
                self.tell_dead_letter_limit(id, settlement, now, effects);
                self.leave_call(id, now, effects);
                let posted = platform_message_id(verdict);
                let reason = match settlement {
                    Settlement::Delivered => Arc::from(""),
                    Settlement::Undeliverable
                    | Settlement::Rejected
                    | Settlement::Expired
                    | Settlement::DeadLettered
                    | Settlement::Parked
                    | Settlement::Discarded => reason,
                };
                self.settle(id, settlement, posted, reason, effects);
            }
            Next::DeadLetter(category) if self.held_back(id, category, &reason, now, effects) => {}
            Next::DeadLetter(category) => {
                self.leave_call(id, now, effects);
                self.give_up(id, category, reason, now, effects);
            }
            Next::BackOff(wait) => self.retry_at(id, now.moment.after(wait), now, effects),
            Next::Hold { scope, wait } => self.throttled(id, scope, wait, now, effects),
            Next::Retarget(new_chat_id) => {
                if let Some(work) = self.slots.work_mut(id) {
                    work.target = Some(new_chat_id.into());
                }
                self.retry_at(id, now.moment, now, effects);
            }
            Next::RestAccount(wait) => self.rest_account(id, wait, reason, now, effects),
        }
    }

    /// Counts the attempt when it counts, and asks the table.
    fn decide(&mut self, id: SlotId, verdict: &Verdict, now: Now) -> Next {
        let unit = self.random.unit();
        let profiles = &self.options.retries;
        let Some(work) = self.slots.work_mut(id) else {
            return Next::DeadLetter(Category::Unrecognised);
        };
        let verdict = followed(verdict, &mut work.migrations);
        let counts = match verdict {
            Verdict::Throttled { .. } | Verdict::Migrated { .. } | Verdict::AuthBroken => false,
            Verdict::Delivered { .. }
            | Verdict::Transient
            | Verdict::Rejected
            | Verdict::DeadTarget { .. }
            | Verdict::Unknown
            | Verdict::Unrecognised => true,
        };
        if counts {
            work.attempts = work.attempts.saturating_add(1);
        }
        if !matches!(verdict, Verdict::Delivered { .. }) {
            work.first_failed_at_micros.get_or_insert(now.wall_micros);
            work.last_failed_at_micros = Some(now.wall_micros);
        }
        let first_failed = work.first_failed_at_micros.unwrap_or(now.wall_micros);
        let age_micros = now.wall_micros.saturating_sub(first_failed);
        let tried = Tried {
            attempts: work.attempts,
            age: Duration::from_micros(u64::try_from(age_micros).unwrap_or(0)),
            on_unknown: work.on_unknown,
            retry: work.retry,
        };
        next(verdict, tried, profiles, unit)
    }

    /// The same message again at `at`: the chat waits behind it. What is known of the attempt is written at once, so that
    /// neither the count nor "it was not posted" is lost with this worker; the renewal does it.
    pub(super) fn retry_at(&mut self, id: SlotId, at: Moment, now: Now, effects: &mut Vec<Effect>) {
        if self.leaving(id) {
            self.leave_call(id, now, effects);
            self.hand_over(id, effects);
            return;
        }
        if let Some(work) = self.slots.work_mut(id) {
            work.not_before = at;
        }
        self.ask_claim(id, effects);
        self.free_call(id, now, effects);
    }

    fn throttled(
        &mut self,
        id: SlotId,
        scope: HoldScope,
        wait: Duration,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        let until = now.moment.after(wait);
        let Some((chat, account)) = self.chat_and_account(id) else {
            return;
        };
        if self.accounts.get(account).limited {
            // The limit holds it, for every worker, and ends early when an operator says so.
            let target = self.target(id);
            effects.push(Effect::Penalise {
                slot: id,
                target,
                scope,
                wait,
            });
            self.retry_at(id, now.moment, now, effects);
            return;
        }
        match scope {
            HoldScope::Chat => self.hold_chat(chat, until, now),
            HoldScope::Account => self.hold_account(account, until),
            HoldScope::Address => {
                for account in self.accounts.of_same_platform(account) {
                    self.hold_account(account, until);
                }
            }
            HoldScope::Unnamed => self.hold_unnamed(chat, account, until, now),
        }
        self.defer_what_rests(effects);
        self.retry_at(id, until, now, effects);
    }

    fn hold_unnamed(&mut self, chat: Arc<str>, account: AccountId, until: Moment, now: Now) {
        let state = self.accounts.get(account);
        let second_chat = state
            .unnamed_hold
            .as_ref()
            .is_some_and(|(other, at)| *other != chat && at.until(now.moment) <= UNNAMED_WINDOW);
        state.unnamed_hold = Some((Arc::clone(&chat), now.moment));
        self.hold_chat(chat, until, now);
        if second_chat {
            self.hold_account(account, until);
        }
    }

    fn hold_chat(&mut self, chat: Arc<str>, until: Moment, now: Now) {
        if self.chat_holds.len() >= CHAT_HOLDS_SWEEP {
            self.chat_holds.retain(|_, until| *until > now.moment);
        }
        let held = self.chat_holds.entry(chat).or_default();
        *held = (*held).max(until);
    }

    pub(super) fn hold_account(&mut self, account: AccountId, until: Moment) {
        let state = self.accounts.get(account);
        state.held_until = state.held_until.max(until);
        self.wake_at(until, Timer::Account(account));
    }

    fn target(&self, id: SlotId) -> Option<Arc<str>> {
        self.slots.work(id)?.target.clone()
    }

    fn chat_and_account(&self, id: SlotId) -> Option<(Arc<str>, AccountId)> {
        let work = self.slots.work(id)?;
        Some((Arc::clone(&work.chat), work.account))
    }

    /// Gives the place to call and the place before it back.
    pub(super) fn leave_call(&mut self, id: SlotId, now: Now, effects: &mut Vec<Effect>) {
        self.step_back(id, effects);
        self.free_call(id, now, effects);
    }

    /// Gives the place to call back, and keeps the one before it.
    pub(super) fn free_call(&mut self, id: SlotId, now: Now, effects: &mut Vec<Effect>) {
        let Some((_, account)) = self.chat_and_account(id) else {
            return;
        };
        self.discount_call(id);
        let was_full = self.calls >= self.options.limits.calls;
        self.calls -= 1;
        self.accounts.get(account).calling -= 1;
        self.start_calls(account, now, effects);
        if was_full {
            self.go_round(now, effects);
        }
    }

    fn go_round(&mut self, now: Now, effects: &mut Vec<Effect>) {
        let count = self.accounts.len();
        self.next_account = (self.next_account + 1) % count.max(1);
        for step in 0..count {
            let account = AccountId((self.next_account + step) % count);
            self.start_calls(account, now, effects);
        }
    }
}

/// A chat that moves on and on is no answer that the table knows.
fn followed<'a>(verdict: &'a Verdict, migrations: &mut u32) -> &'a Verdict {
    match verdict {
        Verdict::Migrated { .. } if *migrations >= MIGRATIONS => &Verdict::Unrecognised,
        Verdict::Migrated { .. } => {
            *migrations += 1;
            verdict
        }
        Verdict::Delivered { .. }
        | Verdict::Throttled { .. }
        | Verdict::Transient
        | Verdict::Rejected
        | Verdict::DeadTarget { .. }
        | Verdict::AuthBroken
        | Verdict::Unknown
        | Verdict::Unrecognised => verdict,
    }
}

fn platform_message_id(verdict: Verdict) -> Option<Arc<str>> {
    match verdict {
        Verdict::Delivered {
            platform_message_id,
        } => platform_message_id.map(Arc::from),
        Verdict::Throttled { .. }
        | Verdict::Transient
        | Verdict::Rejected
        | Verdict::DeadTarget { .. }
        | Verdict::Migrated { .. }
        | Verdict::AuthBroken
        | Verdict::Unknown
        | Verdict::Unrecognised => None,
    }
}
