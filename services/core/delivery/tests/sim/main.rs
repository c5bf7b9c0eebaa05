//! A deployment in virtual time around the real machine: Kafka's partitions and offsets, the claims in Postgres, a
//! platform that loses answers, workers that crash, freeze and hand partitions over. Everything follows from the seed.
//!
//! `TIDINGS_SIM_SEEDS` sets how many seeds run (default 300), `TIDINGS_SIM_SEED` reruns one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod check;
mod platform;
mod postgres;
mod world;

use world::World;

/// Seeds that once found something: a late grant that forgot `started` (239), a watermark past a refused write (512).
const KEPT: [u64; 2] = [239, 512];

fn seeds() -> Vec<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    match number("TIDINGS_SIM_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("TIDINGS_SIM_SEEDS").unwrap_or(300))
            .chain(KEPT)
            .collect(),
    }
}

#[test]
fn every_committed_record_ends_once_in_order() {
    let seeds = seeds();
    let mut totals = check::Totals::default();
    for seed in &seeds {
        let mut world = World::new(*seed);
        let problem = world.run().err();
        if let Some(problem) = problem {
            panic!("seed {seed}: {problem}\nrerun it alone: TIDINGS_SIM_SEED={seed}");
        }
        totals.add(&world);
    }
    println!(
        "{} seeds, from {}, and {KEPT:?}: {totals:?}",
        seeds.len(),
        seeds[0]
    );
    if seeds.len() >= 100 {
        totals.assert_everything_happened();
    }
}
