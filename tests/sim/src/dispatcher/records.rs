//! Records are fetched, decoded (or wait for their schema, with all of their key behind them) and handed over.

use std::sync::Arc;

use tidings_delivery::{
    Arrival, Class, Content, Delivery, Event, OnUnknown, PartitionId, Poison, SlotId,
};

use super::{Held, Phase, WorkerNews, WorkerRef};
use crate::kafka::Record;
use crate::times::{MILLI, SECOND};
use crate::world::World;

impl World {
    pub(crate) fn fetch_soon(&mut self, to: WorkerRef) {
        if !self.lives(to) {
            return;
        }
        let worker = &mut self.workers[to.worker];
        if !std::mem::replace(&mut worker.fetches_soon, true) {
            self.tell_worker(100, 5 * MILLI, to, WorkerNews::Fetch);
        }
    }

    /// One record of each partition that is not paused. A drain blocks the thread that fetches.
    pub(super) fn fetch(&mut self, to: WorkerRef) {
        let worker = &mut self.workers[to.worker];
        worker.fetches_soon = false;
        let cut = worker.cut_from_kafka_until > self.now || self.kafka.is_down(self.now);
        if cut {
            worker.fetches_soon = true;
            self.tell_worker(100 * MILLI, SECOND, to, WorkerNews::Fetch);
            return;
        }
        let drains = |phase| phase == Phase::Draining;
        if worker.assignments.values().any(|a| drains(a.phase)) {
            return;
        }
        let ids: Vec<PartitionId> = worker.assignments.keys().copied().collect();
        let mut any = false;
        for id in ids {
            any |= self.fetch_next(to, id);
        }
        if any {
            self.fetch_soon(to);
        }
    }

    fn fetch_next(&mut self, to: WorkerRef, id: PartitionId) -> bool {
        let Some(assignment) = self.workers[to.worker].assignments.get_mut(&id) else {
            return false;
        };
        let offset = assignment.next_offset;
        let ready = assignment.phase == Phase::Owned && !assignment.paused;
        let Some(record) = self.kafka.logs[&id].get(offset).copied().filter(|_| ready) else {
            return false;
        };
        assignment.next_offset += 1;
        let held = Held {
            partition: id,
            generation: assignment.generation,
            offset,
            record,
            attempt: None,
        };
        self.deliver(to, held);
        true
    }

    fn deliver(&mut self, to: WorkerRef, held: Held) {
        self.last_slot += 1;
        let slot = SlotId(self.last_slot);
        self.workers[to.worker].slots.insert(slot, held);
        let content = if self.waits_for_schema(to, slot, held) {
            Content::Waiting
        } else {
            self.content(held.record)
        };
        let arrival = Arrival {
            slot,
            partition: held.partition,
            offset: held.offset as i64,
            bytes: 100,
            content,
        };
        self.tell(to, Event::Arrived(arrival));
    }

    /// Loaded rows get slots of their own.
    pub(super) fn rows_arrive(
        &mut self,
        to: WorkerRef,
        partition: PartitionId,
        rows: &[(usize, usize)],
    ) -> Vec<Arrival> {
        let assignments = &self.workers[to.worker].assignments;
        let generation = assignments.get(&partition).map_or(0, |a| a.generation);
        let mut records = Vec::new();
        for (offset, message) in rows {
            self.last_slot += 1;
            let slot = SlotId(self.last_slot);
            let held = Held {
                partition,
                generation,
                offset: *offset,
                record: Record::Message(*message),
                attempt: None,
            };
            self.workers[to.worker].slots.insert(slot, held);
            let content = if self.waits_for_schema(to, slot, held) {
                Content::Waiting
            } else {
                self.content(held.record)
            };
            records.push(Arrival {
                slot,
                partition,
                offset: *offset as i64,
                bytes: 100,
                content,
            });
        }
        records
    }

    /// A record that can be read still waits behind one of its key that can not be yet.
    fn waits_for_schema(&mut self, to: WorkerRef, slot: SlotId, held: Held) -> bool {
        let Record::Message(message) = held.record else {
            return false;
        };
        let chat = self.ledger.messages[message].chat;
        let key = (held.partition, chat);
        let waits = self.workers[to.worker].unresolved.contains_key(&key);
        let unknown = self.faults() && self.random.chance(20);
        if !waits && !unknown {
            return false;
        }
        let worker = &mut self.workers[to.worker];
        worker.unresolved.entry(key).or_default().push_back(slot);
        if !waits {
            self.counts.add("records that waited for a schema");
            let news = WorkerNews::SchemaKnown(held.partition, chat);
            self.tell_worker(MILLI, 2 * SECOND, to, news);
        }
        true
    }

    pub(super) fn schema_known(&mut self, to: WorkerRef, partition: PartitionId, chat: usize) {
        let key = (partition, chat);
        let waiting = self.workers[to.worker].unresolved.remove(&key);
        for slot in waiting.unwrap_or_default() {
            // One that left meanwhile is not held any more.
            let held = self.workers[to.worker].slots.get(&slot).copied();
            if let Some(held) = held {
                let content = self.content(held.record);
                self.tell(to, Event::Resolved { slot, content });
            }
        }
    }

    fn content(&self, record: Record) -> Content {
        let Record::Message(message) = record else {
            return Content::Poison(Poison {
                reason: "nobody can read it".into(),
            });
        };
        let message = &self.ledger.messages[message];
        let account = format!("sim:a{}", message.account());
        Content::Message(Delivery {
            chat: message.chat_key(),
            account: Arc::from(account),
            thread: None,
            event_type: Arc::from("order.shipped"),
            expires_at_micros: message.expires_at_micros,
            class: Class::ALL[message.chat % Class::ALL.len()],
            on_unknown: if message.park {
                OnUnknown::Park
            } else {
                OnUnknown::Resend
            },
            retry: message.retry,
            hold_on_dead: message.chat.is_multiple_of(3),
        })
    }
}
