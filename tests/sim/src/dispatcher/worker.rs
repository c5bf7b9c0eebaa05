use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use tidings_delivery::{Machine, PartitionId, PermitId, SlotId};

use super::{Wish, WorkerNews};
use crate::chaos::{Blow, Step};
use crate::claims::Statement;
use crate::kafka::Record;

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
    /// What came while it was frozen.
    pub(super) unheard: VecDeque<WorkerNews>,
    pub(crate) cut_from_kafka_until: u64,
    pub(crate) cut_from_postgres_until: u64,
    pub(super) machine: Machine,
    /// What the worker's own monotonic clock says more than the world's.
    pub(super) moment_ahead: u64,
    pub(super) wall_skew_micros: i64,
    /// What its limiter was asked for.
    pub(super) wishes: BTreeMap<PermitId, Wish>,
    pub(super) slots: BTreeMap<SlotId, Held>,
    pub(super) assignments: BTreeMap<PartitionId, Assignment>,
    /// Slots of a record key whose schema is being fetched, in order.
    pub(super) unresolved: BTreeMap<(PartitionId, usize), VecDeque<SlotId>>,
    /// Statements that have no answer yet.
    pub(crate) statements: BTreeMap<u64, Statement>,
    pub(super) commits: BTreeMap<PartitionId, usize>,
    pub(super) commits_soon: bool,
    /// The last commit that was sent arrives then: one connection keeps their order.
    pub(super) commits_arrive_at: u64,
    pub(super) fetches_soon: bool,
    pub(super) ticks_at: Option<u64>,
    /// The last that the group told it arrives then.
    pub(crate) group_tells_at: u64,
    /// Whether it takes itself for a member of the group.
    pub(crate) joined: bool,
    pub(super) leaving: Option<Leaving>,
    /// A fault that waits for the worker's next such step.
    pub(crate) trap: Option<(Step, Blow)>,
    /// Assignments up to this one are of a membership that is over.
    pub(super) stale_up_to: u64,
}

/// A record that the machine holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) partition: PartitionId,
    pub(super) generation: u64,
    pub(super) offset: usize,
    pub(super) record: Record,
    /// Its newest call.
    pub(super) attempt: Option<usize>,
}

/// A partition as a worker sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Assignment {
    pub(super) generation: u64,
    pub(super) phase: Phase,
    pub(super) next_offset: usize,
    /// What was committed when it began.
    pub(super) begins: usize,
    /// The newest that the machine asked to commit.
    pub(super) watermark: Option<usize>,
    pub(super) paused: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    AwaitsEpoch,
    Owned,
    Draining,
}

/// Why a worker leaves the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Leaving {
    /// It was fenced on a partition, and joins afresh.
    Rejoin,
    /// SIGTERM.
    Exit,
}
