//! A deployment of one test's own on the stack that the tests of this process share.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tidings_drill::{Deployment, DeploymentOptions, Role, RoleKind};
use tidings_stack::Stack;
use tidings_tests::languages::repository;
use tidings_tests::{binary, connect};
use tokio_postgres::Client;
use uuid::Uuid;

/// Bounds a broken test, and measures nothing.
const PATIENCE: Duration = Duration::from_secs(90);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

pub struct World {
    pub deployment: Deployment,
    pub upstream: Client,
    /// For whatever a test needs on disk.
    pub folder: PathBuf,
    state: Client,
}

impl World {
    pub async fn new() -> Self {
        let folder =
            std::env::temp_dir().join(format!("tidings-examples-{}", Uuid::new_v4().simple()));
        let options = DeploymentOptions::new(binary(), folder.clone());
        let stack = Stack::shared().await.unwrap();
        let deployment = Deployment::prepare(stack, options).await.unwrap();
        Self {
            upstream: connect(&deployment.place().upstream_url).await,
            state: connect(&deployment.place().state_url).await,
            deployment,
            folder,
        }
    }

    pub async fn run(&self, kind: RoleKind) -> Role {
        self.deployment.run(kind, 1).await.unwrap()
    }

    /// Waits for a message's end and returns the claim's state.
    pub async fn settled(&self, message: Uuid) -> String {
        let statement = "select state from tidings_delivery.claims where message_id = $1 and settled_at is not null";
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(row) = self.state.query_opt(statement, &[&message]).await.unwrap() {
                return row.get(0);
            }
            assert!(Instant::now() < until, "{message} is not settled");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Waits until Kafka has everything that was published.
    pub async fn relayed(&self) {
        let statement = "select (select count(*) from tidings.outbox),
            (select string_agg(reason, '; ') from tidings.outbox_rejected)";
        let until = Instant::now() + PATIENCE;
        loop {
            let row = self.upstream.query_one(statement, &[]).await.unwrap();
            let (left, rejected): (i64, Option<String>) = (row.get(0), row.get(1));
            assert_eq!(rejected, None, "nothing is rejected");
            if left == 0 {
                return;
            }
            assert!(Instant::now() < until, "{left} rows are left in the outbox");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// What people see in a chat, in order.
    pub fn texts(&self, chat: &str) -> Vec<String> {
        let all = self.deployment.simulator().log_from(1);
        let here = |chat_id: Option<String>| chat_id.as_deref() == Some(chat);
        all.into_iter()
            .filter(|entry| entry.accepted && here(entry.chat_id.clone()))
            .filter_map(|entry| entry.text)
            .collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// The folder of the programs under test.
pub fn examples() -> PathBuf {
    repository().join("schemas").join("outbox").join("examples")
}
