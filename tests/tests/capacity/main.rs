//! `tidings capacity` and what a dispatcher tells of its lanes, on real parts (requirement B26; faults, row 44).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;
mod dispatcher;
mod world;
