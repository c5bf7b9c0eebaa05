//! A message gets its end: the dead-letter topic first where it applies, then the claims table, then the watermark.

use std::sync::Arc;

use super::slot::{Origin, Stage};
use super::{Machine, Timer};
use crate::{Answer, Category, DeadLetterFacts, Effect, Now, Outcome, Settlement, SlotId};

impl Machine {
    /// Records the end. The chat goes on when it is recorded: so a second record of the same message, next in the same
    /// chat, can not outlive the lease of the first and post it again while Postgres is slow.
    pub(super) fn settle(
        &mut self,
        id: SlotId,
        settlement: Settlement,
        platform_message_id: Option<Arc<str>>,
        reason: Arc<str>,
        effects: &mut Vec<Effect>,
    ) {
        self.set_stage(
            id,
            Stage::Settling {
                settlement,
                platform_message_id,
                reason,
            },
        );
        self.ask_settle(id, effects);
    }

    pub(super) fn ask_settle(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        let Some(slot) = self.slots.get(&id) else {
            return;
        };
        let (
            Stage::Settling {
                settlement,
                platform_message_id,
                reason,
            },
            Some(work),
        ) = (&slot.stage, slot.work.as_ref())
        else {
            return;
        };
        effects.push(Effect::Settle {
            slot: id,
            settlement: *settlement,
            fence: work.fence.unwrap_or_default(),
            attempts: work.attempts,
            call: work.calls,
            platform_message_id: platform_message_id.clone(),
            reason: Arc::clone(reason),
        });
    }

    pub(super) fn recorded(
        &mut self,
        id: SlotId,
        answer: Answer,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        let Some(Stage::Settling { settlement, .. }) = self.slots.get(&id).map(|slot| &slot.stage)
        else {
            return;
        };
        let settlement = *settlement;
        match answer {
            Answer::Done => {
                self.advance_chat(id, effects);
                self.end(id, Outcome::Settled(settlement), effects);
            }
            Answer::Fenced if self.gone(id) => self.finish(id, Outcome::Fenced, effects),
            // Another has the message: wait for its end, or for its lease, before the watermark passes.
            Answer::Fenced | Answer::Failed => {
                let at = self.storage_retry_at(now);
                self.wake_at(at, Timer::Slot(id));
            }
        }
    }

    /// A message that was claimed and can not be delivered: kept byte for byte, then settled.
    pub(super) fn give_up(
        &mut self,
        id: SlotId,
        category: Category,
        reason: Arc<str>,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        let Some(work) = self.slots.work(id) else {
            return;
        };
        let facts = DeadLetterFacts {
            category,
            reason,
            attempts: work.attempts,
            first_failed_at_micros: work.first_failed_at_micros.unwrap_or(now.wall_micros),
            last_failed_at_micros: work.last_failed_at_micros.unwrap_or(now.wall_micros),
        };
        self.dead_letter(id, facts, effects);
    }

    pub(super) fn dead_letter(
        &mut self,
        id: SlotId,
        facts: DeadLetterFacts,
        effects: &mut Vec<Effect>,
    ) {
        self.set_stage(id, Stage::DeadLettering(facts));
        self.ask_dead_letter(id, effects);
    }

    pub(super) fn ask_dead_letter(&self, id: SlotId, effects: &mut Vec<Effect>) {
        if let Some(Stage::DeadLettering(facts)) = self.slots.get(&id).map(|slot| &slot.stage) {
            effects.push(Effect::DeadLetter {
                slot: id,
                facts: facts.clone(),
            });
        }
    }

    pub(super) fn dead_lettered(
        &mut self,
        id: SlotId,
        acknowledged: bool,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        let Some(slot) = self.slots.get(&id) else {
            return;
        };
        let Stage::DeadLettering(facts) = &slot.stage else {
            return;
        };
        if !acknowledged {
            let at = self.storage_retry_at(now);
            self.wake_at(at, Timer::Slot(id));
            return;
        }
        let facts = facts.clone();
        let holds = slot.work.as_ref().map(|work| work.hold_on_dead);
        match holds {
            None => self.end(id, Outcome::Poison, effects),
            Some(true) if !self.gone(id) && self.given_up(id).is_none() => {
                self.hold_on_dead(id, facts, effects);
            }
            Some(_) => self.settle_facts(id, facts, effects),
        }
    }

    fn settle_facts(&mut self, id: SlotId, facts: DeadLetterFacts, effects: &mut Vec<Effect>) {
        let settlement = facts.category.settlement();
        self.settle(id, settlement, None, facts.reason, effects);
    }

    /// The hold of its chat is written, or can not be any more.
    pub(super) fn settle_dead_letter(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        if let Some(Stage::Holding(facts)) = self.slots.get(&id).map(|slot| &slot.stage) {
            let facts = facts.clone();
            self.settle_facts(id, facts, effects);
        }
    }

    /// The record leaves this worker with its end known: the watermark may pass it.
    pub(super) fn finish(&mut self, id: SlotId, outcome: Outcome, effects: &mut Vec<Effect>) {
        self.pass_watermark(id, effects);
        self.drop_slot(id, outcome, effects);
    }

    pub(super) fn pass_watermark(&mut self, id: SlotId, effects: &mut Vec<Effect>) {
        let Some(slot) = self.slots.get(&id) else {
            return;
        };
        let Origin::Record { position } = slot.origin else {
            return;
        };
        if let Some(partition) = self.partitions.get_mut(&slot.partition)
            && let Some(offset) = partition.watermark.finish(position)
        {
            effects.push(Effect::Commit {
                partition: slot.partition,
                offset,
            });
        }
    }
}
