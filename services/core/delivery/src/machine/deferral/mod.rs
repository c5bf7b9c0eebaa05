//! Chats that have to wait for long, or have too much waiting, go to Postgres (design §8): "the watermark passes them only
//! after that commit; later ones queue behind; the marker goes only when no row remains. One stuck chat never holds a
//! partition, another chat, or memory."
//!
//! A record is written behind its chat in this room; `holds.rs` and `dead.rs` tell when that happens. It comes back in
//! `loading.rs`, and its row goes in `closing.rs`.

mod closing;
mod dead;
mod holds;
mod loading;
mod state;

use std::sync::Arc;

use super::slot::{Origin, Stage};
use super::{ChatKey, Machine, Timer};
use crate::{Answer, Due, Effect, KeptClaim, Moment, Now, Outcome, PartitionId, SlotId};

pub(super) use state::Deferrals;
use state::Errand;

/// Why a chat is held whose event type says so.
const HELD_ON_DEAD: &str = "a message of it became a dead letter";

impl Machine {
    /// Whether a deferral more of this chat may be known.
    pub(super) fn may_defer(&self, key: &ChatKey) -> bool {
        self.deferrals.contains(key) || self.deferrals.len() < self.options.limits.deferred_chats
    }

    /// A record came for a chat: whether it is deferred, or its backlog outgrows its share now, so that the record goes
    /// behind it to Postgres.
    pub(super) fn goes_behind(
        &mut self,
        id: SlotId,
        key: &ChatKey,
        effects: &mut Vec<Effect>,
    ) -> bool {
        let Some(offset) = self.slots.get(&id).map(|slot| slot.offset) else {
            return false;
        };
        let queued = self.queued(key);
        if !self.deferrals.contains(key) {
            if queued < self.options.limits.records_per_chat || !self.may_defer(key) {
                return false;
            }
            let reason = Arc::from("its backlog outgrew its share of memory");
            self.deferrals.begin(key, Some(self.moment), reason);
        }
        let Some(deferral) = self.deferrals.get_mut(key) else {
            return false;
        };
        deferral.saw(offset);
        if deferral.errand == Errand::Closing {
            return false;
        }
        self.defer(id, key, false, effects);
        true
    }

    fn queued(&self, key: &ChatKey) -> usize {
        self.chats.get(key).map_or(0, |chat| chat.queue.len())
    }

    /// Whether the marker of the chat is being removed: what arrives waits for the answer.
    pub(super) fn is_closing(&self, key: &ChatKey) -> bool {
        let deferral = self.deferrals.get(key);
        deferral.is_some_and(|deferral| deferral.errand == Errand::Closing)
    }

    /// Moves everything of a chat that is in memory to Postgres, until `due`. Its head has given its places up, and no
    /// answer about it is awaited. Returns whether there was room for the deferral.
    pub(super) fn defer_chat(
        &mut self,
        key: &ChatKey,
        due: Option<Moment>,
        reason: &'static str,
        effects: &mut Vec<Effect>,
    ) -> bool {
        if !self.may_defer(key) {
            return false;
        }
        self.set_deferred(key, due, reason);
        let queue = self.take_queue(key, 0);
        for (place, id) in queue.into_iter().enumerate() {
            let is_head = place == 0;
            if is_head || self.is_record(id) {
                self.defer(id, key, is_head, effects);
            } else {
                self.drop_loaded(id, key, effects);
            }
        }
        true
    }

    fn set_deferred(&mut self, key: &ChatKey, due: Option<Moment>, reason: &'static str) {
        let seen = self.newest_record(key);
        let deferral = self.deferrals.begin(key, due, Arc::from(reason));
        deferral.reason = Arc::from(reason);
        deferral.restart();
        if let Some(offset) = seen {
            deferral.saw(offset);
        }
        self.deferrals.set_due(key, due);
    }

    /// The greatest offset among what of a chat came from Kafka and is in memory.
    fn newest_record(&self, key: &ChatKey) -> Option<i64> {
        let chat = self.chats.get(key)?;
        let records = chat.queue.iter().filter(|id| self.is_record(**id));
        let offsets = records.filter_map(|id| self.slots.get(id));
        offsets.map(|slot| slot.offset).max()
    }

    /// Takes a chat's queue from memory but for its first `kept`.
    fn take_queue(&mut self, key: &ChatKey, kept: usize) -> Vec<SlotId> {
        let Some(chat) = self.chats.get_mut(key) else {
            return Vec::new();
        };
        let queue = chat.queue.split_off(kept.min(chat.queue.len()));
        if std::mem::take(&mut chat.over)
            && let Some(partition) = self.partitions.get_mut(&key.0)
        {
            partition.chats_over -= 1;
        }
        if chat.queue.is_empty() {
            self.chats.remove(key);
        }
        queue.into()
    }

    fn is_record(&self, id: SlotId) -> bool {
        let origin = self.slots.get(&id).map(|slot| &slot.origin);
        matches!(origin, Some(Origin::Record { .. }))
    }

