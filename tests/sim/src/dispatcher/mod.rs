//! Workers around the real machine: one process each, with its own monotonic zero and its own wrong wall clock.

mod calls;
mod life;
mod membership;
mod perform;
mod records;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use tidings_delivery::{Event, Load, Machine, Moment, Now, PartitionId, SlotId};
use tidings_platforms::Verdict;

use crate::claims::Statement;
use crate::happening::Happening;
use crate::invariants;
use crate::kafka::Record;
use crate::times::WALL_BEGIN;
use crate::world::World;

pub(crate) use life::draw_limits;

/// One incarnation of one worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WorkerRef {
    pub(crate) life: u64,
    pub(crate) worker: usize,
}

impl fmt::Display for WorkerRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker {}.{}", self.worker, self.life)
    }
}

/// A worker process.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) life: u64,
    pub(crate) alive: bool,
    pub(crate) frozen_until: u64,
    pub(crate) cut_from_kafka_until: u64,
    pub(crate) cut_from_postgres_until: u64,
    machine: Machine,
    /// What the worker's own monotonic clock says more than the world's.
    moment_ahead: u64,
    wall_skew_micros: i64,
    slots: BTreeMap<SlotId, Held>,
    assignments: BTreeMap<PartitionId, Assignment>,
    /// Slots of a record key whose schema is being fetched, in order.
    unresolved: BTreeMap<(PartitionId, usize), VecDeque<SlotId>>,
    /// Statements that have no answer yet.
    pub(crate) statements: BTreeMap<u64, Statement>,
    commits: BTreeMap<PartitionId, usize>,
    commits_soon: bool,
    /// The last commit that was sent arrives then: one connection keeps their order.
    commits_arrive_at: u64,
    fetches_soon: bool,
    ticks_at: Option<u64>,
    leaving: Option<Leaving>,
    /// A fault that waits for the worker's next such step.
    pub(crate) trap: Option<(Step, Blow)>,
    /// Assignments up to this one are of a membership that is over.
    stale_up_to: u64,
}

/// A record that the machine holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    partition: PartitionId,
    generation: u64,
    offset: usize,
    record: Record,
    /// Its newest call.
    attempt: Option<usize>,
}

/// A partition as a worker sees it.
#[derive(Debug, Clone, Copy)]
struct Assignment {
    generation: u64,
    phase: Phase,
    next_offset: usize,
    /// The newest that the machine asked to commit.
    watermark: Option<usize>,
    paused: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    AwaitsEpoch,
    Owned,
    Draining,
}

/// Why a worker leaves the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Leaving {
    /// It was fenced on a partition, and joins afresh.
    Rejoin,
    /// SIGTERM.
    Exit,
}

/// A step of a record's way, at which a fault may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Claim,
    Start,
    Call,
    Answer,
    Settle,
    DeadLetter,
    Release,
    Commit,
}

impl Step {
    pub(crate) const ALL: [Self; 8] = [
        Self::Claim,
        Self::Start,
        Self::Call,
        Self::Answer,
        Self::Settle,
        Self::DeadLetter,
        Self::Release,
        Self::Commit,
    ];
}

/// What then happens to the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blow {
    Kill,
    Freeze,
}

/// What a worker gets to know.
#[derive(Debug)]
pub(crate) enum WorkerNews {
    Answer(u64, Event),
    Epoch {
        number: u64,
        partition: PartitionId,
        generation: u64,
        epoch: i64,
    },
    StatementDeadline(u64),
    AskEpoch(PartitionId, u64),
    Assigned(PartitionId, u64),
    Revoked(PartitionId, u64),
    DrainDeadline(PartitionId, u64),
    TimedOut,
    Fetch,
    SchemaKnown(PartitionId, usize),
    SendCommits,
    CommitRefused(PartitionId, u64),
    /// The first byte of a call goes out.
    Depart(usize),
    CallAnswered(usize, Verdict),
    CallDeadline(usize),
    DeadLettered(SlotId, bool),
    Tick,
    /// It was fenced on a partition: it leaves the group, to join afresh.
    Rejoin,
    /// The end of a worker that was told to stop.
    Exit,
}

impl World {
    pub(crate) fn reference(&self, worker: usize) -> WorkerRef {
        WorkerRef {
            worker,
            life: self.workers[worker].life,
        }
    }

    pub(crate) fn lives(&self, reference: WorkerRef) -> bool {
        let worker = &self.workers[reference.worker];
        worker.alive && worker.life == reference.life
    }

