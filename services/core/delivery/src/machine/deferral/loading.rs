//! What is deferred comes back: loaded by offset in batches while its chat's queue has room.

use std::sync::Arc;

use super::state::Errand;
use crate::machine::slot::{Origin, Slot, Stage};
use crate::machine::{ChatKey, Machine};
use crate::{Arrival, Content, Effect, Now, Outcome, PartitionId, SlotId};

impl Machine {
    /// The next step of a deferred chat: rows are loaded, or the marker goes.
    pub(in crate::machine) fn go_on(&mut self, key: &ChatKey, effects: &mut Vec<Effect>) {
        let queued = self.queued(key);
        let share = self.options.limits.records_per_chat;
        let Some(deferral) = self.deferrals.get_mut(key) else {
            return;
        };
        if !deferral.may_go_on(self.moment) {
            return;
        }
        if deferral.more {
            if queued <= share / 2 {
                self.deferrals.want_load(key);
                self.load_where_room(effects);
            }
            return;
        }
        let nothing_is_left = queued == 0 && deferral.loaded.is_empty();
        if nothing_is_left && deferral.deferring.is_empty() {
            self.close(key, effects);
        }
    }

    pub(in crate::machine) fn deferrals_are_due(&mut self, effects: &mut Vec<Effect>) {
        while let Some(key) = self.deferrals.pop_timer(self.moment) {
            self.go_on(&key, effects);
        }
    }

    /// Asks for rows while there is room, for the chat first that has waited longest.
    pub(in crate::machine) fn load_where_room(&mut self, effects: &mut Vec<Effect>) {
        while !self.deferrals.nobody_wants() && self.deferrals.loads() < self.options.limits.loads {
            let rows = self.room_for_rows();
            if rows == 0 {
                return;
            }
            let Some(key) = self.deferrals.pop_wanting() else {
                return;
            };
            self.load_rows(&key, rows, effects);
        }
    }

    /// Rows are asked for at three quarters of the bounds, where partitions resume, never beyond the bound, and never to
    /// more than half of it: what comes has the other half, however much is deferred.
    fn room_for_rows(&self) -> usize {
        let limits = self.options.limits;
        let reserved = self.deferrals.reserved();
        let held = self.slots.len() + reserved;
        if held > limits.records * 3 / 4 || self.bytes > limits.bytes / 4 * 3 {
            return 0;
        }
        let share = (limits.records / 2).max(1);
        let room = limits.records.saturating_sub(held);
        room.min(share.saturating_sub(self.rows + reserved))
    }

    fn load_rows(&mut self, key: &ChatKey, room: usize, effects: &mut Vec<Effect>) {
        let queued = self.queued(key);
        let limits = self.options.limits;
        let (Some(partition), Some(deferral)) =
            (self.partitions.get(&key.0), self.deferrals.get(key))
        else {
            return;
        };
        if !deferral.may_go_on(self.moment) || !deferral.more {
            return;
        }
        let after = deferral.loaded.last().copied();
        let limit = limits.records_per_chat.saturating_sub(queued).max(1);
        let limit = limit.min(limits.load_batch.max(1)).min(room);
        // Beyond what is committed and what came again there may be gaps that Kafka has still to fill.
        let whole_below = partition.begins.max(deferral.seen.map(|seen| seen + 1));
        let writing = deferral.deferring.first().copied();
        let Some(below) = whole_below.map(|whole| writing.map_or(whole, |at| at.min(whole))) else {
            return;
        };
        if after.is_some_and(|after| after + 1 >= below) {
            return;
        }
        let epoch = partition.epoch;
        self.deferrals.load_begins(key, epoch, limit);
        effects.push(Effect::Load {
            partition: key.0,
            epoch,
            chat: Arc::clone(&key.1),
            after,
            below,
            limit,
        });
    }

    pub(in crate::machine) fn loaded(
        &mut self,
        key: &ChatKey,
        epoch: i64,
        records: Vec<Arrival>,
        more: bool,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        self.deferrals.load_ended(key, epoch);
        if self.continues(key, epoch, more) {
            for record in records {
                self.take_loaded(key, record, now, effects);
            }
            // Only now: a head that has to wait again takes all of them with it.
            self.admit_head(key, effects);
            self.pause_where_full(key.0, effects);
        } else {
            for record in records {
                refuse(&record, effects);
            }
        }
        if self.is_ours(key.0, epoch) {
            self.go_on(key, effects);
        }
        self.use_room(effects);
    }

