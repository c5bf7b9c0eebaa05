//! One limit scope: who may send when.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::chats::{Chat, is_group};
use super::line::Line;
use super::usage::{Rules, Usage, plus};
use super::{Hold, Refusal, RefusedWhy};
use crate::time::micros;
use crate::{Class, LogTime, ScopeLimits};

/// No start is granted further ahead than this (design §9).
pub const HORIZON: Duration = Duration::from_millis(250);
/// The horizon of `high`: it reaches beyond everything that `normal` may have taken.
pub const HIGH_HORIZON: Duration = Duration::from_millis(500);
/// The farthest ahead that anything is granted: to a class that is owed a slot, behind those that `high` has taken.
pub(super) const MAX_REACH: Duration = Duration::from_millis(600);
/// Chats with state that a scope holds at most; past it new chats are refused (design §9).
pub const MAX_LIVE_CHATS: usize = 65_536;
/// How long messages stay paced after one had to wait, at least.
const PACED_FOR: Duration = Duration::from_secs(1);
/// A class that waited this long behind others gets the next slot (requirement Q2; design §9).
const PATIENCE: Duration = Duration::from_secs(3);
/// In a slow scope not more often than every so many slots: three classes may be owed one, and precedence must remain.
const PATIENCE_SLOTS: u64 = 10;
/// The pace after a hold of a scope whose limits set none: all wake at the same moment (case S17).
const PACE_AFTER_HOLD: Duration = Duration::from_millis(50);

/// The farthest ahead that a class may be granted.
pub fn horizon(class: Class) -> Duration {
    match class {
        Class::High => HIGH_HORIZON,
        Class::Normal | Class::Backlog | Class::Replay => HORIZON,
    }
}

/// When a permit that was granted at `now`, for `at`, counts as used: it may start until then, and slack. Never beyond
/// the reach, so that a log that is begun anew knows how long it may be met.
pub(crate) fn charged_at(at: LogTime, leeway: Duration, now: LogTime) -> LogTime {
    at.after(leeway).min(at.max(now.after(MAX_REACH)))
}

#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub(super) limits: ScopeLimits,
    pub(super) rules: Rules,
    pub(super) usage: Usage,
    /// The latest grant; later ones are never before it.
    pub(super) last: LogTime,
    pub(super) paced_until: LogTime,
    pub(super) hold: Hold,
    /// The last chat that a 429 without a name was about: which, when, and until when it is held.
    pub(super) unnamed: Option<(Arc<str>, LogTime, LogTime)>,
    pub(super) line: Line,
    pub(super) chat_rules: Rules,
    pub(super) group_rules: Rules,
    pub(super) chats: BTreeMap<Arc<str>, Chat>,
    /// When each chat will be like a new one. Derived; not part of the state.
    pub(super) cleanup: BTreeSet<(LogTime, Arc<str>)>,
}

/// Who asks, and what for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker {
    pub(crate) incarnation: Uuid,
    pub(crate) class: Class,
    /// Held by its address until then.
    pub(crate) address_hold: LogTime,
    /// How late beyond slack it may start what it gets.
    pub(crate) leeway: Duration,
}

impl Scope {
    /// A scope of whose past nothing is known: full windows (design §9), also of what may still be started under
    /// grants of a log that was lost.
    pub(super) fn begin(limits: ScopeLimits, now: LogTime) -> Self {
        let now = now.after(MAX_REACH);
        Self {
            rules: Rules::begin(limits.scope.iter(), now),
            chat_rules: Rules::begin(limits.chat.iter(), now),
            group_rules: Rules::begin(limits.chat.iter().chain(&limits.group), now),
            limits,
            usage: Usage::default(),
            last: now,
            paced_until: now.after(PACED_FOR),
            hold: Hold::default(),
            unnamed: None,
            line: Line::begin(now),
            chats: BTreeMap::new(),
            cleanup: BTreeSet::new(),
        }
    }

    /// Other limits from now on, without a burst (requirement L15).
    pub(super) fn change(&mut self, limits: ScopeLimits, now: LogTime) {
        let rules = self.rules.replaced(limits.scope.iter(), now);
        let chat_rules = self.chat_rules.replaced(limits.chat.iter(), now);
        let group_rules = self
            .group_rules
            .replaced(limits.chat.iter().chain(&limits.group), now);
        self.usage.follow(&self.rules, &rules);
        for (id, chat) in &mut self.chats {
            if is_group(id) {
                chat.usage.follow(&self.group_rules, &group_rules);
            } else {
                chat.usage.follow(&self.chat_rules, &chat_rules);
            }
        }
        (self.rules, self.chat_rules, self.group_rules) = (rules, chat_rules, group_rules);
        self.limits = limits;
        self.paced_until = self.paced_until.max(now.after(self.paced_for()));
        self.index_chats();
        self.forget(now);
    }

