//! Statements, carried out: the table changes, and what must hold of it is checked.

use tidings_delivery::{Answer, ClaimOutcome, Event, Moment, PartitionId, Settlement, SlotId};

use super::{ClaimAsk, ClaimStep, State, Statement, StatementRef, Taken, Tried};
use crate::dispatcher::{WorkerNews, WorkerRef};
use crate::happening::Happening;
use crate::invariants;
use crate::times::{MILLI, SECOND};
use crate::trace::note;
use crate::world::World;

impl World {
    pub(super) fn begin_claims_statement(&mut self, reference: StatementRef, statement: Statement) {
        match statement {
            Statement::Bump {
                partition,
                generation,
            } => self.bump(reference, partition, generation),
            Statement::Claim {
                slot,
                asked_at,
                ask,
            } => self.begin_claim(reference, slot, asked_at, ask),
            Statement::Start {
                slot,
                message,
                fence,
            } => {
                let answer = self.start(reference.worker, message, fence);
                self.trace_write(reference.worker, "started", message, fence, answer);
                self.answer(reference, Event::Started { slot, answer });
            }
            Statement::Settle {
                slot,
                message,
                fence,
                end,
                attempt,
            } => {
                let answer = self.settle(reference.worker, message, fence, end, attempt);
                self.answer(reference, Event::Recorded { slot, answer });
            }
            Statement::Release {
                message,
                fence,
                tried,
            } => self.release(reference.worker, message, fence, tried),
            Statement::Deferring(asked) => self.begin_deferring(reference, asked),
        }
    }

    fn start(&mut self, worker: WorkerRef, message: usize, fence: i64) -> Answer {
        let before = self.claims.rows.get(&message).copied();
        let answer = self.claims.start(self.now, worker, message, fence);
        if answer == Answer::Done {
            self.check(invariants::started_is_the_holders_alone(
                self.now, worker, message, fence, before,
            ));
        }
        answer
    }

    fn bump(&mut self, reference: StatementRef, partition: PartitionId, generation: u64) {
        if self.claims.is_shared(partition) {
            self.counts.add("bumps that waited for claims");
            self.claims
                .wait_for_shares(partition, (reference, generation));
            return;
        }
        let before = self.claims.epochs.get(&partition).copied();
        let epoch = self.claims.bump(partition);
        self.check(invariants::an_assignment_has_an_epoch_of_its_own(
            partition, before, epoch,
        ));
        note!(
            self,
            "claims        {partition:?} is in epoch {epoch}, for {}",
            reference.worker
        );
        if reference.answered {
            let news = WorkerNews::Epoch {
                number: reference.number,
                partition,
                generation,
                epoch,
                deferred: self.claims.deferrals.of_partition(self.now, partition),
            };
            self.tell_worker(200, 2 * MILLI, reference.worker, news);
        }
    }

    pub(super) fn unshare(&mut self, partition: PartitionId) {
        for (reference, generation) in self.claims.unshare(partition) {
            self.bump(reference, partition, generation);
        }
    }

    fn begin_claim(
        &mut self,
        reference: StatementRef,
        slot: SlotId,
        asked_at: Moment,
        ask: ClaimAsk,
    ) {
        if !self.claims.share(ask.partition, ask.epoch) {
            self.counts.add("claims of an old epoch refused");
            self.answer_claim(reference, slot, asked_at, ClaimOutcome::StaleEpoch);
            return;
        }
        let permille = self.settings.slow_statements_permille;
        let slow = self.faults() && self.random.chance(permille);
        let most = if slow { 3 * SECOND } else { MILLI };
        let step = ClaimStep::Take {
            reference,
            slot,
            asked_at,
            ask,
            restarts: self.claims.restarts,
        };
        self.after(50, most, Happening::Claims(step));
    }