    pub(super) fn is_ours(&self, id: PartitionId, epoch: i64) -> bool {
        let partition = self.partitions.get(&id);
        partition.is_some_and(|partition| partition.epoch == epoch && !partition.draining)
    }

    /// Whether the rows that came are the next ones of what is in memory.
    fn continues(&mut self, key: &ChatKey, epoch: i64, more: bool) -> bool {
        let ours = self.is_ours(key.0, epoch);
        let Some(deferral) = self.deferrals.get_mut(key).filter(|_| ours) else {
            return false;
        };
        let Errand::Loading { stale, written } = deferral.errand else {
            return false;
        };
        deferral.errand = Errand::None;
        let continues = !stale && deferral.is_due(self.moment);
        deferral.more = more || written || !continues;
        continues
    }

    fn take_loaded(&mut self, key: &ChatKey, record: Arrival, now: Now, effects: &mut Vec<Effect>) {
        let deferral = self.deferrals.get_mut(key);
        let follows = deferral.is_some_and(|deferral| {
            let follows = deferral
                .loaded
                .last()
                .is_none_or(|last| *last < record.offset);
            follows && deferral.loaded.insert(record.offset)
        });
        let Some(partition) = self.partitions.get_mut(&key.0).filter(|_| follows) else {
            refuse(&record, effects);
            return;
        };
        partition.slots.insert(record.slot);
        self.bytes += record.bytes;
        self.rows += 1;
        let slot = Slot {
            partition: key.0,
            offset: record.offset,
            origin: Origin::Deferred {
                chat: Arc::clone(&key.1),
            },
            bytes: record.bytes,
            wakes_at: None,
            stage: Stage::Unresolved,
            work: None,
        };
        self.slots.insert(record.slot, slot);
        let chat = self.chats.entry(key.clone()).or_default();
        chat.queue.push_back(record.slot);
        self.fill_loaded(record.slot, key, record.content, now, effects);
    }

    /// The content of a loaded record that waited for its schema.
    pub(in crate::machine) fn place_loaded(
        &mut self,
        id: SlotId,
        content: Content,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(key) = self.chat_key(id) {
            self.fill_loaded(id, &key, content, now, effects);
            self.admit_head(&key, effects);
        }
    }

    /// A loaded record has its place in its chat's queue, unless it turns out to be poison.
    fn fill_loaded(
        &mut self,
        id: SlotId,
        key: &ChatKey,
        content: Content,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        match content {
            Content::Waiting => {}
            Content::Poison(poison) => {
                self.leave_queue(id, key);
                self.isolate(id, poison, now, effects);
            }
            Content::Message(mut delivery) => {
                delivery.chat = Arc::clone(&key.1);
                self.set_work(id, delivery, now);
            }
        }
    }

    fn leave_queue(&mut self, id: SlotId, key: &ChatKey) {
        let Some(chat) = self.chats.get_mut(key) else {
            return;
        };
        chat.queue.retain(|queued| *queued != id);
        if chat.queue.is_empty() {
            self.chats.remove(key);
        }
    }

    /// The head of a chat moves, if nothing has moved it yet.
    pub(super) fn admit_head(&mut self, key: &ChatKey, effects: &mut Vec<Effect>) {
        if let Some(head) = self.chats.get(key).and_then(|chat| chat.head())
            && self.stage_is(head, &Stage::Queued)
        {
            self.queue_for_admission(head, effects);
        }
    }

    pub(in crate::machine) fn not_loaded(
        &mut self,
        key: &ChatKey,
        epoch: i64,
        stale: bool,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        self.deferrals.load_ended(key, epoch);
        let ours = self.is_ours(key.0, epoch);
        if ours && stale {
            self.fenced_partition(key.0, effects);
        } else if ours {
            self.continues(key, epoch, true);
            let at = self.storage_retry_at(now);
            self.deferrals.wait_until(key, at);
        }
        self.use_room(effects);
    }
}

/// It came too late, or where it is not expected; its row stays.
fn refuse(record: &Arrival, effects: &mut Vec<Effect>) {
    effects.push(Effect::Finish {
        slot: record.slot,
        outcome: Outcome::Deferred,
        attempts: 0,
    });
}
