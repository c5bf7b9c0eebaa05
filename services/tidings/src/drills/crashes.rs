//! Relays and dispatchers killed, frozen beyond their lease and terminated at random moments under load.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use tidings_drill::{Deployment, DeploymentOptions, Profile, Role, RoleKind};
use tidings_load::LoadOptions;
use tidings_stack::{Stack, StackOptions, StackSource};
use uuid::Uuid;

use super::fault::{Fault, Planned, plan};
use crate::cli::{CrashesOptions, DrillPolicy};
use crate::exit::Exit;
use crate::judge;

const RELAYS: usize = 2;
const DISPATCHERS: usize = 3;

/// Faults under one load, judged together.
const FAULTS_PER_ROUND: usize = 10;

const EVENTS_PER_SECOND: f64 = 150.0;

/// Events of one order, on average: confirmed, shipped and a notification for every fifth.
const EVENTS_PER_ORDER: f64 = 2.2;

/// Longer than the drill profile's session timeout and lease together.
const FROZEN_FOR: Duration = Duration::from_secs(13);

const READY: Duration = Duration::from_secs(60);
/// How long the last statements of a worker that was struck may take; far less than a lease.
const LAST_STATEMENTS: Duration = Duration::from_millis(500);

/// How long a worker that woke may take to be refused something.
const REFUSAL_WAIT: Duration = Duration::from_secs(4);

/// Of so many workers frozen at work, at least one must be refused something.
const FREEZES_THAT_TELL: u64 = 4;

const STOP: Duration = Duration::from_secs(15);

pub(crate) async fn run(options: CrashesOptions) -> anyhow::Result<Exit> {
    let seed = options.seed.unwrap_or_else(rand::random);
    let mut random = StdRng::seed_from_u64(seed);
    eprintln!("seed {seed}");
    let stack = StackSource::from_env()?
        .start(StackOptions::default())
        .await?;
    let began = Instant::now();
    let (mut kept, mut left, mut total) = (true, options.faults, Totals::default());
    while left > 0 {
        let faults = left.min(FAULTS_PER_ROUND);
        left -= faults;
        let round = Round::new(
            &options,
            plan(&mut random, faults, RELAYS + DISPATCHERS, FROZEN_FOR),
        );
        let verdict = round.run(&stack, random.random()).await?;
        kept &= verdict.kept;
        total.add(&round.plan, &verdict.line);
        println!("{}", verdict.line);
        if !verdict.kept {
            eprintln!("{}", verdict.table);
        }
    }
    kept &= total.fences_hold();
    stack.stop().await?;
    println!("{}", total.line(seed, kept, began.elapsed()));
    Ok(if kept { Exit::Done } else { Exit::Failed })
}

struct Round {
    plan: Vec<Planned>,
    policy: DrillPolicy,
    protocol: &'static str,
}

struct RoundVerdict {
    kept: bool,
    table: String,
    line: Value,
}

impl Round {
    fn new(options: &CrashesOptions, plan: Vec<Planned>) -> Self {
        Self {
            plan,
            policy: options.policy,
            protocol: options.protocol.word(),
        }
    }

    async fn run(&self, stack: &Stack, seed: u64) -> anyhow::Result<RoundVerdict> {
        let folder = stack
            .folder()
            .map_or_else(std::env::temp_dir, |folder| folder.join("drill"));
        let mut options = DeploymentOptions::new(std::env::current_exe()?, folder);
        options.folder = options.folder.join(&options.name);
        options.profile = self.profile();
        let deployment = Deployment::prepare(stack, options).await?;
        let slow = json!({"default_latency_ms": {"mean": 30, "jitter": 25}});
        deployment
            .simulator()
            .set_script(serde_json::from_value(slow)?)?;
        let mut roles = start_roles(&deployment).await?;
        let load = self.load(&deployment, seed);
        let run = load.run.clone();
        let loading = tokio::spawn(tidings_load::run(load, |_| {}));
        let struck = self.strike(&deployment, &mut roles).await?;
        let report = loading.await??;
        let verdict = judge::verdict(deployment.place(), &run, &self.arguments(&struck)).await?;
        let fenced = fenced(&roles).await;
        let line = self.line(
            &verdict.json,
            report.committed_events,
            fenced,
            &struck,
            seed,
        );
        let kept = verdict.kept && self.policy_kept(&verdict.json, &struck);
        for role in &mut roles {
            role.stop(STOP).await?;
        }
        deployment.stop().await?;
        Ok(RoundVerdict {
            kept,
            table: verdict.table,
            line,
        })
    }

