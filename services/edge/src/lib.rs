//! The only I/O of Tidings (design §3): configuration, telemetry, the admin server, the client that calls
//! platforms, the schema registry, Kafka and Postgres. Roles (`services/relay`, `services/dispatcher`, …) are
//! built on it; decisions are made in `services/core`.
//!
//! Reading order: [`config`] → [`telemetry`] → [`http`] → [`postgres`] → [`kafka`] → [`registry`].

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod config;
pub mod http;
pub mod kafka;
pub mod postgres;
pub mod registry;
pub mod telemetry;

#[cfg(test)]
mod testing;
