//! Calls of the platform: decided in the machine, departing a moment later (or much later, when the worker is frozen in
//! between), arriving whatever becomes of their worker.

use std::sync::Arc;

use tidings_delivery::{Event, SlotId};
use tidings_platforms::Verdict;

use super::{WorkerNews, WorkerRef};
use crate::chaos::Step;
use crate::happening::Happening;
use crate::invariants;
use crate::ledger::{Attempt, Told};
use crate::platform::react;
use crate::times::{CALL_DEADLINE, MILLI, SECOND};
use crate::trace::note;
use crate::world::World;

impl World {
    pub(super) fn call(&mut self, to: WorkerRef, slot: SlotId, fence: i64, call: u32) {
        let Some(message) = self.message_of(to, slot) else {
            return;
        };
        note!(
            self,
            "{to}: calls for {}, fence {fence}, call {call}",
            self.name(message)
        );
        self.check_call(to, message, fence, call);
        let attempt = self.ledger.attempt(Attempt {
            message,
            caller: to,
            fence,
            call,
            departed_at: None,
            accepted: false,
            told: Told::Nothing,
            verdict: "none yet",
            recorded: false,
            died: false,
            fenced: false,
        });
        if let Some(held) = self.workers[to.worker].slots.get_mut(&slot) {
            held.attempt = Some(attempt);
        }
        self.calling.insert(attempt, slot);
        self.tell_worker(0, MILLI, to, WorkerNews::Depart(attempt));
    }

    fn check_call(&mut self, to: WorkerRef, message: usize, fence: i64, call: u32) {
        self.check(invariants::a_call_starts_under_a_live_lease(
            self, to, message, fence,
        ));
        self.check(invariants::what_parks_is_started_before_its_call(
            self, message, fence,
        ));
        self.check(invariants::nothing_unknown_is_called_again_under_park(
            &self.ledger,
            message,
        ));
        self.check(invariants::predecessors_have_their_end(self, message));
        self.check(invariants::a_held_chat_is_not_called(self, to, message));
        self.check(invariants::one_at_a_time_in_a_chat(
            &self.ledger,
            to,
            message,
        ));
        self.check(invariants::calls_of_an_account_are_bounded(
            &self.ledger,
            to,
            message,
            self.limits.calls_per_account,
        ));
        self.check(invariants::an_attempt_id_is_used_once(
            &self.ledger,
            to,
            message,
            fence,
            call,
        ));
    }

    pub(super) fn depart(&mut self, to: WorkerRef, attempt: usize) {
        let message = self.ledger.attempts[attempt].message;
        let fence = self.ledger.attempts[attempt].fence;
        let row = self.claims.rows.get(&message);
        if row.is_some_and(|row| row.fence != fence || row.lease_until < self.now) {
            self.counts.add("calls of a zombie");
            note!(
                self,
                "{to}: its call for {} leaves too late",
                self.name(message)
            );
        }
        self.ledger.attempts[attempt].departed_at = Some(self.now);
        let faults = self.faults();
        if faults && self.random.chance(self.settings.odd_answers_permille / 8) {
            self.counts.add("calls that did not connect");
            let news = WorkerNews::CallAnswered(attempt, Verdict::Transient);
            self.tell_worker(MILLI, SECOND, to, news);
            return;
        }
        let slow = faults && self.random.chance(self.settings.odd_answers_permille / 8);
        let (least, most) = if slow {
            (MILLI, 2 * CALL_DEADLINE)
        } else {
            (MILLI, 60 * MILLI)
        };
        self.after(least, most, Happening::CallArrives(attempt));
        if slow {
            let news = WorkerNews::CallDeadline(attempt);
            self.tell_worker(CALL_DEADLINE, CALL_DEADLINE, to, news);
        }
    }

    /// The call reaches the platform.
    pub(crate) fn call_arrives(&mut self, attempt: usize) {
        let odd = if self.faults() {
            self.settings.odd_answers_permille
        } else {
            0
        };
        let reaction = react(&mut self.random, odd);
        self.counts.add(reaction.what);
        if reaction.accepted {
            self.post(attempt);
        }
        let departed_at = self.ledger.attempts[attempt].departed_at;
        let deadline = departed_at.unwrap_or(self.now) + CALL_DEADLINE;
        if self.now > deadline {
            self.counts.add("calls that arrived after their deadline");
        }
        let caller = self.ledger.attempts[attempt].caller;
        if reaction.lost {
            let news = WorkerNews::CallDeadline(attempt);
            self.at(deadline.max(self.now), Happening::Worker(caller, news));
            return;
        }
        let news = WorkerNews::CallAnswered(attempt, reaction.verdict);
        self.tell_worker(MILLI, 60 * MILLI, caller, news);
    }

    fn post(&mut self, attempt: usize) {
        let message = self.ledger.attempts[attempt].message;
        note!(self, "platform      posts {}", self.name(message));
        self.ledger.attempts[attempt].accepted = true;
        self.check(invariants::only_committed_rows_are_posted(
            &self.ledger,
            message,
        ));
        self.check(invariants::extra_copies_have_their_excuse(
            &self.ledger,
            message,
        ));
        self.check(invariants::first_posts_follow_the_order(
            &self.ledger,
            attempt,
        ));
        let again = std::mem::replace(&mut self.ledger.messages[message].posted, true);
        if again {
            self.counts.add("extra posts");
        }
    }

    /// Only the first answer counts: the deadline's, or the platform's.
    pub(super) fn call_answered(&mut self, to: WorkerRef, attempt: usize, verdict: Verdict) {
        let Some(slot) = self.calling.remove(&attempt) else {
            return;
        };
        let told = match &verdict {
            Verdict::Delivered { .. } => Told::Accepted,
            Verdict::Unknown => Told::Unknown,
            Verdict::Throttled { .. }
            | Verdict::Transient
            | Verdict::Rejected
            | Verdict::DeadTarget { .. }
            | Verdict::Migrated { .. }
            | Verdict::AuthBroken
            | Verdict::Unrecognised => Told::Refused,
        };
        self.ledger.attempts[attempt].told = told;
        self.ledger.attempts[attempt].verdict = verdict.name();
        self.spring(to, Step::Answer);
        note!(
            self,
            "{to}: {} was answered {}",
            self.name(self.ledger.attempts[attempt].message),
            verdict.name()
        );
        let event = Event::Answered {
            slot,
            called: true,
            verdict,
            reason: Arc::from("the platform's words"),
        };
        self.tell(to, event);
    }
}
