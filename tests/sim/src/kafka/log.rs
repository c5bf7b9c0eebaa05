use std::collections::{BTreeMap, BTreeSet};

use tidings_delivery::PartitionId;

use super::{Group, Owner};
use crate::dispatcher::WorkerNews;
use crate::invariants;
use crate::settings::LANES;
use crate::times::MILLI;
use crate::trace::note;
use crate::world::World;

/// A record of a lane: a message, maybe for the second time, or bytes that nobody can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Record {
    Message(usize),
    Poison,
}

#[derive(Debug)]
pub(crate) struct Kafka {
    pub(crate) logs: BTreeMap<PartitionId, Vec<Record>>,
    pub(crate) committed: BTreeMap<PartitionId, usize>,
    /// The places of records that are in a dead-letter topic.
    pub(crate) dead_letters: BTreeSet<(PartitionId, usize)>,
    /// The messages of those.
    pub(crate) dead_messages: BTreeSet<usize>,
    pub(crate) down_until: u64,
    /// Partitions whose committed offsets fall back before their next assignment.
    pub(crate) forgets: BTreeSet<PartitionId>,
    pub(crate) group: Group,
}

impl Kafka {
    pub(crate) fn new(partitions: i32) -> Self {
        let ids: Vec<PartitionId> = (0..LANES)
            .flat_map(|lane| (0..partitions).map(move |partition| PartitionId { lane, partition }))
            .collect();
        Self {
            logs: ids.iter().map(|id| (*id, Vec::new())).collect(),
            committed: ids.iter().map(|id| (*id, 0)).collect(),
            dead_letters: BTreeSet::new(),
            dead_messages: BTreeSet::new(),
            down_until: 0,
            forgets: BTreeSet::new(),
            group: Group::new(&ids),
        }
    }

    pub(crate) fn is_down(&self, now: u64) -> bool {
        self.down_until > now
    }

    /// Whether everything in it is committed.
    pub(crate) fn is_consumed(&self) -> bool {
        let mut logs = self.logs.iter();
        logs.all(|(id, log)| self.committed[id] == log.len())
    }
}

impl World {
    pub(crate) fn partition_of(&self, message: usize) -> PartitionId {
        let message = &self.ledger.messages[message];
        PartitionId {
            lane: message.lane,
            partition: message.chat as i32 % self.settings.partitions,
        }
    }

    pub(crate) fn append(&mut self, partition: PartitionId, record: Record) {
        if let Record::Message(message) = record {
            self.check(invariants::only_committed_rows_are_published(
                &self.ledger,
                message,
            ));
            self.check(invariants::rows_are_published_in_order(
                &self.ledger,
                message,
            ));
            self.ledger.messages[message].in_kafka = true;
        }
        if let Some(log) = self.kafka.logs.get_mut(&partition) {
            log.push(record);
        }
        if let Some(owner) = self.kafka.group.owner(partition) {
            self.fetch_soon(owner.member);
        }
    }

    /// Bytes that somebody else put into a lane.
    pub(crate) fn append_poison(&mut self) {
        let ids: Vec<PartitionId> = self.kafka.logs.keys().copied().collect();
        let partition = self.random.pick(&ids);
        self.counts.add("poison records");
        self.append(partition, Record::Poison);
    }

    pub(crate) fn commit_arrives(&mut self, owner: Owner, partition: PartitionId, offset: usize) {
        let lost = self.faults() && self.random.chance(20);
        let refused = self.kafka.group.owner(partition) != Some(owner);
        if lost || refused || self.kafka.is_down(self.now) {
            self.counts.add("commits refused or lost");
            let news = WorkerNews::CommitRefused(partition, owner.generation);
            self.tell_worker(MILLI, 10 * MILLI, owner.member, news);
            return;
        }
        self.check(invariants::commit_passes_only_what_has_its_end(
            self, partition, offset,
        ));
        self.kafka.committed.insert(partition, offset);
        note!(
            self,
            "kafka         {partition:?} is committed up to {offset}"
        );
    }

    /// Offsets fall back (an operator's reset, a coordinator that lost them) while nobody owns the partition:
    /// everything is read again.
    pub(crate) fn fall_back_perhaps(&mut self, partition: PartitionId) {
        if !self.kafka.forgets.remove(&partition) {
            return;
        }
        let committed = self.kafka.committed[&partition];
        let earlier = self.random.below(committed + 1);
        self.kafka.committed.insert(partition, earlier);
        if earlier < committed {
            self.counts.add("offsets that fell back");
        }
        note!(
            self,
            "kafka         {partition:?} falls back from {committed} to {earlier}"
        );
    }
}
