//! A dead letter holds the rest of its chat, where its event type says so.

use std::sync::Arc;

use super::HELD_ON_DEAD;
use crate::machine::slot::{Origin, Stage};
use crate::machine::{Machine, Timer};
use crate::{Answer, DeadLetterFacts, Effect, Now, SlotId};

impl Machine {
    /// Its bytes are a dead letter, and its event type holds the chat then: the hold is written before the message
    /// settles, so that no crash lets the chat go on.
    pub(in crate::machine) fn hold_on_dead(
        &mut self,
        id: SlotId,
        facts: DeadLetterFacts,
        effects: &mut Vec<Effect>,
    ) {
        self.set_stage(id, Stage::Holding(facts));
        if let Some(key) = self.chat_key(id) {
            self.begin_write(id, &key, true);
        }
        self.ask_defer(id, effects);
    }

    /// The hold is written: what is behind the dead letter follows it.
    fn hold_the_rest(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        let (Some(key), false) = (self.chat_key(id), self.leaving(id)) else {
            return;
        };
        let offset = self.slots.get(&id).map(|slot| slot.offset);
        self.set_deferred(&key, None, HELD_ON_DEAD);
        if let (Some(deferral), Some(offset)) = (self.deferrals.get_mut(&key), offset) {
            deferral.saw(offset);
        }
        for rest in self.take_queue(&key, 1) {
            if self.is_record(rest) {
                self.defer(rest, &key, false, effects);
            } else {
                self.drop_loaded(rest, &key, effects);
            }
        }
    }

    pub(super) fn held_on_dead(
        &mut self,
        id: SlotId,
        answer: Answer,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        match answer {
            Answer::Done => {
                self.hold_the_rest(id, effects);
                self.became_row(id, effects);
                self.settle_dead_letter(id, effects);
            }
            Answer::Fenced => {
                self.fenced_at(id, effects);
                self.settle_dead_letter(id, effects);
            }
            Answer::Failed if self.gone(id) => self.settle_dead_letter(id, effects),
            Answer::Failed => {
                let at = self.storage_retry_at(now);
                self.wake_at(at, Timer::Slot(id));
            }
        }
    }

    /// The message has its end from elsewhere: its chat goes on.
    pub(super) fn nothing_to_hold(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        self.write_ended(id);
        self.settle_dead_letter(id, effects);
    }

    /// What was a record is a row now: the watermark passes it, and its row goes with its end.
    fn became_row(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        self.pass_watermark(id, effects);
        let (Some(key), false) = (self.chat_key(id), self.gone(id)) else {
            return;
        };
        let Some(slot) = self.slots.get_mut(&id) else {
            return;
        };
        let row = Origin::Deferred {
            chat: Arc::clone(&key.1),
        };
        let was = std::mem::replace(&mut slot.origin, row);
        self.rows += usize::from(!was.is_row());
        let offset = slot.offset;
        self.write_ended(id);
        if let Some(deferral) = self.deferrals.get_mut(&key) {
            deferral.loaded.insert(offset);
        }
    }

    pub(in crate::machine) fn hold_again(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        if self.gone(id) {
            self.settle_dead_letter(id, effects);
        } else {
            self.ask_defer(id, effects);
        }
    }
}
