//! The limiter in virtual time: workers with the real machine and asker, a log, a platform that counts what arrives.
//! `TIDINGS_SIM_SEEDS` sets the number of seeds, `TIDINGS_SIM_SEED` runs one again, with `TIDINGS_SIM_TRACE=1` and
//! `--nocapture` its story. What goes wrong, and what was proved to be found: the crate's README.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm
)]

mod calls;
mod chaos;
mod demand;
mod end;
mod log;
mod platform;
mod random;
mod settings;
mod topic;
mod worker;
mod world;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use random::Random;
use settings::{SECOND, Settings};
use world::{Report, World};

const DEFAULT_SEEDS: u64 = 60;
/// A run of so many seeds must have met everything.
const MANY: u64 = 1_000;
const EVERYTHING: [&str; 20] = [
    "stall",
    "lost",
    "doubled",
    "snapshot",
    "begun",
    "voided",
    "void",
    "granted",
    "closed",
    "reopen",
    "stopped",
    "kill",
    "freeze",
    "penalty",
    "throttled",
    "reset",
    "step",
    "limits",
    "truncate",
    "recreate",
];

fn number(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().expect("a number"))
}

fn run(seed: u64) -> Report {
    let settings = Settings::random(&mut Random::new(seed));
    let mut world = World::new(seed, settings);
    if let Err(broken) = world.run() {
        panic!(
            "{broken}; at {} in {:?}; again with TIDINGS_SIM_SEED={seed}",
            world.now, world.settings
        );
    }
    world.report
}

#[test]
fn the_limit_holds_in_every_world() {
    if let Some(seed) = number("TIDINGS_SIM_SEED") {
        println!("{:?}", run(seed).counts);
        return;
    }
    let seeds = number("TIDINGS_SIM_SEEDS").unwrap_or(DEFAULT_SEEDS);
    println!("seeds 0..{seeds}");
    let (next, counts) = (AtomicU64::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    let report = run(seed);
                    let mut counts = counts.lock().unwrap();
                    for (what, count) in report.counts {
                        *counts.entry(what).or_insert(0) += count;
                    }
                }
            });
        }
    });
    let counts = counts.into_inner().unwrap();
    println!("{counts:?}");
    if seeds >= MANY {
        for what in EVERYTHING {
            assert!(counts.contains_key(what), "no {what} in {seeds} seeds");
        }
    }
}

/// Nothing goes wrong and everybody has more than may be sent: what is used, and what it costs.
fn saturated(workers: usize, count: u32, seconds: u64, seed: u64) -> (f64, f64, f64) {
    let mut world = World::new(seed, Settings::quiet(workers, count, seconds));
    world.measure_from = 15 * SECOND;
    world
        .run()
        .unwrap_or_else(|broken| panic!("{broken}; quiet seed {seed}"));
    println!("{:?}", world.report.counts);
    let measured = (seconds - 5) as f64;
    let used = world.report.accepted as f64 / (f64::from(count) * measured);
    let records = world.report.records as f64 / world.report.arrivals as f64;
    let served = world.report.started.values();
    let fairness = *served.clone().min().unwrap() as f64 / *served.max().unwrap() as f64;
    println!(
        "{workers} workers, {count}/s, seed {seed}: used_share {used:.4}, records_per_message {records:.3}, fairness {fairness:.3}"
    );
    (used, records, fairness)
}

#[test]
fn a_saturated_limit_is_used() {
    for seed in 0..3 {
        let (used, records, fairness) = saturated(4, 30, 35, seed);
        assert!(used >= 0.96 && records <= 0.6 && fairness >= 0.9);
    }
    let (used, ..) = saturated(1, 30, 35, 7);
    assert!(used >= 0.96);
    let (used, _, fairness) = saturated(12, 30, 35, 8);
    assert!(used >= 0.96 && fairness >= 0.9);
}

#[test]
fn a_large_limit_costs_little() {
    let (used, records, fairness) = saturated(4, 1_000, 15, 0);
    assert!(used >= 0.96 && records <= 0.1 && fairness >= 0.9);
}