    /// Whether the group's coordinator hears of it.
    pub(crate) fn is_reachable(&self, reference: WorkerRef) -> bool {
        let worker = &self.workers[reference.worker];
        let silent_until = worker.frozen_until.max(worker.cut_from_kafka_until);
        self.lives(reference) && silent_until <= self.now
    }

    pub(crate) fn tell_worker(&mut self, least: u64, most: u64, to: WorkerRef, news: WorkerNews) {
        self.after(least, most, Happening::Worker(to, news));
    }

    /// A frozen worker hears of it when it thaws, a dead one never.
    pub(crate) fn worker_news(&mut self, to: WorkerRef, news: WorkerNews) {
        if !self.lives(to) {
            return;
        }
        let thaws_at = self.workers[to.worker].frozen_until;
        if thaws_at > self.now {
            self.at(thaws_at, Happening::Worker(to, news));
            return;
        }
        match news {
            WorkerNews::Answer(number, event) => {
                if self.workers[to.worker].statements.remove(&number).is_some() {
                    self.tell(to, event);
                }
            }
            WorkerNews::Epoch {
                number,
                partition,
                generation,
                epoch,
            } => self.epoch_known(to, number, partition, generation, epoch),
            WorkerNews::StatementDeadline(number) => self.give_statement_up(to, number),
            WorkerNews::AskEpoch(partition, generation) => {
                self.ask_epoch(to, partition, generation);
            }
            WorkerNews::Assigned(partition, generation) => self.assigned(to, partition, generation),
            WorkerNews::Revoked(partition, generation) => self.revoked(to, partition, generation),
            WorkerNews::DrainDeadline(partition, generation) => {
                self.drain_deadline(to, partition, generation);
            }
            WorkerNews::TimedOut => self.timed_out(to),
            WorkerNews::Fetch => self.fetch(to),
            WorkerNews::SchemaKnown(partition, chat) => self.schema_known(to, partition, chat),
            WorkerNews::SendCommits => self.send_commits(to),
            WorkerNews::CommitRefused(partition, generation) => {
                self.commit_again(to, partition, generation);
            }
            WorkerNews::Depart(attempt) => self.depart(to, attempt),
            WorkerNews::CallAnswered(attempt, verdict) => self.call_answered(to, attempt, verdict),
            WorkerNews::CallDeadline(attempt) => {
                self.call_answered(to, attempt, Verdict::Unknown);
            }
            WorkerNews::DeadLettered(slot, acknowledged) => {
                self.tell(to, Event::DeadLettered { slot, acknowledged });
            }
            WorkerNews::Tick => {
                self.workers[to.worker].ticks_at = None;
                self.tell(to, Event::Tick);
            }
            WorkerNews::Rejoin => self.leave_group(to, Leaving::Rejoin),
            WorkerNews::Exit => self.end_worker(to.worker),
        }
    }

    fn moment(&self, worker: usize) -> Moment {
        Moment(self.now + self.workers[worker].moment_ahead)
    }

    fn wall_micros(&self, worker: usize) -> i64 {
        WALL_BEGIN + self.now as i64 + self.workers[worker].wall_skew_micros
    }

    /// Hands one event to the machine and performs what it wants done.
    fn tell(&mut self, to: WorkerRef, event: Event) {
        let now = Now {
            moment: self.moment(to.worker),
            wall_micros: self.wall_micros(to.worker),
        };
        let mut effects = Vec::new();
        let machine = &mut self.workers[to.worker].machine;
        machine.handle(event, now, &mut effects);
        for effect in effects {
            self.perform(to, effect);
        }
        self.tick_later(to);
        let worker = &self.workers[to.worker];
        self.check(invariants::nothing_is_unbounded(
            to,
            worker.machine.load(),
            &self.limits,
        ));
    }

    fn tick_later(&mut self, to: WorkerRef) {
        let worker = &mut self.workers[to.worker];
        let Some(next) = worker.machine.next_timer() else {
            return;
        };
        let at = next.0.saturating_sub(worker.moment_ahead).max(self.now);
        if worker.ticks_at.is_none_or(|ticks_at| ticks_at > at) {
            worker.ticks_at = Some(at);
            self.at(at, Happening::Worker(to, WorkerNews::Tick));
        }
    }

    /// What the workers' machines hold.
    pub(crate) fn loads(&self) -> Vec<Load> {
        let workers = self.workers.iter();
        workers.map(|worker| worker.machine.load()).collect()
    }

    /// Whether nothing is left in a worker's machine.
    pub(crate) fn is_idle(&self, worker: usize) -> bool {
        let worker = &self.workers[worker];
        worker.alive && worker.machine.load().records == 0
    }
}
