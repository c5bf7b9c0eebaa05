//! Worlds by seed: a thousand in `make test`, as many as you like in `make sim SEEDS=...`.
//!
//! `TIDINGS_SIM_SEEDS` sets how many seeds run; `TIDINGS_SIM_SEED` runs one again, and with `TIDINGS_SIM_TRACE=1` tells
//! its story line by line.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tidings_sim::{Broken, Counts, EVERYTHING, Tracing, run};

const DEFAULT_SEEDS: u64 = 1_000;

/// Seeds that see what few others do (README.md): `started` given back by a late grant, `started` taken back by a late
/// renewal, an expiry that comes early.
const KEPT: [u64; 3] = [753, 938, 2_804];

/// Below this many seeds rare things need not happen.
const SEEDS_FOR_EVERYTHING: u64 = 1_000;

/// Lines of a broken world's story that are printed with it.
const LAST_LINES: usize = 60;

#[test]
fn every_invariant_holds_in_every_world() {
    if let Some(seed) = number("TIDINGS_SIM_SEED") {
        run_one(seed);
        return;
    }
    let seeds = number("TIDINGS_SIM_SEEDS").unwrap_or(DEFAULT_SEEDS);
    println!("seeds 0 to {} and {KEPT:?}", seeds.saturating_sub(1));
    match run_many(seeds) {
        Ok(counts) => assert_everything_happened(seeds, &counts),
        Err((seed, broken)) => tell_and_fail(seed, &broken),
    }
}

/// Worlds in which something was found on the way, each by the sentence that it broke.
mod kept {
    use super::{Tracing, run, tell_and_fail};

    fn holds(seed: u64) {
        if let Some(broken) = run(seed, Tracing::Off).broken {
            tell_and_fail(seed, &broken);
        }
    }

    #[test]
    fn a_dead_letter_holds_its_chat_where_nothing_else_may_be_deferred() {
        holds(3);
    }

    #[test]
    fn an_operators_word_that_came_before_a_hold_does_not_undo_it() {
        holds(73);
    }

    #[test]
    fn a_hold_that_was_not_written_holds_nothing_behind_it() {
        holds(450);
    }

    #[test]
    fn rows_whose_head_waits_again_at_once_are_not_taken_without_it() {
        holds(1_080);
    }

    #[test]
    fn what_is_loaded_leaves_room_for_what_comes() {
        holds(1_207);
    }

    #[test]
    fn a_hold_for_a_message_with_its_end_is_no_hold() {
        holds(2_319);
        holds(6_866);
    }
}

#[test]
fn a_seed_is_one_world_whoever_watches() {
    for seed in 0..20 {
        let (unseen, seen) = (run(seed, Tracing::Off), run(seed, Tracing::Last(10)));
        assert_eq!(unseen.fingerprint, seen.fingerprint, "seed {seed}");
        assert_eq!(unseen.counts, seen.counts, "seed {seed}");
        assert!(!seen.lines.is_empty(), "seed {seed}");
    }
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {text}")),
    )
}

fn run_one(seed: u64) {
    let traced = number("TIDINGS_SIM_TRACE").is_some_and(|on| on != 0);
    let tracing = if traced { Tracing::Print } else { Tracing::Off };
    let story = run(seed, tracing);
    if let Some(broken) = story.broken {
        tell_and_fail(seed, &broken);
    }
    print_counts(&story.counts);
}

/// Runs them on all processors. Of the worlds that broke, the one with the lowest seed that was run counts.
fn run_many(seeds: u64) -> Result<Counts, (u64, Broken)> {
    let next = AtomicU64::new(0);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers)
            .map(|_| scope.spawn(|| run_share(&next, seeds)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a world panicked"))
            .collect()
    });
    let mut all = Counts::default();
    let mut first: Option<(u64, Broken)> = None;
    for result in results {
        match result {
            Ok(counts) => all.merge(&counts),
            Err(broken) if first.as_ref().is_none_or(|(seed, _)| broken.0 < *seed) => {
                first = Some(broken);
            }
            Err(_) => {}
        }
    }
    first.map_or(Ok(all), Err)
}

fn run_share(next: &AtomicU64, seeds: u64) -> Result<Counts, (u64, Broken)> {
    let mut counts = Counts::default();
    let all = seeds + KEPT.len() as u64;
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= all {
            return Ok(counts);
        }
        let kept = usize::try_from(index.saturating_sub(seeds)).unwrap();
        let seed = if index < seeds { index } else { KEPT[kept] };
        let story = run(seed, Tracing::Off);
        if let Some(broken) = story.broken {
            // The others stop too.
            next.store(all, Ordering::Relaxed);
            return Err((seed, broken));
        }
        counts.merge(&story.counts);
    }
}

fn tell_and_fail(seed: u64, broken: &Broken) {
    for line in run(seed, Tracing::Last(LAST_LINES)).lines {
        println!("{line}");
    }
    panic!(
        "seed {seed}: {}: {}\nits whole story: TIDINGS_SIM_SEED={seed} TIDINGS_SIM_TRACE=1 \
         cargo test -p tidings-sim --test system -- --nocapture",
        broken.invariant, broken.what
    );
}

/// A simulation in which a fault never came would prove nothing about it.
fn assert_everything_happened(seeds: u64, counts: &Counts) {
    print_counts(counts);
    if seeds < SEEDS_FOR_EVERYTHING {
        return;
    }
    for what in EVERYTHING {
        assert!(counts.get(what) > 0, "no {what} in any of {seeds} worlds");
    }
}

fn print_counts(counts: &Counts) {
    for (what, times) in counts.iter() {
        println!("{times:>12} {what}");
    }
}
