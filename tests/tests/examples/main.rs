//! The programs in `schemas/outbox/examples`, run as a newcomer would: what they publish is delivered, and what is
//! published is what they read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod consumer;
mod publishers;
mod snippet;
mod world;
