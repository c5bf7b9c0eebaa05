//! Messages that need a permit, by scope and class.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{AppendId, Effect, Limiter, PermitId, Validity};
use crate::{Class, LogTime, Moment, RefusedWhy};

/// A wait beyond this is told even if its reason is known: the delivery machine then gives the message's place before the
/// call to another chat.
const LONG_WAIT: Duration = Duration::from_secs(1);

/// A message that needs a permit.
#[derive(Debug)]
pub(super) struct Want {
    pub(super) scope: Arc<str>,
    pub(super) chat: Arc<str>,
    pub(super) class: Class,
    /// First come, first served within a class.
    pub(super) order: u64,
    pub(super) state: WantState,
    /// What the last word about its waiting was, and whether it named a long wait.
    pub(super) told: Option<(RefusedWhy, bool)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WantState {
    Ready,
    /// Its chat is not ready before that time.
    Blocked(LogTime),
    Asked,
    Granted(Validity),
}

/// What waits for one scope in one class.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) ready: BTreeMap<u64, PermitId>,
    pub(super) blocked: BTreeMap<(LogTime, u64), PermitId>,
    /// The ask that is on its way.
    pub(super) asked: Option<u64>,
    /// When to ask, or to look again.
    pub(super) ask_at: Option<Moment>,
    /// Not before this, after a refusal that was not foreseen.
    pub(super) not_before: Moment,
}

impl Queue {
    pub(super) fn due(&self) -> Option<Moment> {
        self.ask_at.filter(|_| self.asked.is_none())
    }
}

/// A `Reserve` that was not read back yet.
#[derive(Debug)]
pub(super) struct Outstanding {
    pub(super) append: AppendId,
    pub(super) sent: Moment,
    pub(super) class: Class,
    pub(super) leeway: Duration,
    pub(super) asks: Vec<OutstandingAsk>,
}

#[derive(Debug)]
pub(super) struct OutstandingAsk {
    pub(super) scope: Arc<str>,
    /// For each entry of the record, in its order, who wants it.
    pub(super) entries: Vec<Vec<PermitId>>,
}

impl Limiter {
    pub(super) fn want(
        &mut self,
        permit: PermitId,
        scope: &str,
        chat: &str,
        class: Class,
        now: Moment,
        effects: &mut Vec<Effect>,
    ) {
        if self.wants.contains_key(&permit) {
            return;
        }
        if self.wants.len() >= self.options.max_wants {
            effects.push(Effect::Declined(permit));
            return;
        }
        let order = self.next_order;
        self.next_order += 1;
        let want = Want {
            scope: Arc::from(scope),
            chat: Arc::from(chat),
            class,
            order,
            state: WantState::Ready,
            told: None,
        };
        let queue = self.queues.entry((want.scope.clone(), class)).or_default();
        queue.ready.insert(order, permit);
        if queue.asked.is_none() {
            queue.ask_at = Some(now);
        }
        self.wants.insert(permit, want);
    }

    pub(super) fn cancel(&mut self, permit: PermitId) {
        let Some(want) = self.wants.remove(&permit) else {
            return;
        };
        self.granted.remove(&permit);
        if let Some(queue) = self.queues.get_mut(&(want.scope, want.class)) {
            match want.state {
                WantState::Ready => {
                    queue.ready.remove(&want.order);
                }
                WantState::Blocked(until) => {
                    queue.blocked.remove(&(until, want.order));
                }
                WantState::Asked | WantState::Granted(_) => {}
            }
        }
    }

    /// Puts a message back into its queue: ready, or not before `blocked`.
    pub(super) fn requeue(&mut self, permit: PermitId, blocked: Option<LogTime>, now: Moment) {
        self.granted.remove(&permit);
        let Some(want) = self.wants.get_mut(&permit) else {
            return;
        };
        let queue = self
            .queues
            .entry((want.scope.clone(), want.class))
            .or_default();
        match want.state {
            WantState::Ready => {
                queue.ready.remove(&want.order);
            }
            WantState::Blocked(until) => {
                queue.blocked.remove(&(until, want.order));
            }
            WantState::Asked | WantState::Granted(_) => {}
        }
        match blocked {
            None => {
                want.state = WantState::Ready;
                queue.ready.insert(want.order, permit);
            }
            Some(until) => {
                want.state = WantState::Blocked(until);
                queue.blocked.insert((until, want.order), permit);
            }
        }
        if queue.asked.is_none() {
            queue.ask_at = Some(now);
        }
    }

    /// Puts back what is ready by the scope's next slot.
    pub(super) fn unblock(&mut self, key: &(Arc<str>, Class), slot: LogTime) {
        let Some(queue) = self.queues.get_mut(key) else {
            return;
        };
        while let Some((&(at, order), &permit)) = queue.blocked.first_key_value() {
            if at > slot {
                return;
            }
            queue.blocked.remove(&(at, order));
            queue.ready.insert(order, permit);
            if let Some(want) = self.wants.get_mut(&permit) {
                want.state = WantState::Ready;
            }
        }
    }

    /// Looks anew at a scope's queues (all, for none): what was read may have changed when to ask.
    pub(super) fn look_again(&mut self, scope: Option<&str>, now: Moment) {
        for ((name, _), queue) in &mut self.queues {
            let touched = scope.is_none_or(|scope| scope == &**name);
            let waits = !queue.ready.is_empty() || !queue.blocked.is_empty();
            if touched && waits && queue.asked.is_none() {
                queue.ask_at = Some(now.max(queue.not_before));
            }
        }
    }

    /// Only when the reason is new, or the wait has become a long one.
    pub(super) fn tell(
        &mut self,
        permit: PermitId,
        why: RefusedWhy,
        wait: Duration,
        effects: &mut Vec<Effect>,
    ) {
        let Some(want) = self.wants.get_mut(&permit) else {
            return;
        };
        let long = wait > LONG_WAIT;
        let known = want
            .told
            .is_some_and(|(told, told_long)| told == why && (told_long || !long));
        if !known {
            want.told = Some((why, long));
            effects.push(Effect::Waiting { permit, wait, why });
        }
    }
}
