//! The servers fail around a deployment under load, and it goes on by itself: real servers, roles as processes, faults by
//! a proxy or a signal, and the judge's word (design §8; reference/faults.md).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod backends;
mod broker;
mod cut_off;
mod load;
mod workers;
mod world;
