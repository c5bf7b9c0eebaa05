//! The simulation of everything: one virtual world a seed, around both real core machines.
//!
//! ```text
//! upstream's transactions ─► outbox ─► relays (real cursor) ─► Kafka ─► dispatchers (real machine) ─► platform
//!                                                                             ▲ ▼
//!                                                                     claims and epochs
//! ```
//!
//! Where to begin: [`run`], then `world.rs` (the clock and the loop), `happening.rs` (all that can happen),
//! `ledger.rs` (what is true), `invariants/` (what always holds), `chaos/` (what goes wrong). README.md tells what is
//! real and what is modelled, how to run a seed again, and which deliberately broken rules were found at which seed.
//!
//! The whole crate is a test: it may panic where it contradicts itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod chaos;
mod claims;
mod counts;
mod dispatcher;
mod happening;
mod invariants;
mod kafka;
mod ledger;
mod outbox;
mod platform;
mod random;
mod relay;
mod settings;
mod times;
mod trace;
mod world;

pub use counts::{Counts, EVERYTHING};
pub use invariants::Broken;
pub use trace::Tracing;

use world::World;

/// How one world went.
#[derive(Debug)]
pub struct Story {
    /// The first invariant that did not hold.
    pub broken: Option<Broken>,
    /// How often things happened.
    pub counts: Counts,
    /// A number that two runs of one seed share, whatever they traced.
    pub fingerprint: u64,
    /// The lines that [`Tracing::Last`] kept.
    pub lines: Vec<String>,
}

/// Runs the world of one seed until it is at rest or an invariant is broken.
#[must_use]
pub fn run(seed: u64, tracing: Tracing) -> Story {
    let mut world = World::new(seed, tracing);
    let broken = world.run().err();
    let fingerprint = world.random.next() ^ world.now;
    world
        .counts
        .add_many("messages", world.ledger.messages.len() as u64);
    world
        .counts
        .add_many("virtual seconds", world.now / times::SECOND);
    Story {
        broken,
        counts: world.counts,
        fingerprint,
        lines: world.trace.into_lines(),
    }
}
