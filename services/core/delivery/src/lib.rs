//! The delivery machine: what happens next to every message, as pure decisions.
//!
//! [`Machine::handle`] takes one [`Event`] and the time, and pushes the [`Effect`]s to perform. It does no I/O, reads no
//! clock and draws no randomness but from the seed that it was given, so a whole deployment can be run in virtual time
//! (`tests/sim`). The dispatcher drives it in production with one loop and one exhaustive `match` over the effects.
//!
//! The way of one record through the machine:
//!
//! ```text
//! Arrived ─ poison ───────────────────────────────► DeadLetter ─► watermark
//!    │
//!    └ queued behind its chat ─► Want ∥ Claim ─► (Start, under `park`) ─► Call ─► Answered ─► Settle ─► watermark
//!                                  ▲                                          │
//!                                  └──────── held: backoff, hint, lease ◄─────┘
//! ```
//!
//! A chat that would be held for long, or whose queue outgrows its share, is deferred: `Defer ─► watermark`, and when it is
//! due `Load ─► Claim ─► … ─► Settle ─► Undefer`, then `CloseDeferral` after its last row.
//!
//! Invariants (design §7), checked at every step of the simulation:
//! - A commit never passes a record that is not settled, dead-lettered, found settled, or deferred in Postgres.
//! - What is deferred is loaded in the order of its chat, never past a record that is not written, or not fetched again.
//! - In one chat of one lane partition, one message at a time is between its claim and its outcome.
//! - No call starts without a claim whose lease outlives the call's deadline with margin.
//! - No call of a limited account starts before the moment that its permit begins at.
//! - After an assignment is gone nothing new starts for it; what was on its way is still recorded when it succeeded.
//!
//! Deliberately absent: payloads, topics' names, SQL, platforms' requests. The machine knows slots, not messages.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod account;
mod breaker;
mod capacity;
mod chat;
mod dead_letter_limit;
mod deferral;
mod effect;
mod event;
mod machine;
mod policy;
mod random;
mod targets;
mod time;
mod watermark;
mod window;
mod words;

pub use breaker::{CircuitOptions, CircuitState};
pub use capacity::{Cap, Capacity, Caps, Demand, UTILISATION, required_consumers};
pub use dead_letter_limit::{DeadLetterHold, DeadLetterLimitOptions};
pub use deferral::{CloseAnswer, DeferredChat, Due, KeptClaim};
pub use effect::{DeadLetterFacts, Effect, Outcome};
pub use event::{Answer, Arrival, ClaimOutcome, Content, Delivery, Event, Grant, Poison};
pub use machine::{Limits, Load, Machine, Options, Timing, slot_of};
pub use policy::{Next, RetryProfile, RetryProfiles, Tried, Waits, next};
pub use targets::{TargetKey, TargetOptions, TargetState};
pub use tidings_ratelimit::{Class, Moment, PermitId};
pub use time::Now;
pub use words::{Category, OnUnknown, PartitionId, RetryName, Settlement, SlotId};
