use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::cli::LoadOptions;
use crate::exit::Exit;

/// How often progress is told.
const TELL: Duration = Duration::from_secs(1);

pub(crate) async fn run(options: LoadOptions) -> anyhow::Result<Exit> {
    let mut load = tidings_load::LoadOptions::new(options.database);
    load.orders = options.orders;
    load.chats = options.chats;
    load.workers = options.workers;
    load.rate_per_second = options.rate;
    if let Some(seed) = options.seed {
        load.seed = seed;
    }
    eprintln!("run {} seed {}", load.run, load.seed);
    let run = load.run.clone();
    let told = Mutex::new(Instant::now());
    let report = tidings_load::run(load, move |progress| {
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.elapsed() >= TELL {
            *told = Instant::now();
            eprintln!("{} of {} orders", progress.orders, progress.total_orders);
        }
    })
    .await?;
    if options.json {
        let object = json!({
            "run": run, "orders": report.orders, "committed_events": report.committed_events,
            "rolled_back": report.rolled_back, "elapsed_seconds": report.elapsed.as_secs_f64(),
        });
        println!("{object}");
    } else {
        println!(
            "{} events of {} orders committed in {:.1} s, {} rolled back",
            report.committed_events,
            report.orders,
            report.elapsed.as_secs_f64(),
            report.rolled_back
        );
    }
    Ok(Exit::Done)
}
