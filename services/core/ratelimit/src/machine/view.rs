//! What people and metrics see of the state.

use uuid::Uuid;

use super::scope::Scope;
use super::{Hold, Machine};
use crate::{Class, LogTime, ScopeLimits, Target};

/// One scope, at a time of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeView {
    /// Its name.
    pub scope: String,
    /// The limits in force.
    pub limits: ScopeLimits,
    /// Grants that its windows remember.
    pub used: usize,
    /// Messages that could start now, at once; none: nothing limits the scope.
    pub free: Option<usize>,
    /// When the next message may start.
    pub next_free: LogTime,
    /// Who waits, in order.
    pub waiting: Vec<WaiterView>,
    /// What is held, with the ends.
    pub holds: Vec<HoldView>,
    /// Chats whose state is not like a new one's.
    pub live_chats: usize,
}

/// A worker that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaiterView {
    /// The process.
    pub incarnation: Uuid,
    /// In which class.
    pub class: Class,
    /// With how many messages.
    pub messages: u32,
    /// Since when.
    pub since: LogTime,
}

/// A hold that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldView {
    /// What is held.
    pub target: Target,
    /// Its end, and its id in Postgres.
    pub hold: Hold,
}

impl Machine {
    /// Every scope, as of `now` (not before the last record's time).
    pub fn view(&self, now: LogTime) -> Vec<ScopeView> {
        self.state
            .scopes
            .iter()
            .map(|(name, scope)| self.view_of(name, scope, now))
            .collect()
    }

    /// Everything that is held at `now`, addresses included.
    pub fn holds(&self, now: LogTime) -> Vec<HoldView> {
        let addresses = self
            .state
            .addresses
            .iter()
            .filter(|(_, hold)| hold.until > now)
            .map(|(platform, hold)| HoldView {
                target: Target::Address {
                    platform: platform.to_string(),
                },
                hold: *hold,
            });
        let scopes = self.state.scopes.iter();
        let scopes = scopes.flat_map(|(name, scope)| scope.holds(name, now));
        addresses.chain(scopes).collect()
    }

    fn view_of(&self, name: &str, scope: &Scope, now: LogTime) -> ScopeView {
        let held = scope.hold.until.max(self.address_hold(name)) > now;
        let free = scope.rules.free(&scope.usage, now);
        let mut waiting: Vec<WaiterView> = scope
            .line
            .waiters()
            .map(|(class, incarnation, waiter)| WaiterView {
                incarnation,
                class,
                messages: waiter.messages,
                since: waiter.since,
            })
            .collect();
        waiting.sort_by_key(|waiter| (waiter.class, waiter.since, waiter.incarnation));
        ScopeView {
            scope: name.to_owned(),
            limits: scope.limits.clone(),
            used: scope.usage.remembered(),
            free: if held {
                Some(0)
            } else {
                Some(free).filter(|free| *free < usize::MAX)
            },
            next_free: scope.slot(now).max(scope.hold.until),
            waiting,
            holds: scope.holds(name, now).collect(),
            live_chats: scope.chats.len(),
        }
    }
}

impl Scope {
    /// What is held at `now`. Filtered before anything is copied: a scope may know 65,536 chats, and calls wait meanwhile.
    fn holds<'a>(&'a self, name: &'a str, now: LogTime) -> impl Iterator<Item = HoldView> + 'a {
        let scope = move || name.to_owned();
        let account = (self.hold.until > now).then(|| HoldView {
            target: Target::Account { scope: scope() },
            hold: self.hold,
        });
        let chats = self.chats.iter();
        let held = chats.filter(move |(_, state)| state.hold.until > now);
        let chats = held.map(move |(chat, state)| HoldView {
            target: Target::Chat {
                scope: scope(),
                chat: chat.to_string(),
            },
            hold: state.hold,
        });
        account.into_iter().chain(chats)
    }
}
