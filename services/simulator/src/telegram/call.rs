//! A call's body, checked as Telegram checks it.

use serde_json::{Map, Value};

use super::entities;
use super::reply::Fault;

/// The longest text, in code points, markup taken out (reference/platforms.md, Telegram).
pub const MAX_TEXT_CHARS: usize = 4_096;
/// The largest raw text, in bytes (reference/platforms.md, Telegram).
pub const MAX_TEXT_BYTES: usize = 32_768;

/// A message that Telegram would take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The chat: a decimal integer, or `@name`.
    pub chat_id: String,
    /// The thread inside it.
    pub thread_id: Option<i64>,
    /// The text as it came.
    pub text: String,
    /// The text as a person sees it.
    pub shown_text: String,
    /// The parse mode as it was named.
    pub parse_mode: Option<String>,
}

/// What the body holds, right or wrong, as the log keeps it.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) chat_id: Option<String>,
    pub(super) thread_id: Option<String>,
    pub(super) text: Option<String>,
    pub(super) parse_mode: Option<String>,
}

impl Fields {
    /// Reads a JSON object; numbers and texts are taken for each other, as Telegram does.
    pub(super) fn read(body: &[u8]) -> Result<Self, Fault> {
        let object: Map<String, Value> = serde_json::from_slice(body)
            .map_err(|_| bad_request("can't parse the request's body as a JSON object"))?;
        let field = |name: &str| match object.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                Some(other.to_string())
            }
        };
        Ok(Self {
            chat_id: field("chat_id"),
            thread_id: field("message_thread_id"),
            text: field("text"),
            parse_mode: field("parse_mode"),
        })
    }

    /// The first fault in Telegram's order, or the message.
    pub(super) fn check(&self) -> Result<Call, Fault> {
        let text = self.text.clone().unwrap_or_default();
        let shown_text = shown_text(&text, self.parse_mode.as_deref())?;
        if shown_text.trim().is_empty() {
            return Err(bad_request("message text is empty"));
        }
        let chat_id = chat_id(self.chat_id.as_deref())?;
        let thread_id = self.thread_id.as_deref().map(thread_id).transpose()?;
        if shown_text.chars().count() > MAX_TEXT_CHARS {
            return Err(bad_request("message is too long"));
        }
        Ok(Call {
            chat_id,
            thread_id,
            text,
            shown_text,
            parse_mode: self.parse_mode.clone(),
        })
    }
}

fn shown_text(text: &str, parse_mode: Option<&str>) -> Result<String, Fault> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(bad_request("text is too long"));
    }
    let shown = match parse_mode.unwrap_or_default().to_ascii_lowercase().as_str() {
        "" | "none" => Ok(text.to_owned()),
        "html" => entities::html(text),
        "markdownv2" => entities::markdown_v2(text),
        "markdown" => entities::markdown(text),
        _ => return Err(bad_request("unsupported parse_mode")),
    };
    shown.map_err(|problem| bad_request(&format!("can't parse entities: {problem}")))
}

fn chat_id(chat_id: Option<&str>) -> Result<String, Fault> {
    let chat_id = chat_id.unwrap_or_default();
    if chat_id.is_empty() {
        return Err(bad_request("chat_id is empty"));
    }
    let public_name = chat_id.strip_prefix('@').is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    let number = chat_id.parse::<i64>().is_ok_and(|id| id != 0);
    (public_name || number)
        .then(|| chat_id.to_owned())
        .ok_or_else(|| bad_request("chat not found"))
}

fn thread_id(thread_id: &str) -> Result<i64, Fault> {
    thread_id
        .parse()
        .ok()
        .filter(|id| *id > 0)
        .ok_or_else(|| bad_request("message thread not found"))
}

fn bad_request(problem: &str) -> Fault {
    Fault::new(400, format!("Bad Request: {problem}"))
}
