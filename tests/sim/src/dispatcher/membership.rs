//! Partitions come and go: an epoch is bumped before anything is fetched, a revocation is drained before it is granted,
//! commits go out together.

use tidings_delivery::{DeferredChat, Event, PartitionId};

use super::{Assignment, Leaving, Phase, WorkerNews, WorkerRef};
use crate::claims::Statement;
use crate::happening::Happening;
use crate::kafka::Owner;
use crate::times::{COMMIT_INTERVAL, DRAIN_DEADLINE, EPOCH_RETRY, MILLI, SECOND};
use crate::trace::note;
use crate::world::World;

impl World {
    fn assignment(&mut self, to: WorkerRef, id: PartitionId) -> Option<&mut Assignment> {
        self.workers[to.worker].assignments.get_mut(&id)
    }

    /// Whether it is still the same assignment.
    pub(super) fn holds(&mut self, to: WorkerRef, id: PartitionId, generation: u64) -> bool {
        self.assignment(to, id)
            .is_some_and(|assignment| assignment.generation == generation)
    }

    pub(super) fn assigned(&mut self, to: WorkerRef, id: PartitionId, generation: u64) {
        let owner = Owner {
            member: to,
            generation,
        };
        let worker = &self.workers[to.worker];
        if worker.leaving.is_some() || generation <= worker.stale_up_to {
            self.give_up(id, owner);
            return;
        }
        let assignment = Assignment {
            generation,
            phase: Phase::AwaitsEpoch,
            next_offset: self.kafka.committed[&id],
            watermark: None,
            paused: false,
            begins: self.kafka.committed[&id],
        };
        self.workers[to.worker].assignments.insert(id, assignment);
        self.ask_epoch(to, id, generation);
    }

    pub(super) fn ask_epoch(&mut self, to: WorkerRef, partition: PartitionId, generation: u64) {
        if self.holds(to, partition, generation) {
            let bump = Statement::Bump {
                partition,
                generation,
            };
            self.send(to, bump);
        }
    }

    pub(super) fn epoch_known(
        &mut self,
        to: WorkerRef,
        number: u64,
        id: PartitionId,
        generation: u64,
        (epoch, deferred): (i64, Vec<DeferredChat>),
    ) {
        let asked = self.workers[to.worker].statements.remove(&number);
        if asked.is_none() || !self.holds(to, id, generation) {
            return;
        }
        if let Some(assignment) = self.assignment(to, id) {
            assignment.phase = Phase::Owned;
        }
        let event = Event::Assigned {
            partition: id,
            epoch,
            deferred,
        };
        self.tell(to, event);
        self.fetch_soon(to);
        // The broker is asked, again and again if it does not answer.
        let slow = self.faults() && self.random.chance(200);
        let most = if slow { 3 * SECOND } else { 5 * MILLI };
        self.tell_worker(0, most, to, WorkerNews::Begins(id, generation));
    }

    pub(super) fn begins(&mut self, to: WorkerRef, id: PartitionId, generation: u64) {
        if !self.holds(to, id, generation) {
            return;
        }
        if let Some(begins) = self.assignment(to, id).map(|a| a.begins) {
            note!(self, "{to}: {id:?} begins at {begins}");
            let event = Event::Begins {
                partition: id,
                offset: begins as i64,
            };
            self.tell(to, event);
        }
    }

    /// Unanswered: the machine, or the assignment, asks again.
    pub(super) fn give_statement_up(&mut self, to: WorkerRef, number: u64) {
        let Some(statement) = self.workers[to.worker].statements.remove(&number) else {
            return;
        };
        if let Statement::Bump {
            partition,
            generation,
        } = statement
        {
            let news = WorkerNews::AskEpoch(partition, generation);
            self.tell_worker(EPOCH_RETRY, EPOCH_RETRY, to, news);
        } else if let Some(event) = unanswered(&statement) {
            self.tell(to, event);
        }
    }

    pub(super) fn revoked(&mut self, to: WorkerRef, id: PartitionId, generation: u64) {
        if !self.holds(to, id, generation) {
            let owner = Owner {
                member: to,
                generation,
            };
            self.give_up(id, owner);
            return;
        }
        let Some(assignment) = self.assignment(to, id) else {
            return;
        };
        match std::mem::replace(&mut assignment.phase, Phase::Draining) {
            Phase::Draining => {}
            Phase::AwaitsEpoch => self.abandon(to, id),
            Phase::Owned => {
                let news = WorkerNews::DrainDeadline(id, generation);
                self.tell_worker(DRAIN_DEADLINE, DRAIN_DEADLINE, to, news);
                self.tell(to, Event::Revoked(id));
            }
        }
    }

