//! What is deferred goes: each row once its message has its end, and the marker after the last of them.

use std::sync::Arc;
use std::time::Duration;

use super::state::Errand;
use crate::machine::slot::{Origin, Stage};
use crate::machine::{ChatKey, Machine, Timer};
use crate::{Answer, CloseAnswer, Effect, Moment, Now, Outcome, SlotId};

/// How soon rows that a close found, and a load did not bring, are looked for again. They are to be fetched from Kafka
/// again, or somebody else wrote them.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Machine {
    /// The end of a record: its row goes first, if it has one here.
    pub(in crate::machine) fn end(
        &mut self,
        id: SlotId,
        outcome: Outcome,
        effects: &mut Vec<Effect>,
    ) {
        let origin = self.slots.get(&id).map(|slot| &slot.origin);
        if matches!(origin, Some(Origin::Deferred { .. })) {
            self.set_stage(id, Stage::Undeferring(outcome));
            self.ask_undefer(id, effects);
        } else {
            self.finish(id, outcome, effects);
        }
    }

    fn ask_undefer(&self, id: SlotId, effects: &mut Vec<Effect>) {
        let Some(slot) = self.slots.get(&id) else {
            return;
        };
        if let Some(partition) = self.partitions.get(&slot.partition) {
            effects.push(Effect::Undefer {
                slot: id,
                partition: slot.partition,
                epoch: partition.epoch,
                offset: slot.offset,
            });
        }
    }

    pub(in crate::machine) fn undeferred(
        &mut self,
        id: SlotId,
        answer: Answer,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        let Some(Stage::Undeferring(outcome)) = self.slots.get(&id).map(|slot| &slot.stage) else {
            return;
        };
        let outcome = *outcome;
        match answer {
            Answer::Done => self.row_is_gone(id, outcome, effects),
            Answer::Fenced => {
                self.fenced_at(id, effects);
                self.finish(id, outcome, effects);
            }
            // Whoever loads it finds that it has its end.
            Answer::Failed if self.leaving(id) => self.finish(id, outcome, effects),
            Answer::Failed => {
                let at = self.storage_retry_at(now);
                self.wake_at(at, Timer::Slot(id));
            }
        }
    }

    fn row_is_gone(&mut self, id: SlotId, outcome: Outcome, effects: &mut Vec<Effect>) {
        let key = self.chat_key(id);
        let offset = self.slots.get(&id).map(|slot| slot.offset);
        self.finish(id, outcome, effects);
        let (Some(key), Some(offset)) = (key, offset) else {
            return;
        };
        if let Some(deferral) = self.deferrals.get_mut(&key) {
            deferral.loaded.remove(&offset);
        }
        self.go_on(&key, effects);
    }

    pub(in crate::machine) fn undefer_again(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        match self.slots.get(&id).map(|slot| &slot.stage) {
            Some(Stage::Undeferring(outcome)) if self.leaving(id) => {
                let outcome = *outcome;
                self.finish(id, outcome, effects);
            }
            Some(_) | None => self.ask_undefer(id, effects),
        }
    }

    pub(super) fn close(&mut self, key: &ChatKey, effects: &mut Vec<Effect>) {
        let (Some(partition), Some(deferral)) =
            (self.partitions.get(&key.0), self.deferrals.get_mut(key))
        else {
            return;
        };
        deferral.errand = Errand::Closing;
        effects.push(Effect::CloseDeferral {
            partition: key.0,
            epoch: partition.epoch,
            chat: Arc::clone(&key.1),
        });
    }

    pub(in crate::machine) fn closed(
        &mut self,
        key: &ChatKey,
        epoch: i64,
        answer: CloseAnswer,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        if !self.is_ours(key.0, epoch) || !self.is_closing(key) {
            return;
        }
        match answer {
            CloseAnswer::Gone => {
                self.deferrals.remove(key);
                self.admit_head(key, effects);
            }
            CloseAnswer::RowsRemain => {
                self.stay_deferred(key, true, now.moment.after(LOOK_AGAIN), effects);
            }
            CloseAnswer::Failed => {
                let at = self.storage_retry_at(now);
                self.stay_deferred(key, false, at, effects);
            }
            CloseAnswer::StaleEpoch => self.fenced_partition(key.0, effects),
        }
    }

    /// What came while the marker was being removed goes behind after all.
    fn stay_deferred(&mut self, key: &ChatKey, more: bool, at: Moment, effects: &mut Vec<Effect>) {
        if let Some(deferral) = self.deferrals.get_mut(key) {
            deferral.errand = Errand::None;
            deferral.more = more;
        }
        self.deferrals.wait_until(key, at);
        for id in self.take_queue(key, 0) {
            self.defer(id, key, false, effects);
        }
    }
}
