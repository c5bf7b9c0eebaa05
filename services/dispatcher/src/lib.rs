//! The dispatcher: a consumer group over a platform's lanes that brings each message to its chat, in order, once.
//!
//! The way of a record: `consumer` (the group member's thread) → `decode` → `engine` (the loop around the delivery
//! machine of `services/core/delivery`) → `claims` (Postgres, in batches) → `calls` (`content` of a claim check, then the platform) → `dead_letters`;
//! `traces` follows one message through all of them.
//! Everything that is decided is decided in the machine; what is here performs it.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod calls;
mod claims;
mod consumer;
mod content;
mod credentials;
mod dead_letters;
mod decode;
mod deferral;
mod engine;
mod lag;
mod platform;
mod service;
mod state;
mod stats;
mod targets;
mod traces;
mod turn;

pub use engine::{Change, EngineError};
pub use platform::{Platform, Platforms, Telegram, built_in};
pub use service::{Dispatcher, DispatcherError, Started};
