//! A platform call as data, and what it is built from.

use crate::refusal::{Refusal, shown};
use crate::secret::SecretUrl;

/// The header in which an attempt's id travels (`<message id>/<owner>/<fence>/<attempt>`), for accounts that ask for it:
/// a simulator then tells attempts apart. Real platforms ignore it.
pub const ATTEMPT_HEADER: &str = "tidings-attempt";

/// One HTTP call to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method.
    pub method: Method,
    /// Where to; its credential is shown to nobody but the wire.
    pub url: SecretUrl,
    /// The path with placeholders: a span's name and `url.template` attribute (reference/conventions.md).
    pub url_template: &'static str,
    /// Header names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// The same call with one header more.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// The HTTP methods that senders use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// POST.
    Post,
}

impl Method {
    /// The method's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Post => "POST",
        }
    }
}

/// One message to send, as the event names it; nothing in it is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outgoing<'a> {
    /// The chat: a decimal integer, or `@name`.
    pub chat_id: &'a str,
    /// The thread (forum topic) inside the chat: a decimal integer.
    pub thread_id: Option<&'a str>,
    /// The text, with the markup of `parse_mode`.
    pub text: &'a str,
    /// How the platform reads markup; without one it shows the text as it is.
    pub parse_mode: Option<ParseMode>,
}

/// Telegram's ways of reading markup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseMode {
    /// HTML tags.
    Html,
    /// Markdown with escaping of all its characters.
    MarkdownV2,
    /// The older Markdown, kept by Telegram for compatibility.
    Markdown,
}

impl ParseMode {
    /// The mode's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Html => "HTML",
            Self::MarkdownV2 => "MarkdownV2",
            Self::Markdown => "Markdown",
        }
    }

    /// The mode of that name, in any case, as Telegram itself reads it.
    ///
    /// # Errors
    /// [`Refusal::ParseMode`] for any other name.
    pub fn from_name(name: &str) -> Result<Self, Refusal> {
        [Self::Html, Self::MarkdownV2, Self::Markdown]
            .into_iter()
            .find(|mode| mode.as_str().eq_ignore_ascii_case(name))
            .ok_or_else(|| Refusal::ParseMode { value: shown(name) })
    }
}
