//! What the chat platforms are asked, and what their answers mean.
//!
//! Pure: a request is built as data ([`request::HttpRequest`]), what its call ended with comes back as data
//! ([`answer::Answer`]), and [`telegram::classify`] turns that into a [`verdict::Verdict`]. Nothing here opens a
//! socket, reads a clock or keeps state; the present time is an argument where a platform names a date.
//!
//! Reading order: [`verdict`], [`answer`], [`telegram`], [`retry_after`].

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod answer;
pub mod redact;
pub mod refusal;
pub mod request;
pub mod retry_after;
pub mod secret;
pub mod telegram;
pub mod verdict;

pub use answer::{Answer, Lost, MAX_ANSWER_BYTES, NotSent};
pub use refusal::Refusal;
pub use request::{ATTEMPT_HEADER, HttpRequest, Method, Outgoing, ParseMode};
pub use retry_after::HintLimits;
pub use secret::{Secret, SecretUrl};
pub use verdict::{Classified, DeadScope, HoldScope, Verdict};
