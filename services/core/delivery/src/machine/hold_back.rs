//! What would be a dead letter while its event type makes too many of them waits instead (design §8).

use std::sync::Arc;

use super::slot::Stage;
use super::{Machine, Timer};
use crate::dead_letter_limit::{DeadLetterHold, Judgement};
use crate::{Category, Effect, Moment, Now, Settlement, SlotId};

impl Machine {
    /// Whether a message whose call says that it would be a dead letter is held back.
    pub(super) fn held_back(
        &mut self,
        id: SlotId,
        category: Category,
        reason: &Arc<str>,
        now: Now,
        effects: &mut Vec<Effect>,
    ) -> bool {
        if !may_be_tried_again(category) {
            return false;
        }
        let Some(event_type) = self.event_type(id) else {
            return false;
        };
        let options = self.options.dead_letter_limit;
        let limit = &mut self.dead_letter_limit;
        match limit.would_dead_letter(&event_type, id, category, now.moment, &options) {
            Judgement::DeadLetter => false,
            Judgement::HeldBack { until, change } => {
                if let Some(hold) = change {
                    effects.push(Effect::DeadLettersHeld {
                        event_type,
                        hold,
                        reason: Arc::clone(reason),
                    });
                }
                self.retry_at(id, until, now, effects);
                true
            }
        }
    }

    /// A call gave a message an end that is no dead letter: that may end its type's hold.
    pub(super) fn tell_dead_letter_limit(
        &mut self,
        id: SlotId,
        settlement: Settlement,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        match settlement {
            Settlement::Delivered | Settlement::Undeliverable => {}
            Settlement::Rejected
            | Settlement::Expired
            | Settlement::DeadLettered
            | Settlement::Parked
            | Settlement::Discarded => return,
        }
        let Some(event_type) = self.event_type(id) else {
            return;
        };
        let options = self.options.dead_letter_limit;
        let Some(held) = self.dead_letter_limit.settled(&event_type, id, &options) else {
            return;
        };
        effects.push(Effect::DeadLettersHeld {
            event_type,
            hold: DeadLetterHold::Ended,
            reason: Arc::from(""),
        });
        for held in held {
            if self.stage_is(held, &Stage::Held) {
                self.wake_at(now.moment, Timer::Slot(held));
            }
        }
    }

    /// Whether a message that is woken waits on with its type; it is woken again then.
    pub(super) fn waits_for_its_type(&mut self, id: SlotId, now: Now) -> bool {
        if !self.stage_is(id, &Stage::Held) {
            return false;
        }
        let Some(event_type) = self.event_type(id) else {
            return false;
        };
        let limit = &mut self.dead_letter_limit;
        let Some(until) = limit.waits(&event_type, id, now.moment) else {
            return false;
        };
        self.wake_at(until, Timer::Slot(id));
        true
    }

    /// Until when a message waits that was tried before this worker had it, and whose type is held.
    pub(super) fn held_with_its_type(&mut self, id: SlotId, now: Now) -> Option<Moment> {
        let work = self.slots.work(id)?;
        if work.attempts == 0 || work.calls > 0 {
            return None;
        }
        let event_type = Arc::clone(&work.event_type);
        self.dead_letter_limit.joins(&event_type, id, now.moment)
    }

    /// A message leaves this worker.
    pub(super) fn forget_held_back(&mut self, id: SlotId) {
        if let Some(event_type) = self.event_type(id) {
            self.dead_letter_limit.forget(&event_type, id);
        }
    }

    fn event_type(&self, id: SlotId) -> Option<Arc<str>> {
        Some(Arc::clone(&self.slots.work(id)?.event_type))
    }
}

/// What may have been posted is never tried again (`park`), and poison never is.
fn may_be_tried_again(category: Category) -> bool {
    match category {
        Category::Rejected | Category::Exhausted | Category::Unrecognised => true,
        Category::Unknown | Category::Poison => false,
    }
}
