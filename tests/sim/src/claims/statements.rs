//! Statements on their way: slow, lost, unanswered, carried out after their worker gave them up or died. A claim holds
//! its partition's epoch FOR SHARE between its two steps, and a bump waits for it.

use tidings_delivery::{ClaimOutcome, Event, Moment, PartitionId, Settlement, SlotId};

use super::{ClaimAsk, Deferring, Tried};
use crate::dispatcher::{WorkerNews, WorkerRef};
use crate::happening::Happening;
use crate::times::{MILLI, SECOND, STATEMENT_DEADLINE};
use crate::world::World;

/// A statement of a worker, numbered so that it is answered once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatementRef {
    pub(crate) worker: WorkerRef,
    pub(crate) number: u64,
    pub(super) answered: bool,
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
        tried: Tried,
    },
    /// About a deferred chat.
    Deferring(Deferring),
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
    /// A statement about a deferred chat that holds the epoch.
    Deferring {
        reference: StatementRef,
        asked: Deferring,
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
            ClaimStep::Deferring {
                reference,
                asked,
                restarts,
            } => {
                if self.claims.restarts == restarts {
                    self.carry_out(reference, asked);
                } else {
                    self.fail_statement(reference);
                }
            }
        }
    }

    pub(super) fn answer_claim(
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

    pub(super) fn answer(&mut self, reference: StatementRef, event: Event) {
        if reference.answered {
            let news = WorkerNews::Answer(reference.number, event);
            self.tell_worker(200, 2 * MILLI, reference.worker, news);
        }
    }

    pub(crate) fn restart_claims(&mut self, until: u64) {
        for waiting in self.claims.restart(until) {
            self.fail_statement(waiting);
        }
    }

    /// The connection breaks: the worker knows that it has no answer.
    fn fail_statement(&mut self, reference: StatementRef) {
        self.counts
            .add("statements broken by a restart of Postgres");
        let news = WorkerNews::StatementDeadline(reference.number);
        self.tell_worker(200, 100 * MILLI, reference.worker, news);
    }
}