    /// A loaded one leaves memory; its row stays.
    fn drop_loaded(&mut self, id: SlotId, key: &ChatKey, effects: &mut Vec<Effect>) {
        if let Some(offset) = self.slots.get(&id).map(|slot| slot.offset)
            && let Some(deferral) = self.deferrals.get_mut(key)
        {
            deferral.loaded.remove(&offset);
        }
        self.drop_slot(id, Outcome::Deferred, effects);
    }

    fn defer(&mut self, id: SlotId, key: &ChatKey, moves_due: bool, effects: &mut Vec<Effect>) {
        self.set_stage(id, Stage::Deferring { moves_due });
        self.begin_write(id, key, moves_due);
        self.ask_defer(id, effects);
    }

    /// Until its row is written nothing behind it is loaded.
    fn begin_write(&mut self, id: SlotId, key: &ChatKey, moves_due: bool) {
        if let Some(offset) = self.slots.get(&id).map(|slot| slot.offset)
            && let Some(deferral) = self.deferrals.get_mut(key)
        {
            deferral.loaded.remove(&offset);
            deferral.deferring.insert(offset);
            if moves_due {
                deferral.moving = Some(offset);
            }
        }
    }

    fn ask_defer(&self, id: SlotId, effects: &mut Vec<Effect>) {
        let (Some(slot), Some(key)) = (self.slots.get(&id), self.chat_key(id)) else {
            return;
        };
        let Some(partition) = self.partitions.get(&key.0) else {
            return;
        };
        let deferral = self.deferrals.get(&key);
        let (moves_due, due, claim, reason) = match (&slot.stage, deferral) {
            (Stage::Deferring { moves_due }, Some(deferral)) => (
                *moves_due,
                deferral.due_from(self.moment),
                self.kept_claim(id),
                Arc::clone(&deferral.reason),
            ),
            // Its claim is needed to settle it.
            (Stage::Holding(_), _) => (true, Due::Held, None, Arc::from(HELD_ON_DEAD)),
            (_, _) => return,
        };
        effects.push(Effect::Defer {
            slot: id,
            partition: key.0,
            epoch: partition.epoch,
            chat: key.1,
            due,
            moves_due,
            claim,
            reason,
        });
    }

    fn kept_claim(&self, id: SlotId) -> Option<KeptClaim> {
        let work = self.slots.work(id)?;
        work.fence.map(|fence| KeptClaim {
            fence,
            attempts: work.attempts,
            first_failed_at_micros: work.first_failed_at_micros,
        })
    }

    pub(super) fn deferred(
        &mut self,
        id: SlotId,
        answer: Answer,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        match self.slots.get(&id).map(|slot| &slot.stage) {
            Some(Stage::Deferring { .. }) => self.written(id, answer, now, effects),
            Some(Stage::Holding(_)) => self.held_on_dead(id, answer, now, effects),
            Some(_) | None => {}
        }
    }

    /// There was nothing to write.
    pub(super) fn had_its_end(&mut self, id: SlotId, now: Now, effects: &mut Vec<Effect>) {
        match self.slots.get(&id).map(|slot| &slot.stage) {
            Some(Stage::Deferring { .. }) => self.written(id, Answer::Done, now, effects),
            Some(Stage::Holding(_)) => self.nothing_to_hold(id, effects),
            Some(_) | None => {}
        }
    }

    fn written(&mut self, id: SlotId, answer: Answer, now: Now, effects: &mut Vec<Effect>) {
        match answer {
            Answer::Done => {
                let key = self.write_ended(id);
                self.finish(id, Outcome::Deferred, effects);
                if let Some(key) = key {
                    self.go_on(&key, effects);
                }
            }
            Answer::Fenced => {
                self.fenced_at(id, effects);
                self.hand_over(id, effects);
            }
            Answer::Failed if self.leaving(id) => self.hand_over(id, effects),
            Answer::Failed => {
                let at = self.storage_retry_at(now);
                self.wake_at(at, Timer::Slot(id));
            }
        }
    }

    fn write_ended(&mut self, id: SlotId) -> Option<ChatKey> {
        let offset = self.slots.get(&id)?.offset;
        let key = self.chat_key(id)?;
        let deferral = self.deferrals.get_mut(&key)?;
        deferral.deferring.remove(&offset);
        deferral.moving = deferral.moving.filter(|moving| *moving != offset);
        deferral.wrote();
        Some(key)
    }

    /// A write of a stale epoch: this worker is a zombie on the record's partition. One whose assignment is over already
    /// says nothing about a later one.
    fn fenced_at(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        let partition = self.slots.get(&id).map(|slot| slot.partition);
        if let Some(partition) = partition.filter(|_| !self.gone(id)) {
            self.fenced_partition(partition, effects);
        }
    }

    fn fenced_partition(&mut self, id: PartitionId, effects: &mut Vec<Effect>) {
        if self.partitions.contains_key(&id) {
            self.lost(id, effects);
            effects.push(Effect::FencedPartition(id));
        }
    }

    /// It is time to ask again for what had no answer.
    pub(super) fn defer_again(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        if self.leaving(id) {
            self.hand_over(id, effects);
        } else {
            self.ask_defer(id, effects);
        }
    }
}
