//! A worker process begins and ends.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tidings_delivery::{
    CircuitOptions, DeadLetterLimitOptions, Limits, Machine, Options, RetryProfile, RetryProfiles,
    TargetOptions, Timing, Waits,
};

use super::{Leaving, Phase, Worker, WorkerNews, WorkerRef};
use crate::happening::Happening;
use crate::kafka::GroupStep;
use crate::ledger::Told;
use crate::random::Random;
use crate::times::{
    CALL_DEADLINE, DRAIN_DEADLINE, LEASE, LEASE_MARGIN, MILLI, REJOIN_WAIT, SECOND, STORAGE_RETRY,
    WALL_SKEW_MAX,
};
use crate::trace::note;
use crate::world::World;

/// The bounds that every worker of a world has.
pub(crate) fn draw_limits(random: &mut Random) -> Limits {
    Limits {
        records: random.between(2, 60) as usize,
        bytes: 1_000_000,
        records_per_chat: random.between(1, 20) as usize,
        load_batch: random.between(1, 10) as usize,
        loads: random.between(1, 3) as usize,
        deferred_chats: random.pick(&[0, 1, 3, 1_000, 1_000, 1_000]),
        calls: random.between(1, 8) as usize,
        calls_per_account: random.between(1, 5) as usize,
    }
}

fn options(limits: Limits, hold_in_memory: u64, seed: u64) -> Options {
    Options {
        limits,
        timing: Timing {
            call_deadline: Duration::from_micros(CALL_DEADLINE),
            lease: Duration::from_micros(LEASE),
            lease_margin: Duration::from_micros(LEASE_MARGIN),
            storage_retry: Duration::from_micros(STORAGE_RETRY),
            hold_in_memory: Duration::from_micros(hold_in_memory),
        },
        retries: RetryProfiles {
            standard: RetryProfile {
                waits: Waits::Doubling {
                    base: Duration::from_millis(800),
                    cap: Duration::from_secs(4),
                },
                max_attempts: 5,
                ..RetryProfile::standard()
            },
            broken_account: Duration::from_secs(2),
            refusals_to_stop: 1,
            refused_rest: Duration::from_millis(300),
            ..RetryProfiles::default()
        },
        circuit: CircuitOptions {
            window: 10,
            min_outcomes: 4,
            wait: Duration::from_millis(500),
            wait_max: Duration::from_secs(2),
            ramp_step: Duration::from_millis(200),
            ..CircuitOptions::default()
        },
        targets: TargetOptions {
            capacity: 4,
            first_probe: Duration::from_secs(2),
            probe_all: true,
        },
        dead_letter_limit: DeadLetterLimitOptions {
            min_outcomes: 2,
            wait: Duration::from_secs(2),
            wait_max: Duration::from_secs(4),
            ..DeadLetterLimitOptions::default()
        },
        seed,
    }
}

impl Worker {
    /// A process that has not begun.
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            life: 0,
            alive: false,
            frozen_until: 0,
            unheard: VecDeque::new(),
            cut_from_kafka_until: 0,
            cut_from_postgres_until: 0,
            machine: Machine::new(options(limits, 0, 0)),
            moment_ahead: 0,
            wall_skew_micros: 0,
            wishes: BTreeMap::new(),
            slots: BTreeMap::new(),
            assignments: BTreeMap::new(),
            unresolved: BTreeMap::new(),
            statements: BTreeMap::new(),
            commits: BTreeMap::new(),
            commits_soon: false,
            commits_arrive_at: 0,
            fetches_soon: false,
            ticks_at: None,
            group_tells_at: 0,
            joined: false,
            leaving: None,
            trap: None,
            stale_up_to: 0,
        }
    }
}

impl World {
    pub(crate) fn start_worker(&mut self, index: usize) {
        if self.workers[index].alive {
            return;
        }
        self.last_life += 1;
        let life = self.last_life;
        let seed = self.random.next();
        let mut worker = Worker::new(self.limits);
        worker.machine = Machine::new(options(self.limits, self.settings.hold_in_memory, seed));
        worker.life = life;
        worker.alive = true;
        worker.moment_ahead = self.random.between(0, 1_000_000 * SECOND);
        worker.wall_skew_micros =
            self.random.between(0, 2 * WALL_SKEW_MAX) as i64 - WALL_SKEW_MAX as i64;
        self.workers[index] = worker;
        self.limit_accounts(index);
        let reference = self.reference(index);
        note!(self, "{reference} starts");
        let join = Happening::Group(GroupStep::Join(reference));
        self.after(MILLI, 100 * MILLI, join);
    }

    /// The process is gone: what it knew with it. What it had sent goes on.
    pub(crate) fn end_worker(&mut self, index: usize) {
        if !self.workers[index].alive {
            return;
        }
        let reference = self.reference(index);
        note!(self, "{reference} ends");
        self.workers[index].alive = false;
        for attempt in &mut self.ledger.attempts {
            let pending = attempt.told == Told::Nothing || attempt.told == Told::Accepted;
            if attempt.caller == reference && pending && !attempt.recorded {
                attempt.died = true;
            }
        }
        self.watch(reference);
        let starts = Happening::WorkerStarts { worker: index };
        self.after(200 * MILLI, 3 * SECOND, starts);
    }

    /// SIGTERM: it leaves the group in order and ends when nothing is left to wait for, or at the deadline.
    pub(crate) fn stop_worker(&mut self, index: usize) {
        let reference = self.reference(index);
        self.leave_group(reference, Leaving::Exit);
        let most = DRAIN_DEADLINE + DRAIN_DEADLINE;
        self.tell_worker(most, most, reference, WorkerNews::Exit);
    }

    pub(super) fn leave_group(&mut self, reference: WorkerRef, why: Leaving) {
        let worker = &mut self.workers[reference.worker];
        worker.leaving = worker.leaving.max(Some(why));
        worker.stale_up_to = self.kafka.group.generation();
        note!(self, "{reference} leaves the group");
        let owned: Vec<_> = self.workers[reference.worker]
            .assignments
            .iter()
            .filter(|(_, assignment)| assignment.phase != Phase::Draining)
            .map(|(id, assignment)| (*id, assignment.generation))
            .collect();
        self.leave(reference);
        for (partition, generation) in owned {
            self.revoked(reference, partition, generation);
        }
        self.left_perhaps(reference);
    }

    /// Once nothing is assigned any more, a worker that leaves has left.
    pub(super) fn left_perhaps(&mut self, reference: WorkerRef) {
        let worker = &mut self.workers[reference.worker];
        if !worker.assignments.is_empty() {
            return;
        }
        match worker.leaving {
            None => {}
            Some(Leaving::Rejoin) => {
                worker.leaving = None;
                worker.joined = false;
                let join = Happening::Group(GroupStep::Join(reference));
                self.at(self.now + REJOIN_WAIT, join);
            }
            Some(Leaving::Exit) => {
                self.tell_worker(MILLI, 300 * MILLI, reference, WorkerNews::Exit);
            }
        }
    }
}
