//! Reading the destination's ids.
//!
//! Only one spelling of each is accepted: order is kept per chat id as written, so `5`, `05` and `+5` must not be
//! three chats.

use serde_json::Value;

use crate::refusal::{Refusal, shown};

/// The longest public name accepted, in characters without its `@`; Telegram's own are at most 32.
const MAX_NAME_CHARS: usize = 64;

/// The chat id as Telegram takes it: a JSON integer of 64 bits (supergroups are beyond 32, case S12), or `"@name"`.
pub(super) fn chat_id(text: &str) -> Result<Value, Refusal> {
    let refusal = || Refusal::ChatId { value: shown(text) };
    if is_public_name(text) {
        return Ok(Value::from(text));
    }
    integer(text)
        .filter(|id| *id != 0)
        .map(Value::from)
        .ok_or_else(refusal)
}

/// The thread id as Telegram takes it: a positive JSON integer.
pub(super) fn thread_id(text: &str) -> Result<Value, Refusal> {
    integer(text)
        .filter(|id| *id > 0)
        .map(Value::from)
        .ok_or_else(|| Refusal::ThreadId { value: shown(text) })
}

fn is_public_name(text: &str) -> bool {
    text.strip_prefix('@').is_some_and(|name| {
        (1..=MAX_NAME_CHARS).contains(&name.len())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// The integer whose plain decimal spelling is `text`.
fn integer(text: &str) -> Option<i64> {
    text.parse().ok().filter(|id: &i64| id.to_string() == text)
}
