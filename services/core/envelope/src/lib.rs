//! The envelope: what an event looks like on its way, and how it is written, read and shown.
//!
//! Reading order: [`Envelope`] (the fields), [`Catalogue`] (the event types, from `schemas/`),
//! [`EventType::encode`] (the relay's side), [`decode`] (the dispatcher's side), [`Message::text`]
//! (the words that a person gets). Beside them: [`wire`] (the registry's framing), [`trace`] (the
//! span that stands for the upstream transaction) and [`partition`] (where a key goes).
//!
//! Everything here is pure: no clock, no randomness, no I/O. Whatever comes from a row, a topic or
//! an operator is untrusted: parsing is total and bounded.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod catalogue;
mod compatibility;
mod content;
mod decimal;
mod decode;
mod encode;
mod envelope;
mod escapes;
mod fingerprint;
mod limits;
mod micros;
pub mod partition;
mod path;
mod poison;
mod portable;
mod rejection;
mod render;
mod sample;
mod shape;
mod template;
pub mod trace;
mod upcast;
mod validate;
pub mod wire;

pub use catalogue::{
    Catalogue, CatalogueError, Declaration, ENVELOPE_SCHEMA, EventType, Kind, OnDead, OnStale,
    Policy, RetryProfile, TextSource, TypeFolder,
};
pub use compatibility::Break;
pub use decode::{Message, WriterSchema, decode};
pub use envelope::{ClaimCheck, Destination, Envelope, Priority};
pub use escapes::sanitise_escapes;
pub use fingerprint::{Fingerprint, canonical_json, fingerprint};
pub use limits::Limits;
pub use micros::{Micros, ParseMicrosError};
pub use poison::{Poison, PoisonCategory};
pub use portable::NotPortable;
pub use rejection::{Rejection, RejectionCode};
pub use render::{ParseMode, RenderError, Rendered};
