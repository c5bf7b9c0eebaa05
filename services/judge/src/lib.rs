//! The judge: an independent program that says whether Tidings kept its promise (design §7).
//!
//! It trusts nobody and depends on no other crate of Tidings. It reads what upstream committed (the
//! load program's ledger), what the platform accepted (the simulator's log), what Tidings says
//! became of each message (the claims) and what lies in Kafka, and compares them.
//!
//! [`gather()`] is the only part that does I/O; [`decide()`] is pure: evidence in, [`Report`] out.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod decide;
pub mod evidence;
pub mod gather;
pub mod report;

pub use decide::decide;
pub use evidence::Evidence;
pub use gather::{GatherError, Inputs, gather};
pub use report::{Counts, Report};
