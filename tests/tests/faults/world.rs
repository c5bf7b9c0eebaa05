//! A deployment of one test's own, what it tells of itself, and the judge.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidings_drill::{Deployment, DeploymentOptions, Profile, Role, RoleKind};
use tidings_judge::evidence::{AttemptId, Faults, Scope};
use tidings_judge::gather::{Inputs, KafkaInputs, SimulatorLog, Wait};
use tidings_judge::{Report, decide, gather};
use tidings_stack::Stack;
use tidings_tests::{binary, connect};
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// Bounds a broken test, and measures nothing.
pub const PATIENCE: Duration = Duration::from_secs(90);

const LOOK_AGAIN: Duration = Duration::from_millis(20);

pub struct World {
    pub deployment: Deployment,
    pub state: Client,
    folder: PathBuf,
}

impl World {
    /// Calls take a moment, so that a fault finds some under way.
    pub async fn new(stack: &Stack, profile: Profile) -> Self {
        let folder =
            std::env::temp_dir().join(format!("tidings-faults-{}", Uuid::new_v4().simple()));
        let mut options = DeploymentOptions::new(binary(), folder.clone());
        options.profile = profile;
        let deployment = Deployment::prepare(stack, options).await.unwrap();
        let script = json!({"default_latency_ms": {"mean": 100, "jitter": 50}});
        let script = serde_json::from_value(script).unwrap();
        deployment.simulator().set_script(script).unwrap();
        Self {
            state: connect(&deployment.place().state_url).await,
            deployment,
            folder,
        }
    }

    pub async fn relay(&self) -> Role {
        self.role(RoleKind::Relay, 1, Vec::new()).await
    }

    pub async fn dispatcher(&self, number: usize) -> Role {
        self.role(RoleKind::Dispatcher, number, Vec::new()).await
    }

    /// A dispatcher with these settings instead of the deployment's.
    pub async fn dispatcher_with(
        &self,
        number: usize,
        settings: Vec<(&'static str, OsString)>,
    ) -> Role {
        self.role(RoleKind::Dispatcher, number, settings).await
    }

    async fn role(
        &self,
        kind: RoleKind,
        number: usize,
        settings: Vec<(&'static str, OsString)>,
    ) -> Role {
        let role = self.deployment.role(kind, number);
        let mut role = role.with_environment(settings);
        role.start().await.unwrap();
        role.ready(PATIENCE).await.unwrap();
        role
    }

    /// How many calls the platform has received so far.
    pub fn calls(&self) -> u64 {
        self.deployment.simulator().stats().received
    }

    /// How many of a worker's came after the first `before` of all calls.
    pub fn calls_of(&self, owner: Uuid, before: u64) -> usize {
        let log = self.deployment.simulator().log_from(before + 1);
        log.iter()
            .filter_map(|entry| entry.attempt.as_ref()?.parse::<AttemptId>().ok())
            .filter(|attempt| attempt.owner == owner)
            .count()
    }

    /// A number from the state database.
    pub async fn count(&self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> i64 {
        let row = self.state.query_one(statement, values).await.unwrap();
        row.get(0)
    }

    /// Waits until nothing is outstanding; everything must have been delivered, and nothing broken.
    pub async fn assert_kept(&self, faults: Faults) -> Report {
        let place = self.deployment.place();
        let inputs = Inputs {
            upstream_url: place.upstream_url.clone(),
            state_url: place.state_url.clone(),
            simulator: SimulatorLog::Url(place.simulator_url.clone()),
            kafka: Some(KafkaInputs {
                brokers: place.brokers.clone(),
                prefix: place.prefix.clone(),
                group: place.group.clone(),
                platforms: vec!["telegram".into()],
            }),
            scope: Scope::EveryRun,
            faults,
            require_delivery: true,
            wait: Some(Wait {
                quiet: Duration::from_secs(20),
                longest: PATIENCE,
            }),
        };
        let report = decide(&gather(&inputs).await.unwrap());
        let counts = &report.counts;
        println!(
            "duplicated {}, K {}",
            counts.duplicated, counts.in_flight_at_kill
        );
        let logs = self.folder.display();
        assert!(report.passed(), "{}\nlogs are in {logs}", report.table());
        report
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// Waits until it is so.
pub async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !condition().await {
        assert!(Instant::now() < until, "not in time: {what}");
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Waits until a worker has calls under way.
pub async fn until_busy(worker: &Role) {
    until("a call is under way", async || {
        health(worker).await["in_flight"].as_u64() > Some(0)
    })
    .await;
}

/// A role's `/health`; null while it does not answer.
pub async fn health(role: &Role) -> Value {
    role.health().await.unwrap_or_default()
}

/// A counter of a role's `/metrics`; 0 until it was counted.
pub async fn counter(role: &Role, name: &str) -> u64 {
    let metrics = role.metrics().await.unwrap_or_default();
    let mut values = metrics
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    values.next().unwrap_or(0)
}