    fn profile(&self) -> Profile {
        let mut profile = Profile::drill();
        let policy = self.policy.word();
        profile.more = format!(
            "[dispatcher.policies]\n\"order.confirmed\" = \"{policy}\"\n\"order.shipped\" = \"{policy}\"\n\"notification.requested\" = \"{policy}\"\n"
        );
        profile.group_protocol = self.protocol;
        profile
    }

    /// A load that lasts as long as the faults.
    fn load(&self, deployment: &Deployment, seed: u64) -> LoadOptions {
        let lasts: Duration = self
            .plan
            .iter()
            .map(|planned| planned.after + lasts(planned))
            .sum();
        let events = (lasts.as_secs_f64() + 2.0) * EVENTS_PER_SECOND;
        let mut load = LoadOptions::new(deployment.place().upstream_url.clone());
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let orders = (events / EVENTS_PER_ORDER) as u32;
        load.orders = orders;
        load.chats = 200;
        load.rate_per_second = Some(EVENTS_PER_SECOND);
        load.seed = seed;
        load
    }

    async fn strike(&self, deployment: &Deployment, roles: &mut [Role]) -> anyhow::Result<Struck> {
        let mut struck = Struck::default();
        let state = state_database(deployment).await?;
        for planned in &self.plan {
            tokio::time::sleep(planned.after).await;
            let victim = roles
                .get_mut(planned.victim)
                .context("the plan names no role")?;
            victim.ready(READY).await?;
            match planned.fault {
                Fault::Kill => {
                    let owner = victim.kill()?;
                    struck.started_at_kills += started(&state, owner).await?;
                    struck.killed.extend(owner);
                    tokio::time::sleep(planned.away).await;
                    victim.start().await?;
                }
                Fault::Freeze => {
                    let busy = queue_depth(victim).await > 0;
                    struck.fenced.extend(victim.owner());
                    victim.pause()?;
                    struck.started_at_freezes += started(&state, victim.owner()).await?;
                    tokio::time::sleep(planned.away).await;
                    victim.resume()?;
                    if busy && victim.owner().is_some() {
                        struck.frozen_at_work += 1;
                        struck.refused += u64::from(is_refused_something(victim).await);
                    }
                }
                Fault::Terminate => {
                    victim.stop(STOP).await?;
                    victim.start().await?;
                }
            }
        }
        for role in roles {
            role.ready(READY).await?;
        }
        Ok(struck)
    }

    fn arguments(&self, struck: &Struck) -> Vec<String> {
        let mut arguments = Vec::new();
        for (option, owners) in [("--killed", &struck.killed), ("--fenced", &struck.fenced)] {
            for owner in owners {
                arguments.extend([option.to_owned(), owner.to_string()]);
            }
        }
        match self.policy {
            DrillPolicy::Resend => arguments.push("--require-delivery".to_owned()),
            // What is parked is not delivered, on purpose.
            DrillPolicy::Park => {}
        }
        arguments
    }

    /// Under `park` nothing is ever posted twice; what was started and not recorded when its worker was killed is parked, and
    /// beside it only what was started at a freeze: a frozen worker may still record what it did, before another finds it.
    fn policy_kept(&self, verdict: &Value, struck: &Struck) -> bool {
        let parked = verdict["parked"].as_u64();
        match self.policy {
            DrillPolicy::Resend => parked == Some(0),
            DrillPolicy::Park => {
                verdict["duplicated"] == json!(0)
                    && parked.is_some_and(|parked| struck.may_park().contains(&parked))
            }
        }
    }

    fn line(
        &self,
        verdict: &Value,
        committed: u64,
        fenced: u64,
        struck: &Struck,
        seed: u64,
    ) -> Value {
        let faults: Vec<String> = self
            .plan
            .iter()
            .map(|planned| format!("{:?} {}", planned.fault, planned.victim).to_lowercase())
            .collect();
        let mut line = json!({
            "drill": "crashes", "policy": self.policy.word(), "protocol": self.protocol, "load_seed": seed,
            "faults": faults, "committed_events": committed, "fenced": fenced,
            "started_at_kills": struck.started_at_kills, "started_at_freezes": struck.started_at_freezes, "frozen_at_work": struck.frozen_at_work, "refused_after_freeze": struck.refused,
        });
        for count in [
            "ok",
            "lost",
            "out_of_order",
            "unresolved",
            "duplicated",
            "in_flight_at_kill",
            "parked",
            "failures",
        ] {
            line[count] = verdict[count].clone();
        }
        line
    }
}

