//! The consumer group: members that join, leave and time out, partitions that are taken back in order (cooperative,
//! with a drain) or are lost. Ownership says nothing about what an old owner still does.

use std::collections::{BTreeMap, BTreeSet};

use tidings_delivery::PartitionId;

use crate::dispatcher::{WorkerNews, WorkerRef};
use crate::happening::Happening;
use crate::times::{MILLI, SECOND, SESSION_TIMEOUT};
use crate::trace::note;
use crate::world::World;

/// One assignment of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) member: WorkerRef,
    pub(crate) generation: u64,
}

#[derive(Debug)]
pub(crate) struct Group {
    members: BTreeSet<WorkerRef>,
    owners: BTreeMap<PartitionId, Option<Owner>>,
    /// Being taken back from their owners.
    revoking: BTreeSet<PartitionId>,
    /// Whom a partition goes to, counted round the members.
    turns: BTreeMap<PartitionId, usize>,
    generation: u64,
    rebalances_soon: bool,
}

/// What the coordinator does.
#[derive(Debug)]
pub(crate) enum GroupStep {
    Rebalance,
    Join(WorkerRef),
    /// A session timeout after a member's last sign of life, if there was none since.
    TimeOut(WorkerRef),
}

impl Group {
    pub(crate) fn new(ids: &[PartitionId]) -> Self {
        Self {
            members: BTreeSet::new(),
            owners: ids.iter().map(|id| (*id, None)).collect(),
            revoking: BTreeSet::new(),
            turns: ids
                .iter()
                .enumerate()
                .map(|(turn, id)| (*id, turn))
                .collect(),
            generation: 0,
            rebalances_soon: false,
        }
    }

    pub(crate) fn owner(&self, partition: PartitionId) -> Option<Owner> {
        self.owners[&partition]
    }

    /// The newest assignment's.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    fn has(&self, member: WorkerRef) -> bool {
        self.members.contains(&member)
    }

    fn owned_by(&self, member: WorkerRef) -> Vec<PartitionId> {
        let of_member = |owner: &Option<Owner>| owner.is_some_and(|owner| owner.member == member);
        self.owners
            .iter()
            .filter(|(_, owner)| of_member(owner))
            .map(|(id, _)| *id)
            .collect()
    }
}

impl World {
    pub(crate) fn group_step(&mut self, step: GroupStep) {
        match step {
            GroupStep::Rebalance => self.rebalance(),
            GroupStep::Join(member) => self.join(member),
            GroupStep::TimeOut(member) => self.time_out(member),
        }
    }

    fn rebalance_soon(&mut self) {
        if !std::mem::replace(&mut self.kafka.group.rebalances_soon, true) {
            self.after(
                50 * MILLI,
                500 * MILLI,
                Happening::Group(GroupStep::Rebalance),
            );
        }
    }

    fn join(&mut self, member: WorkerRef) {
        if !self.lives(member) || self.workers[member.worker].joined {
            return;
        }
        if self.kafka.is_down(self.now) || !self.is_reachable(member) {
            let again = Happening::Group(GroupStep::Join(member));
            self.after(500 * MILLI, SECOND, again);
            return;
        }
        note!(self, "group         {member} joins");
        // As a new member: what it had is nobody's.
        self.free(member);
        self.kafka.group.members.insert(member);
        self.workers[member.worker].joined = true;
        self.rebalance_soon();
    }

    fn free(&mut self, member: WorkerRef) {
        for partition in self.kafka.group.owned_by(member) {
            self.kafka.group.owners.insert(partition, None);
            self.kafka.group.revoking.remove(&partition);
        }
    }

    fn rebalance(&mut self) {
        self.kafka.group.rebalances_soon = false;
        let members: Vec<WorkerRef> = self.kafka.group.members.iter().copied().collect();
        if members.is_empty() {
            return;
        }
        if self.kafka.is_down(self.now) {
            self.rebalance_soon();
            return;
        }
        for (partition, turn) in self.kafka.group.turns.clone() {
            let target = members[turn % members.len()];
            match self.kafka.group.owner(partition) {
                None => self.assign(partition, target),
                Some(owner) if owner.member == target => {}
                Some(owner) => self.revoke(partition, owner),
            }
        }
    }

    fn assign(&mut self, partition: PartitionId, member: WorkerRef) {
        self.fall_back_perhaps(partition);
        self.kafka.group.generation += 1;
        let generation = self.kafka.group.generation;
        let owner = Owner { member, generation };
        self.kafka.group.owners.insert(partition, Some(owner));
        note!(self, "group         {partition:?} goes to {member}");
        let news = WorkerNews::Assigned(partition, generation);
        self.tell_member(member, news);
    }

    /// One connection keeps the order of what a member is told.
    fn tell_member(&mut self, member: WorkerRef, news: WorkerNews) {
        let takes = self.random.between(MILLI, 20 * MILLI);
        let told_at = &mut self.workers[member.worker].group_tells_at;
        *told_at = (*told_at).max(self.now + takes);
        let at = *told_at;
        self.at(at, Happening::Worker(member, news));
    }

    fn revoke(&mut self, partition: PartitionId, owner: Owner) {
        if self.kafka.group.revoking.insert(partition) {
            self.counts.add("partitions taken back in order");
            let news = WorkerNews::Revoked(partition, owner.generation);
            self.tell_member(owner.member, news);
        }
    }

    /// An owner has done with a partition.
    pub(crate) fn give_up(&mut self, partition: PartitionId, owner: Owner) {
        if self.kafka.group.owner(partition) == Some(owner) {
            self.kafka.group.owners.insert(partition, None);
            self.kafka.group.revoking.remove(&partition);
            self.rebalance_soon();
        }
    }

    /// A member says that it leaves; it gives its partitions up one by one.
    pub(crate) fn leave(&mut self, member: WorkerRef) {
        self.kafka.group.members.remove(&member);
        self.rebalance_soon();
    }

    /// The coordinator hears nothing of a member from now until, at least, the session has timed out.
    pub(crate) fn watch(&mut self, member: WorkerRef) {
        let step = GroupStep::TimeOut(member);
        self.at(self.now + SESSION_TIMEOUT, Happening::Group(step));
    }

    fn time_out(&mut self, member: WorkerRef) {
        if self.is_reachable(member) {
            return;
        }
        if !self.kafka.group.has(member) && self.kafka.group.owned_by(member).is_empty() {
            return;
        }
        self.counts.add("members timed out");
        note!(self, "group         {member} is timed out");
        self.kafka.group.members.remove(&member);
        self.free(member);
        self.rebalance_soon();
        // It finds out a while after it is back.
        self.tell_worker(MILLI, SECOND, member, WorkerNews::TimedOut);
    }

    /// Takes a partition back, to whomever it goes next.
    pub(crate) fn take_back(&mut self, partition: PartitionId) {
        if let Some(owner) = self.kafka.group.owner(partition) {
            self.revoke(partition, owner);
        }
    }

    /// Another member's turn, as when members come and go.
    pub(crate) fn move_partition(&mut self, partition: PartitionId) {
        if let Some(turn) = self.kafka.group.turns.get_mut(&partition) {
            *turn += 1;
        }
        self.rebalance_soon();
    }
}
