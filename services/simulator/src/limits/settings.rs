//! What an account is held to.

use serde::{Deserialize, Serialize};

/// One account's limits. In JSON an absent field has its default, and `null` lifts a limit:
///
/// ```json
/// { "enforce": "answer", "account": { "count": 1000, "period_ms": 1000 }, "chat": { "spacing_ms": 1000, "burst": 3 }, "group": null }
/// ```
///
/// The default is what Telegram documents (reference/platforms.md, Telegram), enforced to the call: 30 a second, 1 a second
/// in a chat, 20 a minute in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// What becomes of a call that is too much (default [`Enforce::Answer`]).
    pub enforce: Enforce,
    /// The most calls of the account, over all chats (default 30 in 1,000 ms).
    pub account: Option<WindowLimit>,
    /// The most calls to one chat (default one every 1,000 ms, with no burst).
    pub chat: Option<SpacingLimit>,
    /// The most calls to one group, which is a chat with a negative id; `chat` holds there as well (default 20 in 60,000 ms).
    pub group: Option<WindowLimit>,
    /// How long after a 429 was answered calls are not yet *in penalty*, in milliseconds (default 100, design §9). A call is
    /// excused when its head was read before that, too: it was on its way.
    pub excuse_ms: u64,
    /// A 429 does not say whether it holds the chat or the account. So a hold of the account counts as known, and calls of
    /// other chats as *in penalty*, once this many chats, 1 or 2, were answered so within 10 s (default 2, design §9).
    pub account_penalty_chats: u8,
    /// The most chats remembered at once (default 65,536); past it those whose windows empty soonest are forgotten, and
    /// counted. Chats with nothing in their windows take no memory.
    pub max_chats: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            enforce: Enforce::Answer,
            account: Some(WindowLimit {
                count: 30,
                period_ms: 1_000,
            }),
            chat: Some(SpacingLimit {
                spacing_ms: 1_000,
                burst: 1,
            }),
            group: Some(WindowLimit {
                count: 20,
                period_ms: 60_000,
            }),
            excuse_ms: 100,
            account_penalty_chats: 2,
            max_chats: 65_536,
        }
    }
}

impl Limits {
    /// None at all: what an account has for which nothing is given.
    pub fn off() -> Self {
        Self {
            enforce: Enforce::Off,
            ..Self::default()
        }
    }
}

/// What becomes of a call that is too much, or in penalty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforce {
    /// Nothing: limits are not looked at.
    Off,
    /// It is marked and counted, and goes on as if nothing were; it takes its place in the windows.
    Count,
    /// It is marked, counted and refused with 429; it takes no place in the windows.
    Answer,
}

/// At most `count` arrivals in any `period_ms` milliseconds (a sliding window, open at its old end).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowLimit {
    /// How many, 1 to 100,000.
    pub count: u32,
    /// In how many milliseconds, up to a day.
    pub period_ms: u64,
}

/// One arrival every `spacing_ms` milliseconds, of which `burst` may come at once after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpacingLimit {
    /// The distance in milliseconds, up to a day.
    pub spacing_ms: u64,
    /// How many may come at once, 1 to 1,000. Telegram tolerates "short bursts"; 1, the default, tolerates none.
    #[serde(default = "one")]
    pub burst: u32,
}

fn one() -> u32 {
    1
}

/// Which limit a call was too much for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exceeded {
    /// The chat's.
    Chat,
    /// The group's.
    Group,
    /// The account's.
    Account,
}

/// What a 429 holds. Telegram's answer does not say it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PenaltyScope {
    /// The chat that was called.
    #[default]
    Chat,
    /// Every chat of the account.
    Account,
}
