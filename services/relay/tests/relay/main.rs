//! The relay on real PostgreSQL, Kafka and registry.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../support/mod.rs"]
mod support;

mod claim_check;
mod order;
mod rejected;
mod roles;
mod several;
mod upstream;
mod volume;
