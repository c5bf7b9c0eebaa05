//! Permits: given, refused, and foreseen.

use std::time::Duration;

use uuid::Uuid;

use super::apply::{Served, ServedAsk};
use super::scope::{Asker, Scope};
use super::usage::plus;
use super::{Machine, Refusal, RefusedWhy, State};
use crate::record::{Ask, Entry};
use crate::{Class, LogTime};

/// What an asker can expect of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The most that one record may get.
    pub(crate) share: usize,
    /// The scope's next slot.
    pub(crate) slot: LogTime,
    /// The scope or its address is held until the slot.
    pub(crate) held: bool,
    /// How far apart slots are; 0 when they are not paced.
    pub(crate) pace_micros: i64,
    /// How many permits of others of the class come first.
    pub(crate) ahead: usize,
    /// A class before this one waits, and this one is not owed a slot.
    pub(crate) preceded: bool,
    /// When this class will be owed one.
    pub(crate) owed_at: Option<LogTime>,
    /// The latest time that may be granted.
    pub(crate) reach: LogTime,
    /// The turn that the last refusal named.
    pub(crate) turn: Option<LogTime>,
}

impl State {
    pub(super) fn serve(
        &mut self,
        incarnation: Uuid,
        class: Class,
        leeway: Duration,
        ask: Ask,
    ) -> ServedAsk {
        let now = self.time;
        let platform = ask.scope.split(':').next().unwrap_or(&ask.scope);
        let address_hold = self
            .addresses
            .get(platform)
            .map_or(LogTime(i64::MIN), |hold| hold.until);
        let asker = Asker {
            incarnation,
            class,
            address_hold,
            leeway,
        };
        match self.scopes.get_mut(ask.scope.as_str()) {
            None => unknown_scope(ask, now),
            Some(scope) => {
                let served = scope.serve(asker, ask, now);
                self.live_until = self.live_until.max(scope.live_until());
                served
            }
        }
    }
}

fn unknown_scope(ask: Ask, now: LogTime) -> ServedAsk {
    let refuse = |entry: Entry| Served {
        chat: entry.chat,
        granted: Vec::new(),
        refused: Some(Refusal {
            why: RefusedWhy::UnknownScope,
            next_free: now,
        }),
    };
    ServedAsk {
        scope: ask.scope,
        entries: ask.entries.into_iter().map(refuse).collect(),
        turn: None,
    }
}

impl Scope {
    fn serve(&mut self, asker: Asker, ask: Ask, now: LogTime) -> ServedAsk {
        self.forget(now);
        self.line.saw(asker.incarnation, now);
        let share = self.share(asker, now);
        let mut granted = 0;
        let mut entries = Vec::with_capacity(ask.entries.len());
        for entry in ask.entries {
            let served = self.serve_entry(asker, entry, share - granted, now);
            granted += served.granted.len();
            entries.push(served);
        }
        self.note_saturation(now);
        let turn = self.note_turn(asker, &entries, granted, ask.waiting, now);
        ServedAsk {
            scope: ask.scope,
            entries,
            turn,
        }
    }

    fn serve_entry(&mut self, asker: Asker, entry: Entry, left: usize, now: LogTime) -> Served {
        let mut granted = Vec::new();
        let mut refused = None;
        for _ in 0..entry.n {
            self.note_saturation(now);
            match self.decide(asker, &entry.chat, left - granted.len(), now) {
                Ok(at) => {
                    self.charge(asker, &entry.chat, at, now);
                    granted.push(at);
                }
                Err(refusal) => {
                    refused = Some(refusal);
                    break;
                }
            }
        }
        Served {
            chat: entry.chat,
            granted,
            refused,
        }
    }

    /// Keeps the asker's place in the line, and names its turn.
    fn note_turn(
        &mut self,
        asker: Asker,
        entries: &[Served],
        granted: usize,
        waiting: u32,
        now: LogTime,
    ) -> Option<LogTime> {
        let waits = entries.iter().any(|entry| {
            entry.refused.is_some_and(|refused| match refused.why {
                RefusedWhy::Scope | RefusedWhy::Share | RefusedWhy::Class => true,
                RefusedWhy::Chat
                | RefusedWhy::ChatHeld
                | RefusedWhy::Held
                | RefusedWhy::TooManyChats
                | RefusedWhy::UnknownScope => false,
            })
        });
        let left = waiting.saturating_sub(u32::try_from(granted).unwrap_or(u32::MAX));
        let left = if waits { left.max(1) } else { left };
        let share = self.share(asker, now);
        let ahead = if granted > 0 {
            self.line.ahead_of_newcomer(asker, share, now)
        } else {
            self.line.ahead(asker, share, now)
        };
        let turn = plus(
            self.slot(now),
            self.pace_micros().saturating_mul(as_micros(ahead)),
        );
        self.line.note(asker, granted > 0, left, turn, now);
        (left > 0).then_some(turn)
    }
}

fn as_micros(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Machine {
    /// What would happen to an ask that is appended when the log's time is `now`.
    pub(crate) fn plan(
        &self,
        scope: &str,
        incarnation: Uuid,
        class: Class,
        now: LogTime,
    ) -> Option<Plan> {
        let asker = Asker {
            incarnation,
            class,
            address_hold: self.address_hold(scope),
            leeway: Duration::ZERO,
        };
        let scope = self.state.scopes.get(scope)?;
        let owed = scope.line.is_owed(asker, scope.patience(), now);
        let share = scope.share(asker, now);
        let held = scope.hold.until.max(asker.address_hold);
        let slot = scope.slot(now);
        let paced = now < scope.paced_until || slot > now;
        Some(Plan {
            share,
            slot: slot.max(held),
            held: held > now,
            pace_micros: if paced { scope.pace_micros() } else { 0 },
            ahead: scope.line.ahead(asker, share, now),
            preceded: !owed && scope.line.is_preceded(class, now),
            owed_at: scope.line.owed_at(asker, scope.patience()),
            reach: scope.reach(class, owed, now),
            turn: scope.line.waiter(asker).map(|waiter| waiter.turn),
        })
    }

    /// Whether the chat has limits of its own.
    pub(crate) fn limits_chat(&self, scope: &str, chat: &str) -> bool {
        let scope = self.state.scopes.get(scope);
        scope.is_some_and(|scope| !scope.rules_of(chat).is_empty())
    }

    /// When the chat's own limits and hold allow a message.
    pub(crate) fn chat_ready(&self, scope: &str, chat: &str) -> Option<(LogTime, bool)> {
        self.state
            .scopes
            .get(scope)
            .map(|scope| scope.chat_ready(chat))
    }
}
