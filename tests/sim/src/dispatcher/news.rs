//! What workers get to know, and when: a frozen one when it thaws, a dead one never.

use std::sync::Arc;

use tidings_delivery::{DeferredChat, Event, PartitionId, PermitId, SlotId};
use tidings_platforms::Verdict;

use super::permits::PermitNews;
use super::{Leaving, WorkerRef};
use crate::happening::Happening;
use crate::world::World;

/// What a worker gets to know.
#[derive(Debug)]
pub(crate) enum WorkerNews {
    Answer(u64, Event),
    Epoch {
        number: u64,
        partition: PartitionId,
        generation: u64,
        epoch: i64,
        deferred: Vec<DeferredChat>,
    },
    /// Where an assignment is fetched from.
    Begins(PartitionId, u64),
    /// Rows of a deferred chat: their offsets and messages.
    Rows {
        number: u64,
        partition: PartitionId,
        epoch: i64,
        chat: Arc<str>,
        rows: Vec<(usize, usize)>,
        more: bool,
    },
    /// An operator's word about a deferred chat.
    Operator(PartitionId, Arc<str>),
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
    Permit(PermitId, PermitNews),
    /// The last look said that the permit is void: nothing went out.
    CallVoided(PermitId),
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
    pub(crate) fn tell_worker(&mut self, least: u64, most: u64, to: WorkerRef, news: WorkerNews) {
        self.after(least, most, Happening::Worker(to, news));
    }

    /// A frozen worker hears of it when it thaws, in order; a dead one never.
    pub(crate) fn worker_news(&mut self, to: WorkerRef, news: WorkerNews) {
        if !self.lives(to) {
            return;
        }
        let worker = &mut self.workers[to.worker];
        if worker.frozen_until <= self.now && worker.unheard.is_empty() {
            self.hear(to, news);
            return;
        }
        worker.unheard.push_back(news);
        if worker.unheard.len() == 1 {
            let thaws_at = worker.frozen_until;
            self.at(thaws_at, Happening::WorkerThaws(to));
        }
    }

    pub(crate) fn thaw_worker(&mut self, to: WorkerRef) {
        if !self.lives(to) {
            return;
        }
        let thaws_at = self.workers[to.worker].frozen_until;
        if thaws_at > self.now {
            self.at(thaws_at, Happening::WorkerThaws(to));
            return;
        }
        while let Some(news) = self.workers[to.worker].unheard.pop_front() {
            self.hear(to, news);
        }
    }

    fn hear(&mut self, to: WorkerRef, news: WorkerNews) {
        if !self.lives(to) {
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
                deferred,
            } => self.epoch_known(to, number, partition, generation, (epoch, deferred)),
            WorkerNews::Begins(partition, generation) => self.begins(to, partition, generation),
            WorkerNews::Rows {
                number,
                partition,
                epoch,
                chat,
                rows,
                more,
            } => {
                if self.workers[to.worker].statements.remove(&number).is_some() {
                    let records = self.rows_arrive(to, partition, &rows);
                    let event = Event::Loaded {
                        partition,
                        epoch,
                        chat,
                        records,
                        more,
                    };
                    self.tell(to, event);
                }
            }
            WorkerNews::Operator(partition, chat) => self.look_at_marker(to, partition, chat),
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
            WorkerNews::Permit(permit, news) => self.permit_news(to, permit, news),
            WorkerNews::CallVoided(permit) => self.tell(to, Event::NotCalled(permit)),
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
}
