//! What this worker knows of the registry of dead and migrated targets (design §8, L14), which all workers share through
//! Postgres. What it does not know costs a call, and is learnt from its answer.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use crate::Moment;

/// Moves of a chat that are followed, one after another, before a call.
const CHAIN: usize = 3;

/// How much is known at once, and when a target is looked at again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TargetOptions {
    /// The most targets known; the one used longest ago is forgotten for another.
    pub capacity: usize,
    /// How long after its death a target is probed that may come back by itself. The registry doubles it each time.
    pub first_probe: Duration,
    /// Whether those are probed too that do not come back by themselves (blocked, kicked, not found).
    pub probe_all: bool,
}

impl Default for TargetOptions {
    fn default() -> Self {
        Self {
            capacity: 100_000,
            first_probe: Duration::from_secs(3_600),
            probe_all: false,
        }
    }
}

/// What messages go to: a chat, or one thread of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetKey {
    /// The chat key `platform:account:chat_id`.
    pub chat: Arc<str>,
    /// The thread; `None` for the whole chat.
    pub thread: Option<Arc<str>>,
}

/// What the registry says about a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetState {
    /// Nothing can be sent there.
    Dead {
        /// When a message probes it, from now; `None`: when an operator clears it.
        probe: Option<Duration>,
        /// The platform's words.
        reason: Arc<str>,
    },
    /// It lives on under another chat id of the same account.
    Migrated {
        /// That id.
        new_chat_id: Arc<str>,
    },
    /// It was one of the other two, and is not any more.
    Alive,
}

/// What is known of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Known {
    Dead {
        probe_at: Option<Moment>,
        reason: Arc<str>,
    },
    Migrated {
        new_chat_id: Arc<str>,
    },
}

/// Where a message goes, as far as this worker knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// To its own chat.
    Own,
    /// To the chat's newer id.
    Other(Arc<str>),
    /// Nowhere: for these words.
    Dead(Arc<str>),
}

/// The targets that are known to be dead or migrated, at most [`TargetOptions::capacity`] of them.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    known: HashMap<TargetKey, (Known, u64)>,
    /// By when they were used last.
    order: BTreeMap<u64, TargetKey>,
    uses: u64,
}

impl Targets {
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// Takes over what the registry or a call says.
    pub(crate) fn learn(
        &mut self,
        target: TargetKey,
        state: &TargetState,
        now: Moment,
        options: &TargetOptions,
    ) {
        match state {
            TargetState::Alive => self.forget(&target),
            TargetState::Dead { probe, reason } => {
                let probe_at = probe.map(|wait| now.after(wait));
                let reason = Arc::clone(reason);
                self.insert(target, Known::Dead { probe_at, reason }, options);
            }
            TargetState::Migrated { new_chat_id } => {
                let new_chat_id = Arc::clone(new_chat_id);
                self.insert(target, Known::Migrated { new_chat_id }, options);
            }
        }
    }

    /// Where a message goes that is for `chat` of `account`, after `moved` if a call said so. A dead target that is due
    /// for a probe gets this message, and no other before its answer should be known.
    pub(crate) fn route(
        &mut self,
        account: &str,
        to: &TargetKey,
        moved: Option<&Arc<str>>,
        now: Moment,
        probe_takes: Duration,
    ) -> Route {
        if self.known.is_empty() {
            return moved.map_or(Route::Own, |id| Route::Other(Arc::clone(id)));
        }
        let mut target = moved.map(Arc::clone);
        let mut chat = of(account, to, target.as_ref());
        for _ in 0..CHAIN {
            let Some(next) = self.moved_to(&chat) else {
                break;
            };
            target = Some(next);
            chat = of(account, to, target.as_ref());
        }
        let whole = TargetKey { chat, thread: None };
        let thread = to.thread.as_ref().map(|thread| TargetKey {
            chat: Arc::clone(&whole.chat),
            thread: Some(Arc::clone(thread)),
        });
        let dead = self.dead(&whole, now, probe_takes);
        let dead = dead.or_else(|| self.dead(&thread?, now, probe_takes));
        match (dead, target) {
            (Some(reason), _) => Route::Dead(reason),
            (None, Some(target)) => Route::Other(target),
            (None, None) => Route::Own,
        }
    }

    /// Whether it is known as dead: an answer that says otherwise is news.
    pub(crate) fn is_dead(&self, target: &TargetKey) -> bool {
        matches!(self.known.get(target), Some((Known::Dead { .. }, _)))
    }

    fn moved_to(&mut self, chat: &Arc<str>) -> Option<Arc<str>> {
        let key = TargetKey {
            chat: Arc::clone(chat),
            thread: None,
        };
        match self.used(&key)? {
            Known::Migrated { new_chat_id } => Some(Arc::clone(new_chat_id)),
            Known::Dead { .. } => None,
        }
    }

    fn dead(&mut self, target: &TargetKey, now: Moment, probe_takes: Duration) -> Option<Arc<str>> {
        match self.used(target)? {
            Known::Migrated { .. } => None,
            Known::Dead { probe_at, reason } => match probe_at {
                Some(at) if *at <= now => {
                    *at = now.after(probe_takes);
                    None
                }
                Some(_) | None => Some(Arc::clone(reason)),
            },
        }
    }

    fn used(&mut self, target: &TargetKey) -> Option<&mut Known> {
        let (known, used) = self.known.get_mut(target)?;
        self.uses += 1;
        if let Some(key) = self.order.remove(used) {
            self.order.insert(self.uses, key);
        }
        *used = self.uses;
        Some(known)
    }

    fn insert(&mut self, target: TargetKey, known: Known, options: &TargetOptions) {
        self.forget(&target);
        while self.known.len() >= options.capacity.max(1) {
            let Some((_, oldest)) = self.order.pop_first() else {
                break;
            };
            self.known.remove(&oldest);
        }
        self.uses += 1;
        self.order.insert(self.uses, target.clone());
        self.known.insert(target, (known, self.uses));
    }

    fn forget(&mut self, target: &TargetKey) {
        if let Some((_, used)) = self.known.remove(target) {
            self.order.remove(&used);
        }
    }
}

/// The chat key of a message's chat, or of the id that it goes to instead.
fn of(account: &str, to: &TargetKey, target: Option<&Arc<str>>) -> Arc<str> {
    target.map_or_else(
        || Arc::clone(&to.chat),
        |id| Arc::from(format!("{account}:{id}")),
    )
}

#[cfg(test)]
mod tests;
