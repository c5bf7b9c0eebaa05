//! Telegram's Bot API: `POST <base>/bot<TOKEN>/sendMessage` (reference/platforms.md, Telegram).

mod body;
mod classify;
mod destination;
mod request;
mod rules;

pub use classify::{classify, classify_with};
pub use request::{
    DEFAULT_BASE_URL, MAX_TEXT_BYTES, MAX_TEXT_CHARS, SEND_MESSAGE_TEMPLATE, request,
};
