//! The relay (design §6): reads the outbox, encodes, produces to Kafka, deletes exactly what is acknowledged.
//!
//! Reading order: [`Relay`] (starts, is counted among the relays, stops), `shards` (takes and lets go of its share),
//! `shard` (owns one shard, again and again after failures), `worker` (the loop over one session and one producer),
//! `intake` (what was read) and `outlet` (what was sent), `session` and `read` (the statements), `encoder` (row → record),
//! `publisher` (record → acknowledgement), `traces` (their spans), `feeder` (rejected rows → dead-letter topic). Where the next read starts is
//! decided by `tidings-outbox`.
//!
//! For upstream services in Rust there is [`publish()`]: the outbox row on their own transaction.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod relay;

mod intake;
mod membership;
mod outlet;
mod shard;
mod shards;
mod worker;

mod encoder;
mod headers;
mod publisher;
mod read;
mod row;
mod session;
mod setup;
mod traces;
mod wire_types;

mod feeder;
mod health;
mod options;
pub mod publish;

pub use health::RelayHealth;
pub use options::{RelayOptions, Tuning};
pub use publish::{NewEvent, PublishError, publish};
pub use relay::{Relay, RelayError};
