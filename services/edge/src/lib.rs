//! The only I/O of Tidings (design §3): configuration, telemetry, the admin server, the client that calls
//! platforms, the schema registry, Kafka and Postgres. Roles (`services/relay`, `services/dispatcher`, …) are
//! built on it; decisions are made in `services/core`.
//!
//! Reading order: [`config`] → [`telemetry`] → [`http`] → [`postgres`] → [`kafka`] → [`registry`] → [`schemas`] → [`content`]
//! → [`capacity`] → [`doctor`].

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod capacity;
pub mod config;
pub mod content;
pub mod doctor;
pub mod http;
pub mod kafka;
pub mod postgres;
pub mod rate_limit;
pub mod registry;
pub mod schemas;
pub mod targets;
pub mod telemetry;

#[cfg(test)]
mod testing;
