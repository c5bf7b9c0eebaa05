//! Penalties: what a 429, or an operator, holds.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::scope::{MAX_LIVE_CHATS, Scope};
use super::{MAX_ADDRESSES, State};
use crate::limits::ARRIVAL_MARGIN;
use crate::{LogTime, Penalise, Target};

/// A second chat that is answered 429 without a name within this time holds the account (requirement L9).
const UNNAMED_WITHIN: Duration = Duration::from_secs(10);

/// A hold, until a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// Until then; the past when nothing is held.
    pub until: LogTime,
    /// Under which Postgres keeps it, if it does.
    pub id: Option<Uuid>,
}

impl Default for Hold {
    fn default() -> Self {
        Self {
            until: LogTime(i64::MIN),
            id: None,
        }
    }
}

impl Hold {
    /// The later end counts.
    pub(super) fn merge(&mut self, until: LogTime, id: Option<Uuid>) {
        if until > self.until {
            *self = Self { until, id };
        }
    }
}

impl State {
    /// Holds what the record names, and answers what is held until when. A scope that nobody began is none of ours.
    pub(super) fn penalise(&mut self, record: &Penalise) -> Vec<(Target, LogTime)> {
        let until = self.time.after(record.wait).after(ARRIVAL_MARGIN);
        self.live_until = self.live_until.max(until);
        let now = self.time;
        match &record.target {
            Target::Address { platform } => {
                if self.addresses.len() < MAX_ADDRESSES
                    || self.addresses.contains_key(platform.as_str())
                {
                    let hold = self
                        .addresses
                        .entry(Arc::from(platform.as_str()))
                        .or_default();
                    hold.merge(until, record.id);
                }
                for (_, scope) in self.scopes_of(platform) {
                    scope.pace_after(until);
                }
                vec![(record.target.clone(), until)]
            }
            Target::Account { scope: name } => match self.scopes.get_mut(name.as_str()) {
                None => Vec::new(),
                Some(scope) => {
                    scope.hold(until, record.id);
                    vec![(record.target.clone(), until)]
                }
            },
            Target::Chat { scope: name, chat } => match self.scopes.get_mut(name.as_str()) {
                None => Vec::new(),
                Some(scope) => scope.hold_chat(name, chat, until, record.id),
            },
            Target::Unnamed { scope: name, chat } => match self.scopes.get_mut(name.as_str()) {
                None => Vec::new(),
                Some(scope) => {
                    let mut held = scope.hold_chat(name, chat, until, record.id);
                    if let Some(until) = scope.second_unnamed(chat, until, now) {
                        scope.hold(until, None);
                        held.push((
                            Target::Account {
                                scope: name.clone(),
                            },
                            until,
                        ));
                    }
                    held
                }
            },
        }
    }

    /// Ends what the target names. An account's reset ends its chats' holds too.
    pub(super) fn reset(&mut self, target: &Target) {
        match target {
            Target::Address { platform } => {
                self.addresses.remove(platform.as_str());
            }
            Target::Account { scope } => {
                if let Some(scope) = self.scopes.get_mut(scope.as_str()) {
                    scope.hold = Hold::default();
                    scope.unnamed = None;
                    scope
                        .chats
                        .values_mut()
                        .for_each(|chat| chat.hold = Hold::default());
                    scope.index_chats();
                }
            }
            Target::Chat { scope, chat } | Target::Unnamed { scope, chat } => {
                if let Some(scope) = self.scopes.get_mut(scope.as_str())
                    && scope.chats.contains_key(chat.as_str())
                {
                    scope.put_chat(chat, |chat, _| chat.hold = Hold::default());
                }
            }
        }
        let now = self.time;
        self.scopes.values_mut().for_each(|scope| scope.forget(now));
        self.live_until = self.find_live_until();
    }

    fn scopes_of<'a>(
        &'a mut self,
        platform: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a mut Scope)> {
        self.scopes
            .iter_mut()
            .filter(move |(name, _)| name.split(':').next() == Some(platform))
    }

    pub(super) fn find_live_until(&self) -> LogTime {
        let scopes = self.scopes.values().map(Scope::live_until);
        let addresses = self.addresses.values().map(|hold| hold.until);
        scopes.chain(addresses).max().unwrap_or_default()
    }
}

impl Scope {
    /// Holds a chat. When there is no room to remember it, the account is held instead: forgetting would be worse.
    fn hold_chat(
        &mut self,
        name: &str,
        chat: &str,
        until: LogTime,
        id: Option<Uuid>,
    ) -> Vec<(Target, LogTime)> {
        let scope = name.to_owned();
        if self.chats.len() >= 2 * MAX_LIVE_CHATS && !self.chats.contains_key(chat) {
            self.hold(until, id);
            return vec![(Target::Account { scope }, until)];
        }
        self.put_chat(chat, |chat, _| chat.hold.merge(until, id));
        let chat = chat.to_owned();
        vec![(Target::Chat { scope, chat }, until)]
    }

    /// Until when the account is to be held because two chats were answered alike.
    fn second_unnamed(&mut self, chat: &str, until: LogTime, now: LogTime) -> Option<LogTime> {
        let before = self.unnamed.replace((Arc::from(chat), now, until));
        let (other, at, other_until) = before?;
        (*other != *chat && now.before(UNNAMED_WITHIN) <= at).then(|| until.max(other_until))
    }
}
