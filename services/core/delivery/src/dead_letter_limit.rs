//! A bound on dead-lettering (design §8): when half of an event type's newest settlements would be dead letters for one
//! cause, something is wrong with the type and not with its messages. What would be given up is held back and told,
//! instead of draining into the dead-letter topic; one message probes from time to time.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use crate::window::Window;
use crate::{Category, Moment, SlotId};

/// When an event type's dead letters are held back, and how often it is probed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeadLetterLimitOptions {
    /// The newest settlements of a type that are looked at (design §8: 200).
    pub window: usize,
    /// Settlements that must have been seen before anything is held back.
    pub min_outcomes: usize,
    /// The share of them for one cause at which they are held back, 0.0 to 1.0 (design §8: 0.5).
    pub share: f64,
    /// How long until one of the messages is tried again; twice as long after each failed probe.
    pub wait: Duration,
    /// The longest of these waits.
    pub wait_max: Duration,
}

impl Default for DeadLetterLimitOptions {
    fn default() -> Self {
        Self {
            window: 200,
            min_outcomes: 20,
            share: 0.5,
            wait: Duration::from_secs(60),
            wait_max: Duration::from_secs(900),
        }
    }
}

/// What changed about an event type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadLetterHold {
    /// Its would-be dead letters of this cause are held back.
    Began {
        /// The cause.
        category: Category,
        /// Until a probe.
        wait: Duration,
    },
    /// A probe would have been a dead letter for the same cause.
    GoesOn {
        /// The cause.
        category: Category,
        /// Until the next probe.
        wait: Duration,
    },
    /// What was held back is tried again.
    Ended,
}

/// What becomes of a message that would be a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// It is one.
    DeadLetter,
    /// It waits until then.
    HeldBack {
        /// When it is looked at again.
        until: Moment,
        /// What people must hear.
        change: Option<DeadLetterHold>,
    },
}

/// Every event type's newest settlements, and what is held back. As many types as the catalogue knows.
#[derive(Debug, Default)]
pub(crate) struct DeadLetterLimit(HashMap<Arc<str>, TypeState>);

#[derive(Debug, Default)]
struct TypeState {
    /// What each would be a dead letter for, if anything.
    settlements: Window<Option<Category>>,
    hold: Option<Hold>,
}

#[derive(Debug)]
struct Hold {
    category: Category,
    until: Moment,
    wait: Duration,
    probe: Option<SlotId>,
    /// What is held back here: at most the records of the worker.
    messages: BTreeSet<SlotId>,
}

impl DeadLetterLimit {
    /// A message would be a dead letter for `category`.
    pub(crate) fn would_dead_letter(
        &mut self,
        event_type: &Arc<str>,
        id: SlotId,
        category: Category,
        now: Moment,
        options: &DeadLetterLimitOptions,
    ) -> Judgement {
        let state = self.0.entry(Arc::clone(event_type)).or_default();
        if let Some(hold) = &mut state.hold
            && hold.category == category
        {
            return hold.again(id, now, options, &mut state.settlements);
        }
        state.settlements.push(Some(category), options.window);
        if state.hold.is_some() || !state.too_many(category, options) {
            return Judgement::DeadLetter;
        }
        let until = now.after(options.wait);
        state.hold = Some(Hold {
            category,
            until,
            wait: options.wait,
            probe: None,
            messages: BTreeSet::from([id]),
        });
        let wait = options.wait;
        Judgement::HeldBack {
            until,
            change: Some(DeadLetterHold::Began { category, wait }),
        }
    }

    /// A message has an end that is no dead letter. Returns what to try again when that ends its type's hold.
    pub(crate) fn settled(
        &mut self,
        event_type: &Arc<str>,
        id: SlotId,
        options: &DeadLetterLimitOptions,
    ) -> Option<BTreeSet<SlotId>> {
        let state = self.0.entry(Arc::clone(event_type)).or_default();
        state.settlements.push(None, options.window);
        let hold = state.hold.as_ref()?;
        let category = hold.category;
        let proved = hold.messages.contains(&id);
        if !proved && state.too_many(category, options) {
            return None;
        }
        if proved {
            // The cause is gone: what it did before says nothing any more.
            state.settlements.clear();
        }
        state.hold.take().map(|hold| hold.messages)
    }

    /// The same for a message that was tried by an earlier owner of its partition, or before it was deferred: while its
    /// type is held it counts as held back.
    pub(crate) fn joins(
        &mut self,
        event_type: &Arc<str>,
        id: SlotId,
        now: Moment,
    ) -> Option<Moment> {
        let hold = self.0.get_mut(event_type)?.hold.as_mut()?;
        hold.messages.insert(id);
        self.waits(event_type, id, now)
    }

    /// Whether a message that was held back is to wait on, and until when; `None` if it may be tried.
    pub(crate) fn waits(
        &mut self,
        event_type: &Arc<str>,
        id: SlotId,
        now: Moment,
    ) -> Option<Moment> {
        let hold = self.0.get_mut(event_type)?.hold.as_mut()?;
        if !hold.messages.contains(&id) {
            return None;
        }
        if hold.until > now {
            return (hold.probe != Some(id)).then_some(hold.until);
        }
        hold.probe = Some(id);
        // The others look again when this one's answer should be known, whatever became of it.
        hold.until = now.after(hold.wait);
        None
    }

    /// A message left this worker.
    pub(crate) fn forget(&mut self, event_type: &Arc<str>, id: SlotId) {
        if let Some(state) = self.0.get_mut(event_type)
            && let Some(hold) = &mut state.hold
        {
            hold.messages.remove(&id);
        }
    }
}

impl TypeState {
    fn too_many(&self, category: Category, options: &DeadLetterLimitOptions) -> bool {
        self.settlements
            .reaches(options.min_outcomes, options.share, |cause| {
                cause == Some(category)
            })
    }
}

impl Hold {
    fn again(
        &mut self,
        id: SlotId,
        now: Moment,
        options: &DeadLetterLimitOptions,
        settlements: &mut Window<Option<Category>>,
    ) -> Judgement {
        let is_new = self.messages.insert(id);
        if is_new {
            settlements.push(Some(self.category), options.window);
        }
        let mut change = None;
        // Without one in memory whoever fails when a probe is due was it.
        if self.probe == Some(id) || self.until <= now {
            self.probe = None;
            self.wait = self.wait.saturating_mul(2).min(options.wait_max);
            self.until = now.after(self.wait);
            change = Some(DeadLetterHold::GoesOn {
                category: self.category,
                wait: self.wait,
            });
        }
        Judgement::HeldBack {
            until: self.until.max(now.after(Duration::from_millis(1))),
            change,
        }
    }
}

#[cfg(test)]
mod tests;
