//! The chats of a scope, as long as they are not like new ones.

use std::sync::Arc;

use super::Hold;
use super::scope::Scope;
use super::usage::{Rules, Usage};
use crate::LogTime;

/// A chat that is not like a new one.
#[derive(Debug, Clone, Default)]
pub(super) struct Chat {
    pub(super) usage: Usage,
    pub(super) hold: Hold,
}

impl Scope {
    pub(super) fn rules_of(&self, chat: &str) -> &Rules {
        if is_group(chat) {
            &self.group_rules
        } else {
            &self.chat_rules
        }
    }

    /// When the chat's own limits and hold allow a message, and whether it is the hold that decides.
    pub(super) fn chat_ready(&self, chat: &str) -> (LogTime, bool) {
        let rules = self.rules_of(chat);
        match self.chats.get(chat) {
            None => (rules.earliest(&Usage::default()), false),
            Some(known) => {
                let ready = rules.earliest(&known.usage);
                (ready.max(known.hold.until), known.hold.until > ready)
            }
        }
    }

    /// Changes a chat and notes when it will be like a new one.
    pub(super) fn put_chat(&mut self, id: &str, change: impl FnOnce(&mut Chat, &Rules)) {
        let rules = if is_group(id) {
            &self.group_rules
        } else {
            &self.chat_rules
        };
        let (id, mut chat) = self
            .chats
            .remove_entry(id)
            .unwrap_or_else(|| (Arc::from(id), Chat::default()));
        self.cleanup.remove(&(clean_at(rules, &chat), id.clone()));
        change(&mut chat, rules);
        self.cleanup.insert((clean_at(rules, &chat), id.clone()));
        self.chats.insert(id, chat);
    }

    /// Forgets what is like new: chats, old grants, workers that were not seen.
    pub(super) fn forget(&mut self, now: LogTime) {
        self.rules.trim(&mut self.usage, now);
        self.line.forget(now);
        while self.cleanup.first().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, id)) = self.cleanup.pop_first() {
                self.chats.remove(&id);
            }
        }
    }

    pub(super) fn index_chats(&mut self) {
        let clean =
            |(id, chat): (&Arc<str>, &Chat)| (clean_at(self.rules_of(id), chat), id.clone());
        self.cleanup = self.chats.iter().map(clean).collect();
    }
}

fn clean_at(rules: &Rules, chat: &Chat) -> LogTime {
    rules.clean_at(&chat.usage).max(chat.hold.until)
}

/// Telegram's group and channel ids are negative (reference/platforms.md).
pub(super) fn is_group(chat: &str) -> bool {
    chat.strip_prefix('-').is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}
