//! What this worker itself knows to be held: from the moment of a 429 on, before its record is read, and beyond the loss
//! of the log.

use std::collections::BTreeMap;
use std::time::Duration;

use super::operations::{Pending, PendingBody};
use super::{Effect, KeptPenalty, Limiter};
use crate::record::{LONG_PENALTY, Reset};
use crate::{LogTime, Moment, Penalise, Target};

/// The most held chats of a scope that are known besides the log's.
const MAX_LOCAL_HOLDS: usize = 65_536;
/// Ends that differ by less are the same.
const SAME_END: Duration = Duration::from_secs(1);

/// Holds in this worker's own time.
#[derive(Debug, Default)]
pub(super) struct LocalHolds {
    addresses: BTreeMap<String, Moment>,
    accounts: BTreeMap<String, Moment>,
    chats: BTreeMap<String, BTreeMap<String, Moment>>,
}

impl LocalHolds {
    /// Adds a hold; the later end counts. When there is no room to remember a chat, its account is held.
    fn add(&mut self, target: Target, until: Moment, now: Moment) {
        let (name, place) = match target {
            Target::Address { platform } => (platform, &mut self.addresses),
            Target::Account { scope } => (scope, &mut self.accounts),
            Target::Chat { scope, chat } | Target::Unnamed { scope, chat } => {
                let chats = self.chats.entry(scope.clone()).or_default();
                chats.retain(|_, until| *until > now);
                if chats.len() < MAX_LOCAL_HOLDS {
                    (chat, chats)
                } else {
                    (scope, &mut self.accounts)
                }
            }
        };
        let known = place.entry(name).or_default();
        *known = until.max(*known);
    }

    /// Until when the chat is held, if it is.
    pub(super) fn until(&self, scope: &str, chat: &str, now: Moment) -> Option<Moment> {
        let chats = self.chats.get(scope);
        let held = chats.and_then(|chats| chats.get(chat)).copied();
        held.filter(|until| *until > now)
            .max(self.until_all(scope, now))
    }

    /// Until when all chats of the account are, if they are: by account or address.
    pub(super) fn until_all(&self, scope: &str, now: Moment) -> Option<Moment> {
        let platform = scope.split(':').next().unwrap_or(scope);
        let holds = [self.addresses.get(platform), self.accounts.get(scope)];
        holds
            .into_iter()
            .flatten()
            .copied()
            .filter(|until| *until > now)
            .max()
    }

    fn end(&mut self, reset: &Target) {
        match reset {
            Target::Address { platform } => {
                self.addresses.remove(platform);
            }
            Target::Account { scope } => {
                self.accounts.remove(scope);
                self.chats.remove(scope);
            }
            Target::Chat { scope, chat } | Target::Unnamed { scope, chat } => {
                if let Some(chats) = self.chats.get_mut(scope) {
                    chats.remove(chat);
                }
            }
        }
    }
}

impl Target {
    /// Whether a reset of this ends that hold.
    fn ends(&self, hold: &Self) -> bool {
        match self {
            Self::Account { scope } => {
                hold.name() == scope && !matches!(hold, Self::Address { .. })
            }
            Self::Chat { scope, chat } | Self::Unnamed { scope, chat } => {
                hold.name() == scope && hold.chat() == Some(chat)
            }
            Self::Address { .. } => self == hold,
        }
    }
}

impl Limiter {
    pub(super) fn throttled(
        &mut self,
        target: Target,
        wait: Duration,
        reason: String,
        now: Moment,
        effects: &mut Vec<Effect>,
    ) {
        self.penalise(target, wait, None, reason, now, effects);
    }

    /// Holds something from now on, here at once and everywhere as soon as the record is read.
    pub(super) fn penalise(
        &mut self,
        target: Target,
        wait: Duration,
        operator: Option<String>,
        reason: String,
        now: Moment,
        effects: &mut Vec<Effect>,
    ) {
        let until = now.after(wait);
        let id = (wait > LONG_PENALTY).then(|| self.new_id());
        if let Some(id) = id {
            effects.push(Effect::KeepPenalty {
                id,
                target: target.clone(),
                wait,
            });
        }
        self.holds.add(target.clone(), until, now);
        let penalise = Penalise {
            incarnation: self.options.incarnation,
            target,
            wait,
            id,
            operator,
            reason,
        };
        self.pend(PendingBody::Penalise(penalise, until), now, effects);
        self.void_held(now, effects);
    }

