//! Statements on their way: slow, lost, unanswered, carried out after their worker gave them up or died. A claim holds
//! its partition's epoch FOR SHARE between its two steps, and a bump waits for it.

use tidings_delivery::{Answer, ClaimOutcome, Event, Moment, PartitionId, Settlement, SlotId};

use super::{ClaimAsk, State, Taken};
use crate::dispatcher::{WorkerNews, WorkerRef};
use crate::happening::Happening;
use crate::invariants;
use crate::times::{MILLI, SECOND, STATEMENT_DEADLINE};
use crate::trace::note;
use crate::world::World;

/// A statement of a worker, numbered so that it is answered once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatementRef {
    pub(crate) worker: WorkerRef,
    pub(crate) number: u64,
    answered: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Statement {
    Bump {
        partition: PartitionId,
        generation: u64,
    },
    Claim {
        slot: SlotId,
        asked_at: Moment,
        ask: ClaimAsk,
    },
    Start {
        slot: SlotId,
        message: usize,
        fence: i64,
    },
    Settle {
        slot: SlotId,
        message: usize,
        fence: i64,
        end: Settlement,
        /// The attempt that brought it, for `Delivered`.
        attempt: Option<usize>,
    },
    Release {
        message: usize,
        fence: i64,
    },
}

/// What happens in the server.
#[derive(Debug)]
pub(crate) enum ClaimStep {
    Begin(StatementRef, Statement),
    /// A claim that holds the epoch takes or renews its row.
    Take {
        reference: StatementRef,
        slot: SlotId,
        asked_at: Moment,
        ask: ClaimAsk,
        restarts: u64,
    },
}

impl World {
    pub(crate) fn send(&mut self, worker: WorkerRef, statement: Statement) {
        let (lost, slow, answered) = self.draw_fate(worker);
        self.last_statement += 1;
        let number = self.last_statement;
        self.workers[worker.worker]
            .statements
            .insert(number, statement.clone());
        let reference = StatementRef {
            worker,
            number,
            answered,
        };
        if lost || slow || !answered {
            let news = WorkerNews::StatementDeadline(number);
            // A broken connection is noticed sooner than a silent one.
            let least = if slow { STATEMENT_DEADLINE } else { MILLI };
            self.tell_worker(least, STATEMENT_DEADLINE, worker, news);
        }
        if !lost {
            let (least, most) = if slow {
                (100 * MILLI, 12 * SECOND)
            } else {
                (300, 2 * MILLI)
            };
            let step = ClaimStep::Begin(reference, statement);
            self.after(least, most, Happening::Claims(step));
        }
    }

    /// Whether a statement never arrives, arrives late, and is answered.
    fn draw_fate(&mut self, worker: WorkerRef) -> (bool, bool, bool) {
        let cut = self.workers[worker.worker].cut_from_postgres_until > self.now;
        if !self.faults() {
            return (cut, false, true);
        }
        let lost = self.random.chance(self.settings.lost_statements_permille);
        let answered = !self.random.chance(self.settings.lost_statements_permille);
        let slow = self.random.chance(self.settings.slow_statements_permille);
        if slow {
            self.counts.add("statements carried out late");
        }
        if lost {
            self.counts.add("statements lost");
        }
        if !answered {
            self.counts.add("statements not answered");
        }
        (lost || cut, slow, answered)
    }

    pub(crate) fn claim_step(&mut self, step: ClaimStep) {
        match step {
            ClaimStep::Begin(reference, statement) => {
                if self.claims.down_until > self.now {
                    self.fail_statement(reference);
                    return;
                }
                if !self.lives(reference.worker) {
                    self.counts.add("statements of dead workers carried out");
                }
                self.begin_claims_statement(reference, statement);
            }
            ClaimStep::Take {
                reference,
                slot,
                asked_at,
                ask,
                restarts,
            } => {
                if self.claims.restarts != restarts {
                    self.fail_statement(reference);
                    return;
                }
                let outcome = self.take(reference.worker, &ask);
                self.unshare(ask.partition);
                self.answer_claim(reference, slot, asked_at, outcome);
            }
        }
    }

    fn begin_claims_statement(&mut self, reference: StatementRef, statement: Statement) {
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
                let answer = self
                    .claims
                    .start(self.now, reference.worker, message, fence);
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
            Statement::Release { message, fence } => self.release(reference.worker, message, fence),
        }
    }

    fn bump(&mut self, reference: StatementRef, partition: PartitionId, generation: u64) {
        if self.claims.is_shared(partition) {
            self.counts.add("bumps that waited for claims");
            self.claims
                .wait_for_shares(partition, (reference, generation));
            return;
        }
        let epoch = self.claims.bump(partition);
        note!(self, "claims        {partition:?} is in epoch {epoch}, for {}", reference.worker);
        if reference.answered {
            let news = WorkerNews::Epoch {
                number: reference.number,
                partition,
                generation,
                epoch,
            };
            self.tell_worker(200, 2 * MILLI, reference.worker, news);
        }
    }

    fn unshare(&mut self, partition: PartitionId) {
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

    fn take(&mut self, worker: WorkerRef, ask: &ClaimAsk) -> ClaimOutcome {
        let (outcome, taken) = self.claims.claim(self.now, worker, ask);
        note!(
            self,
            "claims        {worker}: {} of {} under epoch {}: {outcome:?}",
            if ask.renew.is_some() { "renewal" } else { "claim" },
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
            self.check(invariants::started_is_taken_back_only_when_nothing_was_posted(
                &self.ledger,
                ask.message,
                &taken,
            ));
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

    fn release(&mut self, worker: WorkerRef, message: usize, fence: i64) {
        let before = self.claims.rows.get(&message).copied();
        self.claims.release(self.now, worker, message, fence);
        if let Some(after) = self.claims.rows.get(&message).copied() {
            let taken = Taken { before, after };
            self.check(invariants::started_is_taken_back_only_when_nothing_was_posted(
                &self.ledger,
                message,
                &taken,
            ));
        }
        note!(self, "claims        {worker} gives {} back, fence {fence}", self.name(message));
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
        note!(self, "claims        {worker}: {} {word}, fence {fence}: {answer:?}", self.name(message));
    }

    fn answer_claim(
        &mut self,
        reference: StatementRef,
        slot: SlotId,
        asked_at: Moment,
        outcome: ClaimOutcome,
    ) {
        let event = Event::Claimed {
            slot,
            asked_at,
            outcome,
        };
        self.answer(reference, event);
    }

    fn answer(&mut self, reference: StatementRef, event: Event) {
        if reference.answered {
            let news = WorkerNews::Answer(reference.number, event);
            self.tell_worker(200, 2 * MILLI, reference.worker, news);
        }
    }

    /// The connection breaks: the worker knows that it has no answer.
    fn fail_statement(&mut self, reference: StatementRef) {
        self.counts.add("statements broken by a restart of Postgres");
        let news = WorkerNews::StatementDeadline(reference.number);
        self.tell_worker(200, 100 * MILLI, reference.worker, news);
    }
}
