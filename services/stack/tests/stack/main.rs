//! The stack on real servers. Tests that only talk share one stack; those that harm it start their own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
#[cfg(feature = "containers")]
mod containers;
mod death;
mod faults;
mod folders;
mod talk;
