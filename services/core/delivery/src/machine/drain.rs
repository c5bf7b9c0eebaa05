//! A partition leaves: nothing new starts, what is on its way gets its end here or goes to the next owner.

use super::slot::{Origin, Slot, Stage};
use super::{Machine, Partition};
use crate::account::AccountId;
use crate::{Effect, Outcome, PartitionId, SlotId};

impl Machine {
    pub(super) fn revoked(&mut self, id: PartitionId, effects: &mut Vec<Effect>) {
        let Some(partition) = self.partitions.get_mut(&id) else {
            effects.push(Effect::Drained(id));
            return;
        };
        partition.draining = true;
        self.let_go(id, effects);
        self.drained(id, effects);
        self.admit_everywhere(effects);
    }

    pub(super) fn lost(&mut self, id: PartitionId, effects: &mut Vec<Effect>) {
        if !self.partitions.contains_key(&id) {
            return;
        }
        self.let_go(id, effects);
        if let Some(partition) = self.remove_partition(id) {
            for slot in partition.slots {
                if let Some(slot) = self.slots.get_mut(&slot) {
                    let was = std::mem::replace(&mut slot.origin, Origin::Gone);
                    self.rows -= usize::from(was.is_row());
                }
            }
        }
        self.admit_everywhere(effects);
    }

    fn remove_partition(&mut self, id: PartitionId) -> Option<Partition> {
        let partition = self.partitions.remove(&id)?;
        self.paused -= usize::from(partition.paused);
        Some(partition)
    }

    /// What left gave places back.
    fn admit_everywhere(&mut self, effects: &mut Vec<Effect>) {
        for index in 0..self.accounts.len() {
            self.admit(AccountId(index), effects);
        }
    }

    /// Another worker's epoch is newer: this worker is a zombie on the partition and stops there at once.
    pub(super) fn zombie(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        let Some(partition) = self.slots.get(&id).map(|slot| slot.partition) else {
            return;
        };
        self.lost(partition, effects);
        effects.push(Effect::FencedPartition(partition));
        self.let_claiming_go(id, effects);
    }

    /// The slot whose claim told that we are a zombie has no answer to wait for.
    fn let_claiming_go(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        self.step_back(id, effects);
        self.drop_slot(id, Outcome::Fenced, effects);
    }

    /// Drops what waits, keeps what has an answer to come.
    fn let_go(&mut self, id: PartitionId, effects: &mut Vec<Effect>) {
        self.chats.retain(|(partition, _), _| *partition != id);
        self.deferrals.forget(id);
        let Some(partition) = self.partitions.get_mut(&id) else {
            return;
        };
        partition.chats_over = 0;
        let slots: Vec<SlotId> = partition.slots.iter().copied().collect();
        for slot in slots {
            self.let_slot_go(slot, effects);
        }
    }

    fn let_slot_go(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        let Some(slot) = self.slots.get(&id) else {
            return;
        };
        match slot.stage {
            Stage::Unresolved | Stage::Queued | Stage::Admission | Stage::Held => {
                self.hand_over(id, effects);
            }
            Stage::Permit | Stage::Ready => {
                self.leave_place(id, effects);
                self.hand_over(id, effects);
            }
            Stage::Claiming
            | Stage::Starting
            | Stage::Armed
            | Stage::Calling
            | Stage::Settling { .. }
            | Stage::DeadLettering(_)
            | Stage::Holding(_)
            | Stage::Deferring { .. }
            | Stage::Undeferring(_) => {}
        }
    }

    /// Leaves a record to the partition's next owner: its claim is given back, its offset stays uncommitted.
    pub(super) fn hand_over(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        let work = self.slots.work(id);
        if let Some(work) = work
            && let Some(fence) = work.fence
        {
            effects.push(Effect::Release {
                slot: id,
                fence,
                attempts: work.attempts,
                first_failed_at_micros: work.first_failed_at_micros,
            });
        }
        self.drop_slot(id, Outcome::Handed, effects);
    }

    /// Whether a record's partition is being given up, or is gone.
    pub(super) fn leaving(&self, id: SlotId) -> bool {
        let Some(slot) = self.slots.get(&id) else {
            return true;
        };
        self.gone(id)
            || self
                .partitions
                .get(&slot.partition)
                .is_none_or(|partition| partition.draining)
    }

    /// Whether the assignment under which a record came is over.
    pub(super) fn gone(&self, id: SlotId) -> bool {
        self.slots
            .get(&id)
            .is_none_or(|slot| slot.origin == Origin::Gone)
    }

    pub(super) fn drop_slot(&mut self, id: SlotId, outcome: Outcome, effects: &mut Vec<Effect>) {
        self.forget_timers(id);
        self.forget_held_back(id);
        let Some(slot) = self.slots.remove(&id) else {
            return;
        };
        let Slot {
            partition,
            origin,
            bytes,
            work,
            ..
        } = slot;
        self.bytes -= bytes;
        self.rows -= usize::from(origin.is_row());
        if origin != Origin::Gone
            && let Some(owner) = self.partitions.get_mut(&partition)
        {
            owner.slots.remove(&id);
        }
        effects.push(Effect::Finish {
            slot: id,
            outcome,
            attempts: work.map_or(0, |work| work.attempts),
        });
        self.drained(partition, effects);
        self.use_room(effects);
    }

    fn drained(&mut self, id: PartitionId, effects: &mut Vec<Effect>) {
        let done = self
            .partitions
            .get(&id)
            .is_some_and(|partition| partition.draining && partition.slots.is_empty());
        if done {
            self.remove_partition(id);
            effects.push(Effect::Drained(id));
        }
    }
}