    pub(super) fn take(&mut self, worker: WorkerRef, ask: &ClaimAsk) -> ClaimOutcome {
        let (outcome, taken) = self.claims.claim(self.now, worker, ask);
        note!(
            self,
            "claims        {worker}: {} of {} under epoch {}: {outcome:?}",
            if ask.renew.is_some() {
                "renewal"
            } else {
                "claim"
            },
            self.name(ask.message),
            ask.epoch,
        );
        if let Some(taken) = taken {
            self.granted(ask, taken);
        } else if outcome == ClaimOutcome::Fenced {
            self.counts.add("writes of an old fence refused");
        }
        outcome
    }

    fn granted(&mut self, ask: &ClaimAsk, taken: Taken) {
        let current = self.claims.epochs[&ask.partition];
        self.check(invariants::no_claim_of_an_old_epoch_succeeds(ask, current));
        if ask.renew.is_some() {
            self.check(
                invariants::started_is_taken_back_only_when_nothing_was_posted(
                    &self.ledger,
                    ask.message,
                    &taken,
                ),
            );
            return;
        }
        self.check(invariants::a_fence_only_grows(ask.message, &taken));
        self.check(invariants::no_claim_while_another_holds_one(
            self.now,
            ask.message,
            &taken,
        ));
        if let Some(before) = taken.before {
            self.ledger.fence_off(ask.message, before.fence);
        }
        if taken.after.state == State::Started {
            self.ledger.messages[ask.message].found_started = true;
        }
    }

    fn settle(
        &mut self,
        worker: WorkerRef,
        message: usize,
        fence: i64,
        end: Settlement,
        attempt: Option<usize>,
    ) -> Answer {
        let before = self.claims.rows.get(&message).copied();
        let answer = self.claims.settle(self.now, message, fence, end);
        self.trace_write(worker, end.word(), message, fence, answer);
        let after = self.claims.rows.get(&message).copied();
        if let (Some(before), Some(after)) = (before, after) {
            let taken = Taken {
                before: Some(before),
                after,
            };
            self.check(invariants::a_settlement_stays(message, &taken));
            if before.state != after.state {
                self.settled(message, fence, end, &taken);
            }
        }
        if let Some(attempt) = attempt.filter(|_| answer == Answer::Done) {
            self.ledger.attempts[attempt].recorded = true;
        }
        answer
    }

    fn settled(&mut self, message: usize, fence: i64, end: Settlement, taken: &Taken) {
        self.counts.add(end.word());
        self.check(invariants::a_settlement_needs_its_fence_or_a_lapsed_lease(
            self.now, message, fence, end, taken,
        ));
        self.check(invariants::delivered_only_when_accepted(
            &self.ledger,
            message,
            end,
        ));
        self.check(invariants::parked_only_when_unknown(
            &self.ledger,
            message,
            end,
        ));
        let kept = self.kafka.dead_messages.contains(&message);
        self.check(invariants::dead_letters_are_kept_before_they_settle(
            message, end, kept,
        ));
        // Whoever else is calling has lost it.
        for index in &self.ledger.messages[message].attempts {
            let attempt = &mut self.ledger.attempts[*index];
            attempt.fenced |= attempt.fence != fence && !attempt.recorded;
        }
    }

    pub(super) fn release(&mut self, worker: WorkerRef, message: usize, fence: i64, tried: Tried) {
        let before = self.claims.rows.get(&message).copied();
        self.claims.release(self.now, worker, message, fence, tried);
        if let Some(after) = self.claims.rows.get(&message).copied() {
            let taken = Taken { before, after };
            self.check(
                invariants::started_is_taken_back_only_when_nothing_was_posted(
                    &self.ledger,
                    message,
                    &taken,
                ),
            );
        }
        note!(
            self,
            "claims        {worker} gives {} back, fence {fence}",
            self.name(message)
        );
    }

    fn trace_write(
        &mut self,
        worker: WorkerRef,
        word: &str,
        message: usize,
        fence: i64,
        answer: Answer,
    ) {
        if answer == Answer::Fenced {
            self.counts.add("writes of an old fence refused");
        }
        note!(
            self,
            "claims        {worker}: {} {word}, fence {fence}: {answer:?}",
            self.name(message)
        );
    }
}
