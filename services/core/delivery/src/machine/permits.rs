//! A head of a limited account wants a permit together with its claim, and its call starts only inside what was granted
//! (design §9). Waiting for a permit burns no attempt.

use std::time::Duration;

use super::slot::{Permit, Stage};
use super::{Machine, Timer};
use crate::account::AccountId;
use crate::{Effect, Moment, Now, OnUnknown, PermitId, SlotId};

/// Permits of one account that are waited for with a claim in hand. Behind so many the wait may outlast what a lease
/// leaves beyond a call, so the claim is asked for when the permit is granted, which is up to a quarter of a second ahead.
const CLAIMED_WHILE_WAITING: usize = 64;

/// The longest wait of a chat that keeps a place before the call; past it the place goes to another chat.
const CHAT_WAIT_IN_PLACE: Duration = Duration::from_secs(1);

/// How soon a chat that gave its place up is looked at again: an operator may have ended what holds it. A look costs a
/// wish, and no statement.
const CHAT_LOOK: Duration = Duration::from_secs(2);

/// How long before its permit begins a message under `park` commits `started`: about what a busy database takes. A crash
/// in between parks it for nothing.
const START_AHEAD: Duration = Duration::from_millis(30);

/// Bits of a permit's number that count the wishes of one slot.
const WISH_BITS: u32 = 16;

impl Machine {
    /// What an admitted head asks for first.
    pub(super) fn ask_permit_and_claim(
        &mut self,
        id: SlotId,
        account: AccountId,
        effects: &mut Vec<Effect>,
    ) {
        if !self.has_a_way(id) {
            self.ask_claim(id, effects);
            return;
        }
        let work = self.slots.work(id);
        let chat_waits = work.is_some_and(|work| work.chat_waits);
        let state = self.accounts.get(account);
        let far_away = state.limited && (chat_waits || state.wanted >= CLAIMED_WHILE_WAITING);
        self.want(id, effects);
        if far_away {
            self.set_stage(id, Stage::Permit);
        } else {
            self.ask_claim(id, effects);
        }
    }

    /// Asks for a permit unless there is one, or none is needed.
    fn want(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        let Some(work) = self.slots.work_mut(id) else {
            return;
        };
        let account = self.accounts.get(work.account);
        if !account.limited || work.permit != Permit::None {
            return;
        }
        account.wanted += 1;
        work.wishes = work.wishes.wrapping_add(1);
        let permit = PermitId((id.0 << WISH_BITS) | u64::from(work.wishes));
        work.permit = Permit::Wanted(permit);
        effects.push(Effect::Want {
            slot: id,
            permit,
            class: work.class,
            target: work.target.clone(),
        });
    }

    /// Gives back what is wanted or granted.
    pub(super) fn unwant(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        let Some(work) = self.slots.work_mut(id) else {
            return;
        };
        match std::mem::replace(&mut work.permit, Permit::None) {
            Permit::None => {}
            Permit::Wanted(permit) => {
                self.accounts.get(work.account).wanted -= 1;
                effects.push(Effect::Unwant(permit));
            }
            Permit::Granted { id: permit, .. } | Permit::Calling(permit) => {
                effects.push(Effect::Unwant(permit));
            }
        }
    }

    /// The call under it ended.
    pub(super) fn permit_used(&mut self, id: SlotId) {
        if let Some(work) = self.slots.work_mut(id) {
            work.permit = Permit::None;
        }
    }

    /// A claimed head goes to its account's queue for a place to call, once its permit allows.
    pub(super) fn line_up(&mut self, id: SlotId, now: Now, effects: &mut Vec<Effect>) {
        let account = self.slots.work(id).map(|work| work.account);
        if account.is_some_and(|account| self.circuit_is_open(account)) {
            self.send_back(id, effects);
            return;
        }
        let until = account.and_then(|account| self.long_hold(account));
        if let Some(until) = until
            && self.defer_behind(id, Some(until), "its account rests", effects)
        {
            return;
        }
        self.want(id, effects);
        let Some(work) = self.slots.work(id) else {
            return;
        };
        let (account, class, ahead) = (work.account, work.class.index(), ahead(work.on_unknown));
        match work.permit {
            Permit::Wanted(_) | Permit::Calling(_) => return,
            Permit::Granted { from, .. } if now.moment.until(from) > ahead => {
                let wait = now.moment.until(from).saturating_sub(ahead);
                self.wake_at(now.moment.after(wait), Timer::Slot(id));
                return;
            }
            Permit::None | Permit::Granted { .. } => {}
        }
        self.accounts.get(account).ready[class].push_back(id);
        self.start_calls(account, now, effects);
    }

    /// Whether a message that got its turn may call (or commit `started`) now.
    pub(super) fn permit_allows(&mut self, id: SlotId, now: Now) -> bool {
        let Some(work) = self.slots.work(id) else {
            return false;
        };
        match work.permit {
            Permit::None => !self.accounts.get(work.account).limited,
            Permit::Wanted(_) | Permit::Calling(_) => false,
            Permit::Granted { from, .. } => now.moment.until(from) <= ahead(work.on_unknown),
        }
    }