/// Who was struck, by incarnation.
#[derive(Default)]
struct Struck {
    killed: Vec<Uuid>,
    fenced: Vec<Uuid>,
    /// Messages that were `started` and had no end when their worker was killed: K under `park`.
    started_at_kills: u64,
    /// The same when it was frozen.
    started_at_freezes: u64,
    /// Dispatchers that were frozen with work in hand, and how many of them were refused something when they woke.
    frozen_at_work: u64,
    refused: u64,
}

impl Struck {
    /// How many messages may be parked.
    fn may_park(&self) -> std::ops::RangeInclusive<u64> {
        self.started_at_kills..=self.started_at_kills + self.started_at_freezes
    }
}

async fn state_database(deployment: &Deployment) -> anyhow::Result<tokio_postgres::Client> {
    let url = &deployment.place().state_url;
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
    // It ends with the client.
    tokio::spawn(connection);
    Ok(client)
}

async fn started(state: &tokio_postgres::Client, owner: Option<Uuid>) -> anyhow::Result<u64> {
    let Some(owner) = owner else {
        return Ok(0);
    };
    // A statement that was on its way is carried out although its worker is gone; nobody takes its claims before their lease.
    tokio::time::sleep(LAST_STATEMENTS).await;
    let sql = "select count(*) from tidings_delivery.claims where state = 'started' and owner = $1";
    let row = state.query_one(sql, &[&owner.to_string()]).await?;
    Ok(u64::try_from(row.get::<_, i64>(0))?)
}

async fn queue_depth(role: &Role) -> u64 {
    let health = role.health().await.unwrap_or_default();
    health["queue_depth"].as_u64().unwrap_or(0)
}

/// Whether a worker that woke beyond its lease was refused something. Not each is: all it had may have been facts, or
/// the group may have told it first.
async fn is_refused_something(role: &Role) -> bool {
    let until = Instant::now() + REFUSAL_WAIT;
    while Instant::now() < until {
        let health = role.health().await.unwrap_or_default();
        if health["fenced"].as_u64().unwrap_or(0) > 0 {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    false
}

fn lasts(planned: &Planned) -> Duration {
    match planned.fault {
        Fault::Kill | Fault::Freeze => planned.away,
        Fault::Terminate => Duration::from_secs(1),
    }
}

async fn start_roles(deployment: &Deployment) -> anyhow::Result<Vec<Role>> {
    let relays = (1..=RELAYS).map(|number| deployment.role(RoleKind::Relay, number));
    let dispatchers = (1..=DISPATCHERS).map(|number| deployment.role(RoleKind::Dispatcher, number));
    let mut roles: Vec<Role> = relays.chain(dispatchers).collect();
    for role in &mut roles {
        role.start().await?;
    }
    for role in &mut roles {
        role.ready(READY).await?;
    }
    Ok(roles)
}

/// Refused writes that the dispatchers that live now have counted.
async fn fenced(roles: &[Role]) -> u64 {
    let mut fenced = 0;
    for role in roles {
        let health = role.health().await.unwrap_or_default();
        fenced += health["fenced"].as_u64().unwrap_or(0);
    }
    fenced
}

/// The sums over all rounds.
#[derive(Default)]
struct Totals {
    faults: BTreeMap<String, u64>,
    counts: BTreeMap<&'static str, u64>,
}

impl Totals {
    fn add(&mut self, plan: &[Planned], line: &Value) {
        for planned in plan {
            *self
                .faults
                .entry(format!("{:?}", planned.fault).to_lowercase())
                .or_default() += 1;
        }
        for count in [
            "committed_events",
            "lost",
            "out_of_order",
            "unresolved",
            "duplicated",
            "in_flight_at_kill",
            "parked",
            "started_at_kills",
            "started_at_freezes",
            "frozen_at_work",
            "refused_after_freeze",
            "fenced",
        ] {
            *self.counts.entry(count).or_default() += line[count].as_u64().unwrap_or(0);
        }
    }

    /// A drill in which no zombie is ever refused proves nothing about fences.
    fn fences_hold(&self) -> bool {
        let sum = |count| self.counts.get(count).copied().unwrap_or(0);
        sum("frozen_at_work") < FREEZES_THAT_TELL || sum("refused_after_freeze") > 0
    }

    fn line(&self, seed: u64, kept: bool, took: Duration) -> Value {
        let mut line = json!({
            "drill": "crashes", "seed": seed, "ok": kept, "faults": self.faults, "elapsed_seconds": took.as_secs(),
        });
        for (count, sum) in &self.counts {
            line[*count] = json!(sum);
        }
        line
    }
}
