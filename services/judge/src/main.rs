//! `tidings-judge`: says whether Tidings kept its promise. See the library's documentation.

use std::collections::HashSet;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use tidings_judge::evidence::{Faults, Scope};
use tidings_judge::gather::{Inputs, KafkaInputs, SimulatorLog, Wait};
use tidings_judge::{GatherError, Report, decide, gather};
use uuid::Uuid;

/// Compares what upstream committed with what people received.
///
/// Prints a table and, as the last line, one JSON object. Exit code 0: the promise was kept;
/// 1: it was not, or the evidence could not be read; 2: wrong usage.
#[derive(Parser)]
#[command(name = "tidings-judge", version)]
struct Options {
    /// URL of the upstream database: ledger and outbox
    #[arg(long, env = "TIDINGS_JUDGE_UPSTREAM", hide_env_values = true)]
    upstream: String,
    /// URL of Tidings' own database: claims
    #[arg(long, env = "TIDINGS_JUDGE_STATE", hide_env_values = true)]
    state: String,
    /// Base URL of the platform simulator
    #[arg(
        long,
        env = "TIDINGS_JUDGE_SIMULATOR",
        conflicts_with = "simulator_log"
    )]
    simulator: Option<String>,
    /// File with the simulator's log (NDJSON), instead of the simulator
    #[arg(long, required_unless_present = "simulator")]
    simulator_log: Option<PathBuf>,
    /// Kafka as host:port, comma-separated; without it lanes and dead letters are not looked at
    #[arg(long, env = "TIDINGS_JUDGE_BROKERS")]
    brokers: Option<String>,
    /// Prefix of the topics
    #[arg(long, default_value = "tidings")]
    prefix: String,
    /// The dispatchers' consumer group
    #[arg(long, default_value = "tidings-dispatcher")]
    group: String,
    /// Platforms whose lanes are looked at (repeatable)
    #[arg(long = "platform", default_value = "telegram")]
    platforms: Vec<String>,
    /// Judge only this run; posts to other chats are then ignored
    #[arg(long)]
    run: Option<String>,
    /// Incarnation of a killed worker (repeatable): its attempts in flight excuse one extra post each
    #[arg(long)]
    killed: Vec<Uuid>,
    /// Incarnation of a worker that was stopped beyond its lease or cut off, and lived on (repeatable)
    #[arg(long)]
    fenced: Vec<Uuid>,
    /// Let every attempt whose answer was lost, late or a 5xx excuse one extra post
    #[arg(long)]
    unknown_allowance: bool,
    /// Fail unless every message that was expected to be posted was delivered
    #[arg(long)]
    require_delivery: bool,
    /// Wait until nothing is outstanding, or nothing has moved for so many seconds; 0 reads at once
    #[arg(long, default_value_t = 10)]
    quiesce_seconds: u64,
    /// Wait at most so many seconds in any case
    #[arg(long, default_value_t = 300)]
    quiesce_limit_seconds: u64,
    /// Print only the JSON object
    #[arg(long)]
    json: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let only_json = options.json;
    match judge(options).await {
        Ok(report) => {
            print_report(&report, only_json);
            ExitCode::from(u8::from(!report.passed()))
        }
        Err(error) => {
            print_error(&error);
            ExitCode::FAILURE
        }
    }
}

async fn judge(options: Options) -> Result<Report, GatherError> {
    let inputs = Inputs::from(options);
    let evidence = gather(&inputs).await?;
    Ok(decide(&evidence))
}

impl From<Options> for Inputs {
    fn from(options: Options) -> Self {
        let seconds = Duration::from_secs;
        let wait = Wait {
            quiet: seconds(options.quiesce_seconds),
            longest: seconds(options.quiesce_limit_seconds),
        };
        let simulator = match options.simulator_log {
            Some(path) => SimulatorLog::File(path),
            None => SimulatorLog::Url(options.simulator.unwrap_or_default()),
        };
        Self {
            upstream_url: options.upstream,
            state_url: options.state,
            simulator,
            kafka: options.brokers.map(|brokers| KafkaInputs {
                brokers,
                prefix: options.prefix,
                group: options.group,
                platforms: options.platforms,
            }),
            scope: options.run.map_or(Scope::EveryRun, Scope::Run),
            faults: Faults {
                killed: HashSet::from_iter(options.killed),
                fenced: HashSet::from_iter(options.fenced),
                unknown_allowance: options.unknown_allowance,
            },
            require_delivery: options.require_delivery,
            wait: (options.quiesce_seconds > 0).then_some(wait),
        }
    }
}

fn print_report(report: &Report, only_json: bool) {
    if !only_json {
        println!("{}", report.table());
    }
    println!("{}", report.json());
}

/// The whole chain of causes, for people on stderr and as the JSON object that callers wait for.
fn print_error(error: &GatherError) {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        words.push_str(&format!(": {source}"));
        cause = source.source();
    }
    eprintln!("tidings-judge: {words}");
    println!("{}", serde_json::json!({"ok": false, "error": words}));
}
