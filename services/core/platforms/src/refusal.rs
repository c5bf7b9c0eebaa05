//! Why a message is refused before any platform is called.

use thiserror::Error;

use crate::verdict::{Classified, Verdict};

/// A message or an account setting that no call could succeed with. `Display` names the field and the remedy, never
/// a credential.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The chat id has no form that Telegram knows.
    #[error(
        "chat_id: {value:?} is neither a 64-bit integer other than 0 in plain decimal nor @name; \
         put the chat's numeric id or its public @name into the event's destination"
    )]
    ChatId {
        /// The refused value, shortened.
        value: String,
    },
    /// The thread id is not a positive integer.
    #[error(
        "thread_id: {value:?} is not a positive 64-bit integer in plain decimal; \
         put the topic's numeric id into the event's destination, or leave it out"
    )]
    ThreadId {
        /// The refused value, shortened.
        value: String,
    },
    /// The text has nothing to show.
    #[error("text: is empty or only white space; give the event a text, or its template an output")]
    TextEmpty,
    /// The text has more characters than one message holds.
    #[error(
        "text: has {chars} characters where Telegram takes {limit}; shorten it, or split it into several events"
    )]
    TextTooLong {
        /// Its length, in code points.
        chars: usize,
        /// The greatest length, in code points.
        limit: usize,
    },
    /// The raw text is larger than the platform reads.
    #[error("text: has {bytes} bytes where Telegram takes {limit}; shorten it, or use less markup")]
    TextTooLarge {
        /// Its size, in bytes of UTF-8.
        bytes: usize,
        /// The greatest size, in bytes of UTF-8.
        limit: usize,
    },
    /// The parse mode is not one of Telegram's.
    #[error("parse_mode: {value:?} is unknown; use HTML, MarkdownV2 or Markdown, or leave it out")]
    ParseMode {
        /// The refused value, shortened.
        value: String,
    },
    /// The account's base address is not usable.
    #[error(
        "base_url: {problem}; set it to http(s)://host[:port][/prefix], without credentials, query or fragment"
    )]
    BaseUrl {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The account's token could not stand in a path.
    #[error(
        "token: is empty or holds characters other than letters, digits, ':', '_' and '-'; \
         set the account's token as Telegram gave it"
    )]
    Token,
}

impl Refusal {
    /// The refused field's name.
    pub fn field(&self) -> &'static str {
        match self {
            Self::ChatId { .. } => "chat_id",
            Self::ThreadId { .. } => "thread_id",
            Self::TextEmpty | Self::TextTooLong { .. } | Self::TextTooLarge { .. } => "text",
            Self::ParseMode { .. } => "parse_mode",
            Self::BaseUrl { .. } => "base_url",
            Self::Token => "token",
        }
    }

    /// The refusal as a verdict: the message's own fields are `Rejected`, the account's are `AuthBroken`, because every
    /// message of that account would fail alike.
    pub fn classified(&self) -> Classified {
        let verdict = match self {
            Self::ChatId { .. }
            | Self::ThreadId { .. }
            | Self::TextEmpty
            | Self::TextTooLong { .. }
            | Self::TextTooLarge { .. }
            | Self::ParseMode { .. } => Verdict::Rejected,
            Self::BaseUrl { .. } | Self::Token => Verdict::AuthBroken,
        };
        Classified::new(verdict, &self.to_string())
    }
}

/// The most characters of a refused value that an error repeats.
const MAX_SHOWN_CHARS: usize = 64;

/// `value` as an error shows it.
pub(crate) fn shown(value: &str) -> String {
    value.chars().take(MAX_SHOWN_CHARS).collect()
}
