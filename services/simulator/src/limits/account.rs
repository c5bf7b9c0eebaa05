//! One account's calls, judged one after another. Pure.

use std::time::Duration;

use super::chats::{Chat, Chats};
use super::counts::{AccountStats, Counts};
use super::penalty::AccountPenalty;
use super::settings::{Enforce, Exceeded, Limits, PenaltyScope};
use super::validate::MAX_WINDOW_COUNT;
use super::window::Window;

/// What is made of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ruling {
    /// When it arrived, since the simulator's start.
    pub(crate) arrived: Duration,
    /// The limit that it is too much for; of several the one with the longest wait.
    pub(crate) exceeded: Option<Exceeded>,
    /// Whether it came inside a penalty that its sender knew of.
    pub(crate) in_penalty: bool,
    /// Why it is refused, if it is.
    pub(crate) refusal: Option<Refusal>,
}

/// A 429.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Whole seconds, at least 1.
    pub(crate) retry_after: u64,
    /// What is held from its answer on.
    pub(crate) scope: PenaltyScope,
}

impl Ruling {
    /// Nothing is wrong with the call.
    pub(crate) fn free(arrived: Duration) -> Self {
        Self {
            arrived,
            exceeded: None,
            in_penalty: false,
            refusal: None,
        }
    }
}

/// One account's state.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) limits: Limits,
    /// The latest arrival or answer: time does not go back.
    now: Duration,
    window: Window,
    penalty: AccountPenalty,
    chats: Chats,
    counts: Counts,
}

impl Account {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            now: Duration::ZERO,
            window: Window::default(),
            penalty: AccountPenalty::default(),
            chats: Chats::default(),
            counts: Counts::default(),
        }
    }

    /// Judges a call that was read whole at `arrived`, and whose head was read at `began`.
    pub(super) fn arrive(&mut self, chat_id: &str, began: Duration, arrived: Duration) -> Ruling {
        self.now = self.now.max(arrived);
        let (now, limits) = (self.now, self.limits);
        if limits.enforce == Enforce::Off {
            return Ruling::free(now);
        }
        let is_group = chat_id.starts_with('-');
        let (window, penalty) = (&mut self.window, &self.penalty);
        self.chats.with(chat_id, &limits, now, |chat| {
            let waits = waits(&limits, window, chat, is_group, now);
            let exceeded = longest(waits);
            let refusal = (limits.enforce == Enforce::Answer)
                .then(|| refusal(exceeded, holds(chat, penalty, now)))
                .flatten();
            if refusal.is_none() {
                take(&limits, window, chat, is_group, now);
            }
            Ruling {
                arrived: now,
                exceeded: exceeded.map(|(_, exceeded)| exceeded),
                in_penalty: chat.announced.covers(began, now)
                    || penalty.announced.covers(began, now),
                refusal,
            }
        })
    }

    /// A 429 that holds `scope` for `wait` is answered `now`.
    pub(super) fn announce(
        &mut self,
        chat_id: &str,
        scope: PenaltyScope,
        wait: Duration,
        now: Duration,
    ) {
        self.now = self.now.max(now);
        let (now, limits) = (self.now, self.limits);
        if limits.enforce == Enforce::Off {
            return;
        }
        let excuse = Duration::from_millis(limits.excuse_ms);
        self.chats.with(chat_id, &limits, now, |chat| {
            chat.announced.announce(now, wait, excuse);
        });
        match scope {
            PenaltyScope::Chat => {}
            PenaltyScope::Account => {
                let times = (now, wait, excuse);
                let chats_needed = limits.account_penalty_chats;
                self.penalty.announce(chat_id, chats_needed, times);
            }
        }
    }

    pub(super) fn count(
        &mut self,
        ruling: &Ruling,
        accepted: bool,
        unix_second: u64,
        attempt: Option<&str>,
    ) {
        self.counts.count(ruling, accepted, unix_second, attempt);
    }

    pub(super) fn stats(&self, seconds_from: Option<u64>) -> AccountStats {
        AccountStats {
            most_in_account_window: self.window.most() as u64,
            forgotten_chats: self.chats.forgotten(),
            ..self.counts.stats(seconds_from)
        }
    }

    #[cfg(test)]
    pub(super) fn chats(&self) -> &Chats {
        &self.chats
    }
}

/// How long each limit that is used up stays so.
fn waits(
    limits: &Limits,
    window: &Window,
    chat: &Chat,
    is_group: bool,
    now: Duration,
) -> [Option<(Duration, Exceeded)>; 3] {
    let group = limits.group.filter(|_| is_group);
    let chat_wait = limits.chat.and_then(|limit| chat.spacing.wait(limit, now));
    let group_wait = group.and_then(|limit| chat.group.wait(limit, now));
    let account_wait = limits.account.and_then(|limit| window.wait(limit, now));
    [
        chat_wait.map(|wait| (wait, Exceeded::Chat)),
        group_wait.map(|wait| (wait, Exceeded::Group)),
        account_wait.map(|wait| (wait, Exceeded::Account)),
    ]
}

/// How much longer the chat and the account are held.
fn holds(
    chat: &Chat,
    penalty: &AccountPenalty,
    now: Duration,
) -> [Option<(Duration, PenaltyScope)>; 2] {
    let left = |end: Duration| end.checked_sub(now).filter(|left| !left.is_zero());
    [
        left(chat.announced.ends_at()).map(|left| (left, PenaltyScope::Chat)),
        left(penalty.ends_at).map(|left| (left, PenaltyScope::Account)),
    ]
}

/// The 429 with the longest of the waits; of equal ones the account's.
fn refusal(
    exceeded: Option<(Duration, Exceeded)>,
    [chat_hold, account_hold]: [Option<(Duration, PenaltyScope)>; 2],
) -> Option<Refusal> {
    let exceeded = exceeded.map(|(wait, exceeded)| (wait, exceeded.holds()));
    let (wait, scope) = longest([chat_hold, exceeded, account_hold])?;
    let whole = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    Some(Refusal {
        retry_after: whole.max(1),
        scope,
    })
}

impl Exceeded {
    /// What Telegram holds when this limit is exceeded.
    fn holds(self) -> PenaltyScope {
        match self {
            Self::Chat | Self::Group => PenaltyScope::Chat,
            Self::Account => PenaltyScope::Account,
        }
    }
}

/// The longest of the waits that are there; of equal ones the last.
fn longest<T, const N: usize>(waits: [Option<(Duration, T)>; N]) -> Option<(Duration, T)> {
    waits.into_iter().flatten().max_by_key(|(wait, _)| *wait)
}

/// Counts an arrival in every window.
fn take(limits: &Limits, window: &mut Window, chat: &mut Chat, is_group: bool, now: Duration) {
    if let Some(limit) = limits.account {
        // More than the limit itself needs: statistics tell how many there were.
        window.take(limit, now, MAX_WINDOW_COUNT as usize);
    }
    if let Some(limit) = limits.chat {
        chat.spacing.take(limit, now);
    }
    if let Some(limit) = limits.group.filter(|_| is_group) {
        chat.group.take(limit, now, limit.count as usize);
    }
}
