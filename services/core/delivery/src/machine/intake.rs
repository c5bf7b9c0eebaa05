//! Records come in: the watermark takes them, chats queue them, bounds pause their partitions.

use std::sync::Arc;

use super::slot::{Origin, Permit, Slot, Stage, Work};
use super::{ChatKey, Machine, Partition};
use crate::{
    Arrival, Category, Content, DeadLetterFacts, DeferredChat, Delivery, Effect, Moment, Now,
    Outcome, PartitionId, Poison, SlotId,
};

impl Machine {
    pub(super) fn assigned(
        &mut self,
        partition: PartitionId,
        epoch: i64,
        deferred: &[DeferredChat],
        effects: &mut Vec<Effect>,
    ) {
        self.lost(partition, effects);
        self.partitions.insert(
            partition,
            Partition {
                epoch,
                draining: false,
                paused: false,
                chats_over: 0,
                watermark: crate::watermark::Watermark::default(),
                slots: std::collections::BTreeSet::new(),
                begins: None,
            },
        );
        self.take_deferrals_over(partition, deferred, effects);
    }

    pub(super) fn arrived(&mut self, arrival: Arrival, now: Now, effects: &mut Vec<Effect>) {
        let Some(position) = self.take_in(&arrival) else {
            effects.push(Effect::Finish {
                slot: arrival.slot,
                outcome: Outcome::Handed,
                attempts: 0,
            });
            return;
        };
        self.bytes += arrival.bytes;
        self.slots.insert(
            arrival.slot,
            Slot {
                partition: arrival.partition,
                offset: arrival.offset,
                origin: Origin::Record { position },
                bytes: arrival.bytes,
                wakes_at: None,
                stage: Stage::Unresolved,
                work: None,
            },
        );
        self.place(arrival.slot, arrival.content, now, effects);
        self.pause_where_full(arrival.partition, effects);
    }

    /// `None` when the partition is not ours (any more), or the offset came before.
    fn take_in(&mut self, arrival: &Arrival) -> Option<u64> {
        let partition = self.partitions.get_mut(&arrival.partition)?;
        if partition.draining {
            return None;
        }
        let position = partition.watermark.arrive(arrival.offset)?;
        partition.slots.insert(arrival.slot);
        Some(position)
    }

    pub(super) fn resolved(
        &mut self,
        id: SlotId,
        content: Content,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        let Some(slot) = self.slots.get(&id) else {
            return;
        };
        if slot.stage != Stage::Unresolved || slot.work.is_some() {
            return;
        }
        match slot.origin {
            Origin::Record { .. } => self.place(id, content, now, effects),
            Origin::Deferred { .. } => self.place_loaded(id, content, now, effects),
            Origin::Gone => {}
        }
    }

    fn place(&mut self, id: SlotId, content: Content, now: Now, effects: &mut Vec<Effect>) {
        match content {
            Content::Waiting => {}
            Content::Poison(poison) => self.isolate(id, poison, now, effects),
            Content::Message(delivery) => self.enqueue(id, delivery, now, effects),
        }
    }

    /// Poison has no chat and keeps none waiting (B13).
    pub(super) fn isolate(
        &mut self,
        id: SlotId,
        poison: Poison,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        self.dead_letter(
            id,
            DeadLetterFacts {
                category: Category::Poison,
                reason: poison.reason,
                attempts: 0,
                first_failed_at_micros: now.wall_micros,
                last_failed_at_micros: now.wall_micros,
            },
            effects,
        );
    }

    /// A message is known from now on.
    pub(super) fn set_work(&mut self, id: SlotId, delivery: Delivery, now: Now) {
        let account = self.accounts.id(&delivery.account);
        let Some(slot) = self.slots.get_mut(&id) else {
            return;
        };
        slot.stage = Stage::Queued;
        slot.work = Some(Work {
            chat: delivery.chat,
            account,
            thread: delivery.thread,
            event_type: delivery.event_type,
            class: delivery.class,
            permit: Permit::None,
            chat_waits: false,
            armed_until: Moment::default(),
            expiry: None,
            wishes: 0,
            expires_at_micros: delivery.expires_at_micros,
            on_unknown: delivery.on_unknown,
            retry: delivery.retry,
            hold_on_dead: delivery.hold_on_dead,
            fence: None,
            lease_until: Moment::default(),
            attempts: 0,
            ticket: None,
            calls: 0,
            first_failed_at_micros: None,
            last_failed_at_micros: None,
            not_before: Moment::default(),
            refusals: 0,
            migrations: 0,
            target: None,
            dead: None,
        });
        self.watch_expiry(id, now);
    }

