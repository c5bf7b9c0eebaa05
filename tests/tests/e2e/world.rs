//! A deployment of one test's own on the stack that all tests of this process share.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidings_drill::{Deployment, DeploymentOptions, DrillAccount, Profile, Role, RoleKind};
use tidings_judge::evidence::{Faults, Scope};
use tidings_judge::gather::{Inputs, KafkaInputs, SimulatorLog, Wait};
use tidings_judge::{Report, decide, gather};
use tidings_simulator::log::Entry;
use tidings_stack::Stack;
use tidings_tests::{binary, connect};
use tokio_postgres::Client;
use uuid::Uuid;

/// Far beyond what anything here takes: it bounds a broken test, and measures nothing.
pub const PATIENCE: Duration = Duration::from_secs(90);

const LOOK_AGAIN: Duration = Duration::from_millis(20);

pub struct World {
    pub deployment: Deployment,
    pub upstream: Client,
    pub state: Client,
    folder: PathBuf,
}

impl World {
    pub async fn new() -> Self {
        Self::with(Stack::shared().await.unwrap(), Profile::drill()).await
    }

    pub async fn with(stack: &Stack, profile: Profile) -> Self {
        Self::with_accounts(stack, profile, Vec::new()).await
    }

    /// The same with these accounts; without any: `main`.
    pub async fn with_accounts(
        stack: &Stack,
        profile: Profile,
        accounts: Vec<DrillAccount>,
    ) -> Self {
        let folder = std::env::temp_dir().join(format!("tidings-e2e-{}", Uuid::new_v4().simple()));
        let mut options = DeploymentOptions::new(binary(), folder.clone());
        options.profile = profile;
        options.accounts = accounts;
        let deployment = Deployment::prepare(stack, options).await.unwrap();
        let upstream = connect(&deployment.place().upstream_url).await;
        let state = connect(&deployment.place().state_url).await;
        Self {
            deployment,
            upstream,
            state,
            folder,
        }
    }

    /// Where the deployment's files are.
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    pub async fn relay(&self) -> Role {
        self.deployment.run(RoleKind::Relay, 1).await.unwrap()
    }

    pub async fn dispatcher(&self, number: usize) -> Role {
        self.deployment
            .run(RoleKind::Dispatcher, number)
            .await
            .unwrap()
    }

    pub fn script(&self, script: Value) {
        let script = serde_json::from_value(script).unwrap();
        self.deployment.simulator().set_script(script).unwrap();
    }

    /// Publishes a ready text for a chat, as psql would.
    pub async fn say(&self, chat: i64, text: &str) -> Uuid {
        self.publish(chat, &json!({"text": text}).to_string(), "default")
            .await
    }

    /// Publishes a ready text for a chat of an account.
    pub async fn say_as(&self, account: &str, chat: i64, text: &str) -> Uuid {
        let statement = "select tidings.publish('notification.requested', 1, $1::text::json, 'greeting', $3::text,
            jsonb_build_object('platform', 'telegram', 'account', $2::text, 'chat_id', $3::text))";
        let data = json!({"text": text}).to_string();
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
            [&data, &account, &chat.to_string()];
        let row = self.upstream.query_one(statement, &values).await.unwrap();
        row.get(0)
    }

    /// Publishes with the data's text as it is; `expires_at` is SQL.
    pub async fn publish(&self, chat: i64, data: &str, expires_at: &str) -> Uuid {
        let expires_at = if expires_at == "default" {
            "null"
        } else {
            expires_at
        };
        let statement = format!(
            "select tidings.publish('notification.requested', 1, $1::text::json, 'greeting', $2::text,
                jsonb_build_object('platform', 'telegram', 'chat_id', $2::text), expires_at => {expires_at})"
        );
        let row = self
            .upstream
            .query_one(&statement, &[&data, &chat.to_string()])
            .await
            .unwrap();
        row.get(0)
    }

    /// Waits for a message's end and returns (state, attempts, reason).
    pub async fn settled(&self, message: Uuid) -> (String, i32, String) {
        let statement = "select state, attempts, coalesce(reason, '') from tidings_delivery.claims
            where message_id = $1 and settled_at is not null";
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(row) = self.state.query_opt(statement, &[&message]).await.unwrap() {
                return (row.get(0), row.get(1), row.get(2));
            }
            assert!(
                Instant::now() < until,
                "{message} is not settled: {}",
                self.logs()
            );
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// What the platform accepted in a chat, in order.
    pub fn posts(&self, chat: i64) -> Vec<Entry> {
        self.calls(chat)
            .into_iter()
            .filter(|entry| entry.accepted)
            .collect()
    }

    pub fn texts(&self, chat: i64) -> Vec<String> {
        self.posts(chat)
            .into_iter()
            .filter_map(|entry| entry.text)
            .collect()
    }

    /// Every call for a chat, accepted or not.
    pub fn calls(&self, chat: i64) -> Vec<Entry> {
        let all = self.deployment.simulator().log_from(1);
        let chat = chat.to_string();
        all.into_iter()
            .filter(|entry| entry.chat_id.as_deref() == Some(&chat))
            .collect()
    }

    /// Waits until nothing is outstanding, and judges; whatever should be posted must be delivered.
    pub async fn judge(&self, faults: Faults) -> Report {
        self.judged(faults, true).await
    }

    /// The same where some is given up on purpose.
    pub async fn judge_without_delivery(&self, faults: Faults) -> Report {
        self.judged(faults, false).await
    }

    async fn judged(&self, faults: Faults, require_delivery: bool) -> Report {
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
            require_delivery,
            wait: Some(Wait {
                quiet: Duration::from_secs(20),
                longest: PATIENCE,
            }),
        };
        decide(&gather(&inputs).await.unwrap())
    }

    pub fn assert_kept(&self, report: &Report) {
        assert!(report.passed(), "{}\n{}", report.table(), self.logs());
    }

    fn logs(&self) -> String {
        let mut text = String::new();
        for entry in std::fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
        {
            if entry.path().extension().is_some_and(|e| e == "log") {
                let log = std::fs::read_to_string(entry.path()).unwrap_or_default();
                let from = log.len().saturating_sub(4_000);
                let tail: String = log.chars().skip(log[..from].chars().count()).collect();
                text.push_str(&format!("\n--- {}\n{tail}", entry.path().display()));
            }
        }
        text
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

pub fn killed(owners: impl IntoIterator<Item = Uuid>) -> Faults {
    Faults {
        killed: HashSet::from_iter(owners),
        fenced: HashSet::new(),
        unknown_allowance: false,
    }
}

pub fn no_faults() -> Faults {
    killed([])
}

/// Waits until it is so.
pub async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !condition().await {
        assert!(Instant::now() < until, "not in time: {what}");
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Waits until a dispatcher has a call out.
pub async fn in_flight(role: &Role) {
    busy(&[role]).await;
}

/// Waits until one of the dispatchers has a call out, and returns its place: a worker may own quiet partitions only.
pub async fn busy(roles: &[&Role]) -> usize {
    let until = Instant::now() + PATIENCE;
    loop {
        for (place, role) in roles.iter().enumerate() {
            let health = role.health().await.unwrap_or_default();
            if health["in_flight"].as_u64().unwrap_or(0) > 0 {
                return place;
            }
        }
        assert!(Instant::now() < until, "nothing is ever in flight");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