    /// Whether one more message may be sent, and when, if `left` of the record's share are left. Changes nothing.
    pub(super) fn decide(
        &self,
        asker: Asker,
        chat: &str,
        left: usize,
        now: LogTime,
    ) -> Result<LogTime, Refusal> {
        let held = self.hold.until.max(asker.address_hold);
        let slot = self.slot(now).max(held);
        let refuse = |why, next_free| Err(Refusal { why, next_free });
        if held > now && held > now.after(horizon(asker.class)) {
            return refuse(RefusedWhy::Held, held);
        }
        let (ready, chat_held) = self.chat_ready(chat);
        if ready > slot {
            let why = if chat_held {
                RefusedWhy::ChatHeld
            } else {
                RefusedWhy::Chat
            };
            return refuse(why, ready);
        }
        if left == 0 {
            return refuse(RefusedWhy::Share, slot);
        }
        let owed = self.line.is_owed(asker, self.patience(), now);
        if !owed && self.line.is_preceded(asker.class, now) {
            return refuse(RefusedWhy::Class, slot);
        }
        if slot > self.reach(asker.class, owed, now) {
            return refuse(RefusedWhy::Scope, slot);
        }
        if self.chats.len() >= MAX_LIVE_CHATS && !self.chats.contains_key(chat) {
            let next_free = self.cleanup.first().map_or(slot, |(at, _)| *at);
            return refuse(RefusedWhy::TooManyChats, next_free);
        }
        Ok(slot)
    }

    /// Takes a permit that [`Scope::decide`] gave. The next one of the scope may start as soon as ever; only the windows
    /// and buckets have it later.
    pub(super) fn charge(&mut self, asker: Asker, chat: &str, at: LogTime, now: LogTime) {
        self.last = at;
        self.line.granted(asker.class, at);
        let at = charged_at(at, asker.leeway, now);
        self.rules.charge(&mut self.usage, at);
        if !self.rules_of(chat).is_empty() {
            self.put_chat(chat, |chat, rules| {
                rules.trim(&mut chat.usage, now);
                rules.charge(&mut chat.usage, at);
            });
        }
    }

    /// The next time at which the scope has room, whoever asks; not before `now`.
    pub(super) fn slot(&self, now: LogTime) -> LogTime {
        let slot = now.max(self.last).max(self.rules.earliest(&self.usage));
        if now < self.paced_until {
            slot.max(plus(self.last, self.pace_micros()))
        } else {
            slot
        }
    }

    /// Messages are spread from now on for a while, instead of going in bursts as windows empty (design §9).
    pub(super) fn note_saturation(&mut self, now: LogTime) {
        if self.slot(now) > now {
            self.paced_until = self.paced_until.max(now.after(self.paced_for()));
        }
    }

    /// Holds everything until `until`; merged by maximum.
    pub(super) fn hold(&mut self, until: LogTime, id: Option<Uuid>) {
        self.hold.merge(until, id);
        self.pace_after(until);
    }

    fn paced_for(&self) -> Duration {
        let pace = u64::try_from(self.pace_micros()).unwrap_or(0);
        PACED_FOR.max(Duration::from_micros(pace.saturating_mul(2)))
    }

    /// How long a class waits behind others before it is owed a slot.
    pub(super) fn patience(&self) -> Duration {
        let pace = u64::try_from(self.pace_micros()).unwrap_or(0);
        PATIENCE.max(Duration::from_micros(pace.saturating_mul(PATIENCE_SLOTS)))
    }

    /// How far apart messages are while they are paced.
    pub(super) fn pace_micros(&self) -> i64 {
        if self.rules.is_empty() {
            micros(PACE_AFTER_HOLD)
        } else {
            self.rules.pace_micros()
        }
    }

    /// The latest time that may be granted at `now`.
    pub(super) fn reach(&self, class: Class, owed: bool, now: LogTime) -> LogTime {
        if owed {
            now.after(MAX_REACH)
        } else {
            now.after(horizon(class))
        }
    }

    /// How many permits one record may get: what the horizon holds, by the workers that were seen lately.
    pub(super) fn share(&self, asker: Asker, now: LogTime) -> usize {
        let ahead = micros(horizon(asker.class)) / self.pace_micros().max(1);
        let ahead = usize::try_from(ahead).unwrap_or(0);
        let slots = if now < self.paced_until {
            ahead
        } else {
            ahead.max(self.rules.free(&self.usage, now))
        };
        slots
            .div_ceil(self.line.workers(asker.incarnation, now))
            .max(1)
    }

    /// After a hold, messages are spread.
    pub(super) fn pace_after(&mut self, until: LogTime) {
        self.paced_until = self.paced_until.max(until.after(self.paced_for()));
    }

    /// Until when the scope is not like one that was idle for ever.
    pub(super) fn live_until(&self) -> LogTime {
        let chats = self.cleanup.last().map_or(LogTime(i64::MIN), |(at, _)| *at);
        [
            self.rules.clean_at(&self.usage),
            self.rules.settled_at(),
            self.chat_rules.settled_at(),
            self.group_rules.settled_at(),
            self.hold.until,
            chats,
        ]
        .into_iter()
        .max()
        .unwrap_or(chats)
    }
}
