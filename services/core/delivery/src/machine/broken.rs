//! An account whose credential is refused (design §8): after several refusals in a row it stops, people are told, and it
//! goes on when the credential is another, or when one of its rare looks succeeds (case S11: one refusal proves nothing).

use std::sync::Arc;
use std::time::Duration;

use tidings_platforms::Verdict;

use super::slot::Stage;
use super::{Machine, Timer};
use crate::account::AccountId;
use crate::{Effect, Moment, Now, SlotId};

/// What an account's refusals came to.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// In a row; those of calls that went out together are one.
    in_a_row: u32,
    /// Refusals of calls before this are of the same one.
    counted_until: Moment,
    /// Only a look goes out.
    stopped: bool,
    /// What held the account before its refusals did.
    held_before: Moment,
}

impl Refusals {
    /// Whether only one call at once may go out, to look.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }
}

impl Machine {
    /// The platform refused the account's credential: the account rests, and so does the message, for no attempt.
    pub(super) fn rest_account(
        &mut self,
        id: SlotId,
        stopped_rest: Duration,
        reason: Arc<str>,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        let Some(work) = self.slots.work_mut(id) else {
            return;
        };
        work.refusals = work.refusals.saturating_add(1);
        let (account, retry, refused) = (work.account, work.retry, work.refusals);
        let stops = self.count_refusal(account, now);
        let rest = self.rest_of(account, stopped_rest);
        if stops {
            effects.push(Effect::AccountBroken {
                account: Arc::clone(&self.accounts.get(account).name),
                wait: rest,
                reason,
            });
        }
        let until = now.moment.after(rest);
        self.hold_account(account, until);
        self.defer_what_rests(effects);
        // One chat that is answered so while others are not must not make the account rest again and again.
        let backoff = self.options.retries.get(retry).backoff(refused, 0.5);
        let again = until.max(now.moment.after(backoff.min(stopped_rest)));
        self.retry_at(id, again, now, effects);
    }

    /// Counts, and says whether the account stops with this one.
    fn count_refusal(&mut self, account: AccountId, now: Now) -> bool {
        let (most, rest) = (
            self.options.retries.refusals_to_stop,
            self.options.retries.refused_rest,
        );
        let state = self.accounts.get(account);
        let refusals = &mut state.refusals;
        if refusals.in_a_row == 0 {
            refusals.held_before = state.held_until;
        }
        if now.moment < refusals.counted_until {
            return false;
        }
        refusals.in_a_row = refusals.in_a_row.saturating_add(1);
        refusals.counted_until = now.moment.after(rest);
        let stops = !refusals.stopped && refusals.in_a_row >= most;
        refusals.stopped |= stops;
        stops
    }

    fn rest_of(&mut self, account: AccountId, stopped_rest: Duration) -> Duration {
        if self.accounts.get(account).refusals.stopped {
            stopped_rest
        } else {
            self.options.retries.refused_rest
        }
    }

    /// A call was answered: any answer but a refusal says that the credential is good.
    pub(super) fn tell_account(
        &mut self,
        id: SlotId,
        verdict: &Verdict,
        effects: &mut Vec<Effect>,
    ) {
        let Some(account) = self.slots.work(id).map(|work| work.account) else {
            return;
        };
        match verdict {
            Verdict::AuthBroken | Verdict::Transient | Verdict::Unknown | Verdict::Unrecognised => {
                return;
            }
            Verdict::Delivered { .. }
            | Verdict::Throttled { .. }
            | Verdict::Rejected
            | Verdict::DeadTarget { .. }
            | Verdict::Migrated { .. } => {}
        }
        let state = self.accounts.get(account);
        if state.refusals.in_a_row == 0 {
            return;
        }
        state.held_until = state.refusals.held_before;
        if std::mem::take(&mut state.refusals).stopped {
            effects.push(Effect::AccountMended(Arc::clone(&state.name)));
            self.admit(account, effects);
        }
    }

    /// The account has another credential, or an operator says that it is good.
    pub(super) fn credential_changed(
        &mut self,
        account: &Arc<str>,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        let account = self.accounts.id(account);
        let state = self.accounts.get(account);
        if state.refusals.in_a_row == 0 {
            return;
        }
        state.held_until = state.refusals.held_before;
        if std::mem::take(&mut state.refusals).stopped {
            effects.push(Effect::AccountMended(Arc::clone(&state.name)));
        }
        for id in self.slots.refused(account) {
            if let Some(work) = self.slots.work_mut(id) {
                (work.not_before, work.refusals) = (now.moment, 0);
            }
            if self.stage_is(id, &Stage::Held) {
                self.wake_at(now.moment, Timer::Slot(id));
            }
        }
        self.admit(account, effects);
        self.start_calls(account, now, effects);
    }
}
