//! Penalties: what a 429 holds, and what its sender can know of it. Pure.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// How far apart two chats may be answered for the account's hold to be known from it (design §9).
const NOTICE_PERIOD: Duration = Duration::from_secs(10);

/// Holds that were announced to the sender.
#[derive(Debug, Default)]
pub(super) struct Announced {
    /// Sorted and apart from each other: a hold that begins inside the one before is one with it.
    holds: VecDeque<Hold>,
}

/// Calls that begin at `from` or later, and arrive before `until`, are in penalty.
#[derive(Debug, Clone, Copy)]
struct Hold {
    from: Duration,
    until: Duration,
}

impl Announced {
    /// A hold of `wait` is answered `now`, and calls that begin less than `excuse` later are excused.
    pub(super) fn announce(&mut self, now: Duration, wait: Duration, excuse: Duration) {
        while self.holds.front().is_some_and(|hold| hold.until <= now) {
            self.holds.pop_front();
        }
        let new = Hold {
            from: now.saturating_add(excuse),
            until: now.saturating_add(wait),
        };
        match self.holds.back_mut() {
            Some(last) if new.from <= last.until => last.until = last.until.max(new.until),
            Some(_) | None => self.holds.push_back(new),
        }
    }

    /// Whether a call that began at `began` and arrived at `arrived` is in penalty.
    pub(super) fn covers(&self, began: Duration, arrived: Duration) -> bool {
        let mut holds = self.holds.iter();
        holds.any(|hold| hold.from <= began && arrived < hold.until)
    }

    /// When the last hold ends.
    pub(super) fn ends_at(&self) -> Duration {
        self.holds.back().map_or(Duration::ZERO, |hold| hold.until)
    }
}

/// An account's hold, which its sender learns of from the answers to its chats.
#[derive(Debug, Default)]
pub(super) struct AccountPenalty {
    /// When the hold ends, known or not.
    pub(super) ends_at: Duration,
    /// What of it is known.
    pub(super) announced: Announced,
    notice: Option<Notice>,
}

/// The chat that was answered last.
#[derive(Debug)]
struct Notice {
    at: Duration,
    chat_id: Arc<str>,
}

impl AccountPenalty {
    /// A hold of `wait` is answered `now` in `chat_id`; it is known once `chats_needed` chats, 1 or 2, were answered so.
    pub(super) fn announce(
        &mut self,
        chat_id: &str,
        chats_needed: u8,
        (now, wait, excuse): (Duration, Duration, Duration),
    ) {
        self.ends_at = self.ends_at.max(now.saturating_add(wait));
        let is_second = |notice: &Notice| {
            *notice.chat_id != *chat_id && now.saturating_sub(notice.at) <= NOTICE_PERIOD
        };
        if chats_needed < 2 || self.notice.as_ref().is_some_and(is_second) {
            self.announced.announce(now, wait, excuse);
        }
        self.notice = Some(Notice {
            at: now,
            chat_id: chat_id.into(),
        });
    }
}