    /// A penalty was read.
    pub(super) fn penalised(
        &mut self,
        named: &Target,
        held: &[(Target, LogTime)],
        ours: bool,
        now: Moment,
        effects: &mut Vec<Effect>,
    ) {
        if ours {
            self.keep_escalated(named, held, effects);
            let end = self
                .clock
                .moment_of(self.held_by_log(named))
                .after(SAME_END);
            self.done(|pending| {
                matches!(pending, PendingBody::Penalise(own, until) if own.target == *named && *until <= end)
            });
        }
        // A reset that was not read yet was not meant for this one; whoever wants it must ask again.
        self.pending.retain(|pending| match &pending.body {
            PendingBody::Reset(reset) => !reset.target.ends(named),
            PendingBody::Penalise(..) | PendingBody::Limits(_) => true,
        });
        self.void_held(now, effects);
        self.look_again(None, now);
    }

    /// A second unnamed 429 holds the account: when that is long, Postgres keeps it as well.
    fn keep_escalated(
        &mut self,
        named: &Target,
        held: &[(Target, LogTime)],
        effects: &mut Vec<Effect>,
    ) {
        for (target, until) in held {
            let wait = self.machine.time().until(*until);
            if matches!(named, Target::Unnamed { .. })
                && matches!(target, Target::Account { .. })
                && wait > LONG_PENALTY
            {
                let id = self.new_id();
                let target = target.clone();
                effects.push(Effect::KeepPenalty { id, target, wait });
            }
        }
    }

    pub(super) fn was_reset(&mut self, reset: &Reset, now: Moment) {
        let target = &reset.target;
        self.holds.end(target);
        self.pending.retain(|pending| match &pending.body {
            PendingBody::Penalise(penalise, _) => !target.ends(&penalise.target),
            PendingBody::Reset(..) | PendingBody::Limits(..) => true,
        });
        self.done(|pending| matches!(pending, PendingBody::Reset(own) if own.id == reset.id));
        self.look_again(None, now);
    }

    /// Long penalties that Postgres kept: what the log lacks of them is appended.
    pub(super) fn kept(&mut self, penalties: Vec<KeptPenalty>, now: Moment) {
        for KeptPenalty {
            id,
            target,
            remaining,
        } in penalties
        {
            let end = self.clock.estimate(now).after(remaining);
            if self.held_by_log(&target).after(SAME_END) >= end {
                continue;
            }
            self.holds.add(target.clone(), now.after(remaining), now);
            self.pend_later(
                target,
                now.after(remaining),
                Some(id),
                "kept from before",
                now,
            );
        }
    }

    /// What the log holds stays held when the log is lost, and is said again in the next one.
    pub(super) fn remember_holds(&mut self, now: Moment) {
        let time = self.clock.estimate(now);
        for view in self.machine.holds(time) {
            let until = now.after(time.until(view.hold.until));
            self.holds.add(view.target.clone(), until, now);
            self.pend_later(
                view.target,
                until,
                view.hold.id,
                "held in the log before",
                now,
            );
        }
    }

    fn pend_later(
        &mut self,
        target: Target,
        until: Moment,
        id: Option<uuid::Uuid>,
        reason: &str,
        now: Moment,
    ) {
        let penalise = Penalise {
            incarnation: self.options.incarnation,
            target,
            wait: now.until(until),
            id,
            operator: None,
            reason: reason.to_owned(),
        };
        self.add_pending(Pending::due_at(PendingBody::Penalise(penalise, until), now));
    }

    /// Until when the log holds exactly this.
    pub(super) fn held_by_log(&self, target: &Target) -> LogTime {
        let holds = self.machine.holds(self.machine.time());
        let same = holds.iter().filter(|view| match target {
            Target::Unnamed { scope, chat } => {
                view.target.name() == scope && view.target.chat() == Some(chat)
            }
            Target::Chat { .. } | Target::Account { .. } | Target::Address { .. } => {
                view.target == *target
            }
        });
        same.map(|view| view.hold.until)
            .max()
            .unwrap_or(LogTime(i64::MIN))
    }
}
