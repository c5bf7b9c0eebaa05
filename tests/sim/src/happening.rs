//! What is to happen, and when: the world's queue.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use tidings_delivery::PartitionId;

use crate::chaos::Blow;
use crate::claims::ClaimStep;
use crate::dispatcher::{WorkerNews, WorkerRef};
use crate::kafka::{GroupStep, Owner};
use crate::outbox::{OutboxStep, UpstreamStep};
use crate::relay::{ProducerStep, RelayNews, ShardRef};
use crate::world::World;

/// Something that happens at its time, whoever lives then.
#[derive(Debug)]
pub(crate) enum Happening {
    Upstream(UpstreamStep),
    Outbox(OutboxStep),
    Relay(ShardRef, RelayNews),
    RelayThaws {
        relay: usize,
        life: u64,
    },
    RelayLooks {
        relay: usize,
        life: u64,
    },
    RelayStarts {
        relay: usize,
    },
    Producer(ProducerStep),
    Group(GroupStep),
    CommitArrives {
        owner: Owner,
        partition: PartitionId,
        offset: usize,
    },
    Worker(WorkerRef, WorkerNews),
    WorkerThaws(WorkerRef),
    WorkerStarts {
        worker: usize,
    },
    Claims(ClaimStep),
    CallArrives(usize),
    Fault,
    /// Somebody looks at what is deferred.
    Operator,
    Blow(WorkerRef, Blow),
    RelayBlow(ShardRef, Blow),
    Poison,
}

impl World {
    pub(crate) fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Upstream(step) => self.upstream(step),
            Happening::Outbox(step) => self.outbox_step(step),
            Happening::Relay(to, news) => self.relay_news(to, news),
            Happening::RelayThaws { relay, life } => self.thaw_relay(relay, life),
            Happening::RelayLooks { relay, life } => self.relay_looks(relay, life),
            Happening::RelayStarts { relay } => self.start_relay(relay),
            Happening::Producer(step) => self.producer_step(step),
            Happening::Group(step) => self.group_step(step),
            Happening::CommitArrives {
                owner,
                partition,
                offset,
            } => self.commit_arrives(owner, partition, offset),
            Happening::Worker(to, news) => self.worker_news(to, news),
            Happening::WorkerThaws(to) => self.thaw_worker(to),
            Happening::WorkerStarts { worker } => self.start_worker(worker),
            Happening::Claims(step) => self.claim_step(step),
            Happening::CallArrives(attempt) => self.call_arrives(attempt),
            Happening::Fault => self.fault(),
            Happening::Operator => self.operator_looks(),
            Happening::Blow(at, blow) => self.blow(at, blow),
            Happening::RelayBlow(at, blow) => self.relay_blow(at, blow),
            Happening::Poison => self.append_poison(),
        }
    }
}

/// Happenings by time; those of one time in the order in which they were queued.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Entry>,
    order: u64,
}

#[derive(Debug)]
struct Entry {
    at: u64,
    order: u64,
    happening: Happening,
}

impl Queue {
    pub(crate) fn push(&mut self, at: u64, happening: Happening) {
        self.order += 1;
        self.heap.push(Entry {
            at,
            order: self.order,
            happening,
        });
    }

    pub(crate) fn pop(&mut self) -> Option<(u64, Happening)> {
        self.heap.pop().map(|entry| (entry.at, entry.happening))
    }
}

impl Ord for Entry {
    /// The heap gives its greatest first: the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Entry {}
