//! Seeds, by the hundred in `make test`, by the thousand in `make sim`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use tidings_sim::{Counts, Tracing, run};

#[test]
fn basic() {
    let n = |name: &str, d: u64| std::env::var(name).ok().and_then(|t| t.parse().ok()).unwrap_or(d);
    if let Ok(seed) = std::env::var("TIDINGS_SIM_SEED") {
        let story = run(seed.parse().unwrap(), Tracing::Print);
        println!("{:?}", story.broken);
        return;
    }
    let (from, to) = (n("FROM", 0), n("TIDINGS_SIM_SEEDS", 200));
    let mut counts = Counts::default();
    let began = std::time::Instant::now();
    let mut broke = std::collections::BTreeMap::<&str, Vec<u64>>::new();
    for seed in from..to {
        let story = run(seed, Tracing::Off);
        counts.merge(&story.counts);
        if let Some(broken) = story.broken {
            if broke.entry(broken.invariant).or_default().is_empty() { println!("seed {seed}: {broken:?}"); }
            broke.entry(broken.invariant).or_default().push(seed);
        }
    }
    if n("COUNTS", 0) == 1 {
    for (what, times) in counts.iter() { println!("{times:>9} {what}"); }
    }
    println!("{:?} {broke:?}", began.elapsed());
}
