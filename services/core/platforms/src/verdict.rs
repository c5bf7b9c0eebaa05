//! What an attempt's answer means (design §1, "verdict").

use std::time::Duration;

use crate::redact::redact;

/// The longest reason kept with a verdict, in characters (requirement B12).
pub const MAX_REASON_CHARS: usize = 2_000;

/// The meaning of one attempt's answer, the same nine words for every platform (design §1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The platform accepted the message.
    Delivered {
        /// The platform's own id of the post, when its answer could be read that far.
        platform_message_id: Option<String>,
    },
    /// The platform refused for now and nothing was posted; waiting for it burns no attempt (design §8).
    Throttled {
        /// What the answer says is over its limit.
        scope: HoldScope,
        /// How long to hold, floor and cap applied ([`crate::HintLimits`]); `None` when the answer names no usable
        /// time, so that the retry profile's backoff decides (requirement L10).
        wait: Option<Duration>,
    },
    /// Certainly not posted, and a later attempt may succeed.
    Transient,
    /// Certainly not posted, and the same message can never succeed.
    Rejected,
    /// Certainly not posted, because the chat or its thread cannot be written to.
    DeadTarget {
        /// What is dead.
        scope: DeadScope,
        /// Whether it may come back by itself (rights given, a topic reopened), so that probing it is worthwhile.
        reprobe: bool,
    },
    /// Certainly not posted: the chat lives on under another id.
    Migrated {
        /// The chat id to use from now on.
        new_chat_id: String,
    },
    /// Certainly not posted: the account's credentials are refused. One such answer right after a change of token is
    /// no proof (case S11): the caller decides by several in a row.
    AuthBroken,
    /// Bytes went out and no usable answer came back: the message may or may not be posted.
    Unknown,
    /// Certainly not posted, in words that no rule knows: retried a few times, then dead-lettered as such
    /// (requirement B9).
    Unrecognised,
}

impl Verdict {
    /// The verdict's name as metrics and logs carry it (`tidings_attempts_total{verdict}`).
    pub fn name(&self) -> &'static str {
        match self {
            Self::Delivered { .. } => "delivered",
            Self::Throttled { .. } => "throttled",
            Self::Transient => "transient",
            Self::Rejected => "rejected",
            Self::DeadTarget { .. } => "dead_target",
            Self::Migrated { .. } => "migrated",
            Self::AuthBroken => "auth_broken",
            Self::Unknown => "unknown",
            Self::Unrecognised => "unrecognised",
        }
    }
}

/// What a throttled answer names as being over its limit (requirement L9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldScope {
    /// The chat alone.
    Chat,
    /// The sending account, with all its chats.
    Account,
    /// Our address, with all accounts that send from it.
    Address,
    /// Nothing: the chat is held, and the account once a second chat is answered so.
    Unnamed,
}

/// What a dead target covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadScope {
    /// The whole chat.
    Chat,
    /// One thread of the chat; its other threads go on.
    Thread,
}

/// A verdict and the words to show an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classified {
    /// What the answer means.
    pub verdict: Verdict,
    /// Why, in at most [`MAX_REASON_CHARS`] characters, without secrets and control characters.
    pub reason: String,
}

impl Classified {
    /// Joins `verdict` with `reason`, which is redacted, cleaned and shortened here.
    pub fn new(verdict: Verdict, reason: &str) -> Self {
        Self {
            verdict,
            reason: presentable(reason),
        }
    }
}

fn presentable(reason: &str) -> String {
    redact(reason)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_REASON_CHARS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_counted_in_characters_and_holds_no_control_characters() {
        let classified = Classified::new(Verdict::Rejected, &"é\n".repeat(MAX_REASON_CHARS));
        assert_eq!(classified.reason.chars().count(), MAX_REASON_CHARS);
        assert!(!classified.reason.contains('\n'));
    }

    #[test]
    fn reason_holds_no_token() {
        let classified = Classified::new(
            Verdict::Rejected,
            "POST /bot123456:AAH-secret/sendMessage failed",
        );
        assert!(!classified.reason.contains("AAH-secret"));
    }
}