    /// When the call may start; `None` while a permit is needed and missing.
    pub(super) fn permit_begins(&mut self, id: SlotId) -> Option<Moment> {
        let work = self.slots.work(id)?;
        match work.permit {
            Permit::None => (!self.accounts.get(work.account).limited).then(Moment::default),
            Permit::Wanted(_) | Permit::Calling(_) => None,
            Permit::Granted { from, .. } => Some(from),
        }
    }

    pub(super) fn permitted(
        &mut self,
        permit: PermitId,
        from: Moment,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        let id = slot_of(permit);
        let leased = self.lease_covers_a_call(id, now);
        let Some((stage, work)) = self.slots.stage_and_work(id) else {
            return;
        };
        match work.permit {
            Permit::Wanted(wanted) if wanted == permit => {
                self.accounts.get(work.account).wanted -= 1;
            }
            Permit::Granted { id: granted, .. } if granted == permit => {}
            Permit::None | Permit::Wanted(_) | Permit::Granted { .. } | Permit::Calling(_) => {
                return;
            }
        }
        work.permit = Permit::Granted { id: permit, from };
        work.chat_waits = false;
        match *stage {
            Stage::Permit => self.ask_claim(id, effects),
            Stage::Ready if leased => self.line_up(id, now, effects),
            Stage::Ready => self.ask_claim(id, effects),
            Stage::Armed => self.fire(id, now, effects),
            Stage::Unresolved
            | Stage::Queued
            | Stage::Admission
            | Stage::Claiming
            | Stage::Held
            | Stage::Starting
            | Stage::Calling
            | Stage::Settling { .. }
            | Stage::DeadLettering(_)
            | Stage::Holding(_)
            | Stage::Deferring { .. }
            | Stage::Undeferring(_) => {}
        }
    }

    /// What is calling has its permit used up, or hears so from the last look.
    pub(super) fn voided(&mut self, permit: PermitId) {
        let id = slot_of(permit);
        let Some(work) = self.slots.work_mut(id) else {
            return;
        };
        match work.permit {
            Permit::Granted { id: granted, .. } if granted == permit => {
                work.permit = Permit::Wanted(permit);
                self.accounts.get(work.account).wanted += 1;
            }
            Permit::None | Permit::Wanted(_) | Permit::Granted { .. } | Permit::Calling(_) => {}
        }
    }

    /// The claim is kept, the place to call is not.
    pub(super) fn not_called(&mut self, permit: PermitId, now: Now, effects: &mut Vec<Effect>) {
        let id = slot_of(permit);
        let Some(work) = self.slots.work_mut(id) else {
            return;
        };
        if work.permit != Permit::Calling(permit) {
            return;
        }
        let on_unknown = work.on_unknown;
        // Nothing bears its number.
        work.calls -= 1;
        self.unwant(id, effects);
        if self.leaving(id) {
            self.leave_call(id, now, effects);
            self.hand_over(id, effects);
            return;
        }
        match on_unknown {
            OnUnknown::Resend => {
                self.set_stage(id, Stage::Ready);
                self.free_call(id, now, effects);
                self.line_up(id, now, effects);
            }
            OnUnknown::Park => {
                self.set_stage(id, Stage::Armed);
                self.want(id, effects);
                self.fire(id, now, effects);
            }
        }
    }

    /// A chat that waits for long leaves its place to others; its claim stays.
    pub(super) fn chat_waits(
        &mut self,
        permit: PermitId,
        wait: Duration,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        if wait <= CHAT_WAIT_IN_PLACE {
            return;
        }
        let id = slot_of(permit);
        let until = now.moment.after(wait);
        let at = now.moment.after(wait.min(CHAT_LOOK));
        let is_long = self.is_long(until);
        let Some((stage, work)) = self.slots.stage_and_work(id) else {
            return;
        };
        if work.permit != Permit::Wanted(permit) {
            return;
        }
        work.chat_waits = true;
        match *stage {
            Stage::Permit | Stage::Ready => {
                let reason = "the limit holds the chat";
                if !is_long || !self.defer_behind(id, Some(until), reason, effects) {
                    self.hold(id, at, effects);
                }
            }
            Stage::Claiming if is_long => work.not_before = work.not_before.max(until),
            Stage::Claiming => work.not_before = work.not_before.max(at),
            Stage::Unresolved
            | Stage::Queued
            | Stage::Admission
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
}

/// How long before its permit begins a message takes its place to call.
fn ahead(on_unknown: OnUnknown) -> Duration {
    match on_unknown {
        OnUnknown::Resend => Duration::ZERO,
        OnUnknown::Park => START_AHEAD,
    }
}

/// The slot that a permit's number was made from.
#[must_use]
pub fn slot_of(permit: PermitId) -> SlotId {
    SlotId(permit.0 >> WISH_BITS)
}
