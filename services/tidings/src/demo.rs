//! `tidings demo`: the whole way under load, one dispatcher killed in the middle, and the judge's word.

mod posts;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tidings_drill::{Deployment, DeploymentOptions, Place, Role, RoleKind};
use tidings_load::{LoadOptions, LoadReport};
use tidings_stack::{StackOptions, StackSource};
use tokio_postgres::NoTls;
use uuid::Uuid;

use crate::cli::DemoOptions;
use crate::exit::Exit;
use crate::{judge, trace};

/// A platform account that takes as many: so the demo stays under a minute when limits are in force.
const EVENTS_PER_SECOND: f64 = 500.0;

/// How long the platform takes over a call, so that some are in flight when the dispatcher dies.
const PLATFORM_LATENCY_MILLIS: u64 = 20;

/// How long a delivered message's last span may take to be seen in Jaeger.
const TRACE_PATIENCE: Duration = Duration::from_secs(5);

/// How long the killed dispatcher is away.
const AWAY: Duration = Duration::from_secs(1);

pub(crate) async fn run(options: DemoOptions) -> anyhow::Result<Exit> {
    let say = Narrator {
        quiet: options.json,
        began: Instant::now(),
    };
    say.line("starting the servers: PostgreSQL, Kafka, the schema registry, Jaeger if it is built");
    let stack_options = match options.otlp {
        Some(_) => StackOptions::default(),
        None => StackOptions::default().with_jaeger_if_there(),
    };
    let stack = StackSource::from_env()?.start(stack_options).await?;
    let folder = match &options.folder {
        Some(folder) => folder.clone(),
        None => stack
            .folder()
            .map_or_else(std::env::temp_dir, |folder| folder.join("roles")),
    };
    let mut deployment = DeploymentOptions::new(std::env::current_exe()?, folder);
    deployment.otlp_url = options.otlp.clone();
    let deployment = Deployment::prepare(&stack, deployment).await?;
    deployment.simulator().set_script(slow_platform()?)?;
    say.line("starting a relay and two dispatchers");
    let mut roles = start_roles(&deployment).await?;
    let load = load_options(&deployment, &options);
    say.line(&format!(
        "committing the events of {} orders for {} chats (seed {})",
        load.orders, load.chats, load.seed
    ));
    let run = load.run.clone();
    let (report, killed) = load_and_kill(&say, load, &mut roles).await?;
    say.line(&format!(
        "committed {} events in {:.1} s, rolled {} back; waiting for the last ones",
        report.committed_events,
        report.elapsed.as_secs_f64(),
        report.rolled_back
    ));
    let kept = judged(&deployment, &run, killed, options.json).await?;
    for role in &mut roles {
        role.stop(Duration::from_secs(10)).await?;
    }
    deployment.stop().await?;
    stack.stop().await?;
    Ok(if kept { Exit::Done } else { Exit::Failed })
}

/// Says what happens and when, for people.
struct Narrator {
    quiet: bool,
    began: Instant,
}

impl Narrator {
    fn line(&self, text: &str) {
        if !self.quiet {
            println!("{:>6.1} s  {text}", self.began.elapsed().as_secs_f64());
        }
    }
}

fn slow_platform() -> anyhow::Result<tidings_simulator::script::Script> {
    let script = serde_json::json!({
        "default_latency_ms": {"mean": PLATFORM_LATENCY_MILLIS, "jitter": PLATFORM_LATENCY_MILLIS / 2}
    });
    Ok(serde_json::from_value(script)?)
}

async fn start_roles(deployment: &Deployment) -> anyhow::Result<Vec<Role>> {
    let mut roles = vec![
        deployment.role(RoleKind::Relay, 1),
        deployment.role(RoleKind::Dispatcher, 1),
        deployment.role(RoleKind::Dispatcher, 2),
    ];
    for role in &mut roles {
        role.start().await?;
    }
    for role in &mut roles {
        role.ready(Duration::from_secs(30)).await?;
    }
    Ok(roles)
}

fn load_options(deployment: &Deployment, options: &DemoOptions) -> LoadOptions {
    let mut load = LoadOptions::new(deployment.place().upstream_url.clone());
    load.orders = options.orders;
    load.chats = options.chats;
    load.rate_per_second = Some(EVENTS_PER_SECOND);
    if let Some(seed) = options.seed {
        load.seed = seed;
    }
    load
}

/// Commits the load; when a third of it is there, kills the second dispatcher, and starts it again.
async fn load_and_kill(
    say: &Narrator,
    load: LoadOptions,
    roles: &mut [Role],
) -> anyhow::Result<(LoadReport, Option<Uuid>)> {
    let orders = u64::from(load.orders);
    let done = std::sync::Arc::new(AtomicU64::new(0));
    let seen = std::sync::Arc::clone(&done);
    let loading = tokio::spawn(tidings_load::run(load, move |progress| {
        seen.store(progress.orders, Ordering::Relaxed);
    }));
    while done.load(Ordering::Relaxed) < orders / 3 && !loading.is_finished() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let victim = roles.last_mut().context("there is no dispatcher")?;
    let killed = victim.kill()?;
    say.line(&format!("killed {} with -9", victim.name()));
    tokio::time::sleep(AWAY).await;
    victim.start().await?;
    say.line(&format!("started {} again", victim.name()));
    Ok((loading.await??, killed))
}

/// The judge's last line is the demo's last line. True when the promise was kept.
async fn judged(
    deployment: &Deployment,
    run: &str,
    killed: Option<Uuid>,
    only_json: bool,
) -> anyhow::Result<bool> {
    let mut arguments = vec!["--require-delivery".to_owned()];
    if let Some(killed) = killed {
        arguments.extend(["--killed".to_owned(), killed.to_string()]);
    }
    let verdict = judge::verdict(deployment.place(), run, &arguments).await?;
    if !only_json {
        println!("{}\n", verdict.table.trim_end());
        println!("{}", posts::samples(deployment, run).await?);
        if let Some(trace) = one_trace(deployment.place()).await {
            println!("{trace}");
        }
    }
    println!("{}", verdict.json);
    Ok(verdict.kept)
}

/// The way of the message that had the most trouble. Without Jaeger, or when it does not answer, there is none: the
/// demo's word is the judge's.
async fn one_trace(place: &Place) -> Option<String> {
    let jaeger = place.jaeger_url.as_deref()?;
    let message_id = most_troubled(&place.state_url).await;
    let shown = match message_id {
        Ok(Some(message_id)) => trace::of_delivered(jaeger, message_id, TRACE_PATIENCE).await,
        Ok(None) => return None,
        Err(error) => Err(error),
    };
    shown.unwrap_or_else(|error| Some(format!("no trace can be shown: {error:#}")))
}

/// Taken over from the killed dispatcher, else sent most often.
async fn most_troubled(state_url: &str) -> anyhow::Result<Option<Uuid>> {
    let (client, connection) = tokio_postgres::connect(state_url, NoTls).await?;
    let connection = tokio::spawn(connection);
    let asked = client
        .query_opt(
            "SELECT message_id FROM tidings_delivery.claims WHERE state = 'delivered'
             ORDER BY fence DESC, attempts DESC, settled_at DESC LIMIT 1",
            &[],
        )
        .await;
    connection.abort();
    Ok(asked?.map(|row| row.get(0)))
}
