//! Workers that come and go: the group rebalances every few seconds while the load goes on.

use std::time::{Duration, Instant};

use serde_json::json;
use tidings_drill::{Deployment, DeploymentOptions, Profile, Role, RoleKind};
use tidings_load::LoadOptions;
use tidings_stack::{StackOptions, StackSource};
use uuid::Uuid;

use crate::cli::RebalancesOptions;
use crate::exit::Exit;
use crate::judge;

/// Workers that stay.
const STAYING: usize = 2;

/// Workers that come and go, each asked to stop at its second turn, killed at its third.
const COMING: usize = 2;

const EVENTS_PER_SECOND: f64 = 300.0;
const EVENTS_PER_ORDER: f64 = 2.2;

/// How long the throughput without rebalances is measured.
const QUIET: Duration = Duration::from_secs(20);

const READY: Duration = Duration::from_secs(60);
const STOP: Duration = Duration::from_secs(15);

pub(crate) async fn run(options: RebalancesOptions) -> anyhow::Result<Exit> {
    let stack = StackSource::from_env()?
        .start(StackOptions::default())
        .await?;
    let folder = stack
        .folder()
        .map_or_else(std::env::temp_dir, |folder| folder.join("drill"));
    let mut laid = DeploymentOptions::new(std::env::current_exe()?, folder);
    laid.profile = Profile {
        group_protocol: options.protocol.word(),
        ..Profile::drill()
    };
    let deployment = Deployment::prepare(&stack, laid).await?;
    let _relay = deployment.run(RoleKind::Relay, 1).await?;
    let mut staying = Vec::new();
    for number in 1..=STAYING {
        staying.push(deployment.run(RoleKind::Dispatcher, number).await?);
    }
    let load = load(&deployment, options.seconds);
    let run = load.run.clone();
    let loading = tokio::spawn(tidings_load::run(load, |_| {}));
    tokio::time::sleep(Duration::from_secs(2)).await;
    let quiet = throughput(&deployment, tokio::time::sleep(QUIET)).await;
    let churn = churn(&deployment, &options);
    let (killed, rebalanced) = throughput_of(&deployment, churn).await;
    let (killed, changes) = killed?;
    loading.await??;
    let arguments = arguments(&killed);
    let verdict = judge::verdict(deployment.place(), &run, &arguments).await?;
    let share = rebalanced / quiet;
    let kept = verdict.kept && share >= 0.5;
    println!(
        "{}",
        json!({
            "drill": "rebalances", "protocol": options.protocol.word(), "seconds": options.seconds, "changes": changes,
            "ok": kept, "posts_per_second": rebalanced, "quiet_posts_per_second": quiet, "throughput_share": share,
            "lost": verdict.json["lost"], "out_of_order": verdict.json["out_of_order"],
            "unresolved": verdict.json["unresolved"], "duplicated": verdict.json["duplicated"],
            "in_flight_at_kill": verdict.json["in_flight_at_kill"], "failures": verdict.json["failures"],
        })
    );
    if !verdict.kept {
        eprintln!("{}", verdict.table);
    }
    deployment.stop().await?;
    stack.stop().await?;
    Ok(if kept { Exit::Done } else { Exit::Failed })
}

fn load(deployment: &Deployment, seconds: u64) -> LoadOptions {
    #[allow(clippy::cast_precision_loss)]
    let lasts = seconds as f64 + QUIET.as_secs_f64() + 5.0;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let orders = (lasts * EVENTS_PER_SECOND / EVENTS_PER_ORDER) as u32;
    let mut load = LoadOptions::new(deployment.place().upstream_url.clone());
    load.orders = orders;
    load.rate_per_second = Some(EVENTS_PER_SECOND);
    eprintln!("load seed {}", load.seed);
    load
}

/// Starts, stops and kills workers in turn; returns the killed incarnations and how many changes there were.
async fn churn(
    deployment: &Deployment,
    options: &RebalancesOptions,
) -> anyhow::Result<(Vec<Uuid>, u64)> {
    let mut workers: Vec<Role> = (0..COMING)
        .map(|index| deployment.role(RoleKind::Dispatcher, STAYING + 1 + index))
        .collect();
    let until = Instant::now() + Duration::from_secs(options.seconds);
    let (mut killed, mut changes) = (Vec::new(), 0_u64);
    let mut interval = tokio::time::interval(Duration::from_secs(options.every));
    while Instant::now() < until {
        interval.tick().await;
        let turn = usize::try_from(changes)?;
        let worker = &mut workers[turn % COMING];
        match (worker.pid(), turn / COMING % 4) {
            (None, _) => worker.start().await?,
            (Some(_), 3) => killed.extend(worker.kill()?),
            (Some(_), _) => worker.stop(STOP).await?,
        }
        changes += 1;
    }
    for worker in &mut workers {
        if worker.pid().is_some() {
            worker.ready(READY).await?;
            worker.stop(STOP).await?;
        }
    }
    Ok((killed, changes))
}

async fn throughput(deployment: &Deployment, work: impl Future<Output = ()>) -> f64 {
    throughput_of(deployment, work).await.1
}

/// Posts a second while `work` goes on.
#[allow(clippy::cast_precision_loss)]
async fn throughput_of<T>(deployment: &Deployment, work: impl Future<Output = T>) -> (T, f64) {
    let (before, began) = (deployment.simulator().stats().accepted, Instant::now());
    let done = work.await;
    let posts = deployment.simulator().stats().accepted - before;
    (done, posts as f64 / began.elapsed().as_secs_f64())
}

fn arguments(killed: &[Uuid]) -> Vec<String> {
    let mut arguments = vec!["--require-delivery".to_owned()];
    for owner in killed {
        arguments.extend(["--killed".to_owned(), owner.to_string()]);
    }
    arguments
}
