//! The judge on real parts: PostgreSQL, Kafka, and its own program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;
mod gather;
mod world;