    /// "What is not drained in time is abandoned: its success is still recorded, its claim runs out otherwise."
    pub(super) fn drain_deadline(&mut self, to: WorkerRef, id: PartitionId, generation: u64) {
        if self.holds(to, id, generation) {
            self.counts.add("drains abandoned at their deadline");
            self.tell(to, Event::Lost(id));
            self.abandon(to, id);
        }
    }

    /// The worker has done with a partition: its last commit goes out, and the group gets it back.
    pub(super) fn abandon(&mut self, to: WorkerRef, id: PartitionId) {
        let worker = &mut self.workers[to.worker];
        let commit = worker.commits.remove(&id);
        let Some(assignment) = worker.assignments.remove(&id) else {
            return;
        };
        let owner = Owner {
            member: to,
            generation: assignment.generation,
        };
        if let Some(offset) = commit {
            self.commit_arrives(owner, id, offset);
        }
        self.give_up(id, owner);
        self.left_perhaps(to);
        self.fetch_soon(to);
    }

    /// The session timed out: everything is lost, and the worker joins again.
    pub(super) fn timed_out(&mut self, to: WorkerRef) {
        let lost: Vec<PartitionId> = self.workers[to.worker]
            .assignments
            .keys()
            .copied()
            .collect();
        for id in lost {
            self.workers[to.worker].assignments.remove(&id);
            self.workers[to.worker].commits.remove(&id);
            self.tell(to, Event::Lost(id));
        }
        let generation = self.kafka.group.generation();
        let worker = &mut self.workers[to.worker];
        worker.stale_up_to = generation;
        if worker.leaving != Some(Leaving::Exit) {
            worker.leaving = Some(Leaving::Rejoin);
            self.left_perhaps(to);
        }
    }

    /// "A newer epoch exists, so the group will say so sooner or later; joining afresh makes it sooner."
    pub(super) fn fenced(&mut self, to: WorkerRef, id: PartitionId) {
        self.counts.add("partitions fenced");
        self.abandon(to, id);
        self.tell_worker(0, MILLI, to, WorkerNews::Rejoin);
    }

    pub(super) fn commit_soon(&mut self, to: WorkerRef, id: PartitionId, offset: usize) {
        if let Some(assignment) = self.assignment(to, id) {
            assignment.watermark = Some(offset);
        }
        let worker = &mut self.workers[to.worker];
        worker.commits.insert(id, offset);
        if !std::mem::replace(&mut worker.commits_soon, true) {
            self.tell_worker(MILLI, COMMIT_INTERVAL, to, WorkerNews::SendCommits);
        }
    }

    pub(super) fn send_commits(&mut self, to: WorkerRef) {
        let worker = &mut self.workers[to.worker];
        worker.commits_soon = false;
        if worker.cut_from_kafka_until > self.now {
            worker.commits_soon = true;
            self.tell_worker(COMMIT_INTERVAL, SECOND, to, WorkerNews::SendCommits);
            return;
        }
        for (id, offset) in std::mem::take(&mut worker.commits) {
            self.send_commit(to, id, offset);
        }
    }

    fn send_commit(&mut self, to: WorkerRef, partition: PartitionId, offset: usize) {
        let Some(assignment) = self.assignment(to, partition) else {
            return;
        };
        let owner = Owner {
            member: to,
            generation: assignment.generation,
        };
        let slow = self.faults() && self.random.chance(20);
        let takes = self
            .random
            .between(MILLI, if slow { SECOND } else { 5 * MILLI });
        let worker = &mut self.workers[to.worker];
        worker.commits_arrive_at = worker.commits_arrive_at.max(self.now + takes);
        let arrives_at = worker.commits_arrive_at;
        let arrives = Happening::CommitArrives {
            owner,
            partition,
            offset,
        };
        self.at(arrives_at, arrives);
    }

    /// When one is refused the newest is sent again, while the partition is still ours.
    pub(super) fn commit_again(&mut self, to: WorkerRef, id: PartitionId, generation: u64) {
        if !self.holds(to, id, generation) {
            return;
        }
        let newest = self.assignment(to, id).and_then(|a| a.watermark);
        if let Some(offset) = newest {
            self.commit_soon(to, id, offset);
        }
    }
}

/// What the machine is told of a statement without an answer.
fn unanswered(statement: &Statement) -> Option<Event> {
    use tidings_delivery::{Answer, ClaimOutcome};
    let answer = Answer::Failed;
    match statement {
        Statement::Claim { slot, asked_at, .. } => Some(Event::Claimed {
            slot: *slot,
            asked_at: *asked_at,
            outcome: ClaimOutcome::Failed,
        }),
        Statement::Start { slot, .. } => Some(Event::Started {
            slot: *slot,
            answer,
        }),
        Statement::Settle { slot, .. } => Some(Event::Recorded {
            slot: *slot,
            answer,
        }),
        Statement::Deferring(asked) => Some(asked.refused(false)),
        Statement::Release { .. } | Statement::Bump { .. } => None,
    }
}