    fn enqueue(&mut self, id: SlotId, delivery: Delivery, now: Now, effects: &mut Vec<Effect>) {
        self.set_work(id, delivery, now);
        let Some(key) = self.chat_key(id) else {
            return;
        };
        if self.goes_behind(id, &key, effects) {
            return;
        }
        let over = !self.may_defer(&key);
        let chat = self.chats.entry(key.clone()).or_default();
        chat.queue.push_back(id);
        let is_head = chat.queue.len() == 1;
        let over = over && chat.queue.len() >= self.options.limits.records_per_chat;
        if over
            && !std::mem::replace(&mut chat.over, true)
            && let Some(partition) = self.partitions.get_mut(&key.0)
        {
            partition.chats_over += 1;
        }
        if is_head && !self.is_closing(&key) {
            self.queue_for_admission(id, effects);
        }
    }

    /// The head of a chat has its outcome: the next one moves.
    pub(super) fn advance_chat(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        let Some(key) = self.chat_key(id) else {
            return;
        };
        let share = self.options.limits.records_per_chat;
        let Some(chat) = self.chats.get_mut(&key) else {
            return;
        };
        if chat.head() != Some(id) {
            return;
        }
        chat.queue.pop_front();
        if chat.over && chat.queue.len() <= share / 2 {
            chat.over = false;
            if let Some(partition) = self.partitions.get_mut(&key.0) {
                partition.chats_over -= 1;
            }
        }
        match chat.head() {
            Some(next) => self.queue_for_admission(next, effects),
            None => {
                self.chats.remove(&key);
            }
        }
        self.go_on(&key, effects);
    }

    pub(super) fn chat_key(&self, id: SlotId) -> Option<ChatKey> {
        let slot = self.slots.get(&id)?;
        let chat = match (&slot.origin, slot.work.as_ref()) {
            (Origin::Deferred { chat }, _) => chat,
            (Origin::Record { .. } | Origin::Gone, Some(work)) => &work.chat,
            (Origin::Record { .. } | Origin::Gone, None) => return None,
        };
        Some((slot.partition, Arc::clone(chat)))
    }

    fn full(&self) -> bool {
        let records = self.slots.len() + self.deferrals.reserved();
        records >= self.options.limits.records || self.bytes >= self.options.limits.bytes
    }

    pub(super) fn pause_where_full(&mut self, arrived_on: PartitionId, effects: &mut Vec<Effect>) {
        if self.full() {
            for (id, partition) in &mut self.partitions {
                self.paused += pause(*id, partition, effects);
            }
            self.make_room(effects);
        } else if let Some(partition) = self.partitions.get_mut(&arrived_on)
            && partition.chats_over > 0
        {
            self.paused += pause(arrived_on, partition, effects);
        }
    }

    /// What left made room: first for what comes, then for what was deferred.
    pub(super) fn use_room(&mut self, effects: &mut Vec<Effect>) {
        self.resume_where_room(effects);
        self.load_where_room(effects);
    }

    /// Resumes at three quarters of the bounds, so that a full worker does not pause and resume at each record.
    fn resume_where_room(&mut self, effects: &mut Vec<Effect>) {
        let limits = self.options.limits;
        if self.paused == 0 {
            return;
        }
        let records = self.slots.len() + self.deferrals.reserved();
        if records > limits.records / 4 * 3 || self.bytes > limits.bytes / 4 * 3 {
            return;
        }
        for (id, partition) in &mut self.partitions {
            if partition.paused && partition.chats_over == 0 && !partition.draining {
                partition.paused = false;
                self.paused -= 1;
                effects.push(Effect::Resume(*id));
            }
        }
    }
}

/// Returns how many partitions it paused: one, or none when it was paused before.
fn pause(id: PartitionId, partition: &mut Partition, effects: &mut Vec<Effect>) -> usize {
    if partition.paused {
        return 0;
    }
    partition.paused = true;
    effects.push(Effect::Pause(id));
    1
}
