//! An account's chats, as long as anything of them is left, and no more of them than memory should hold. Pure.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::penalty::Announced;
use super::settings::Limits;
use super::window::{Spacing, Window};

/// What one chat has had.
#[derive(Debug, Default)]
pub(super) struct Chat {
    pub(super) spacing: Spacing,
    /// Empty unless the chat is a group.
    pub(super) group: Window,
    pub(super) announced: Announced,
}

impl Chat {
    fn ends_at(&self, limits: &Limits) -> Duration {
        self.spacing
            .ends_at()
            .max(self.group.ends_at(limits.group))
            .max(self.announced.ends_at())
    }
}

/// The chats that are not as new.
#[derive(Debug, Default)]
pub(super) struct Chats {
    chats: HashMap<Arc<str>, (Duration, Chat)>,
    /// Each of them, by when nothing of it will be left.
    by_end: BTreeSet<(Duration, Arc<str>)>,
    forgotten: u64,
}

impl Chats {
    /// Lets `change` look at a chat and change it; one that is not remembered is as new.
    pub(super) fn with<R>(
        &mut self,
        chat_id: &str,
        limits: &Limits,
        now: Duration,
        change: impl FnOnce(&mut Chat) -> R,
    ) -> R {
        let (id, mut chat) = self.take_out(chat_id);
        let changed = change(&mut chat);
        let ends_at = chat.ends_at(limits);
        if ends_at > now {
            self.by_end.insert((ends_at, Arc::clone(&id)));
            self.chats.insert(id, (ends_at, chat));
        }
        self.drop_ended(now);
        self.forget_beyond(limits.max_chats);
        changed
    }

    /// Chats forgotten before their time.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        assert_eq!(self.chats.len(), self.by_end.len());
        self.chats.len()
    }

    fn take_out(&mut self, chat_id: &str) -> (Arc<str>, Chat) {
        let Some((id, (ends_at, chat))) = self.chats.remove_entry(chat_id) else {
            return (chat_id.into(), Chat::default());
        };
        let key = (ends_at, id);
        self.by_end.remove(&key);
        (key.1, chat)
    }

    fn drop_ended(&mut self, now: Duration) {
        while self.by_end.first().is_some_and(|(end, _)| *end <= now) {
            self.drop_first();
        }
    }

    fn forget_beyond(&mut self, max_chats: usize) {
        while self.chats.len() > max_chats {
            self.drop_first();
            self.forgotten += 1;
        }
    }

    fn drop_first(&mut self) {
        if let Some((_, id)) = self.by_end.pop_first() {
            self.chats.remove(&id);
        }
    }
}
