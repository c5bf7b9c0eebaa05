//! Traces, as Jaeger's query API tells them: one from the upstream transaction to the platform's answer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;
mod jaeger;
mod messages;
mod no_collector;
mod world;
