//! A deployment of one test's own on a stack with Jaeger.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidings_drill::{Deployment, DeploymentOptions, Role, RoleKind};
use tidings_stack::{Stack, StackOptions};
use tidings_tests::{binary, connect};
use tokio::sync::OnceCell;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::jaeger::Jaeger;

/// Bounds a broken test, and measures nothing.
pub const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A span of a service that calls ours.
pub const UPSTREAM_TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
pub const UPSTREAM_SPAN: &str = "00f067aa0ba902b7";

pub struct World {
    pub deployment: Deployment,
    pub jaeger: Jaeger,
    upstream: Client,
    state: Client,
    folder: PathBuf,
}

impl World {
    pub async fn new() -> Self {
        let folder =
            std::env::temp_dir().join(format!("tidings-traces-{}", Uuid::new_v4().simple()));
        let options = DeploymentOptions::new(binary(), folder.clone());
        let deployment = Deployment::prepare(stack().await, options).await.unwrap();
        let place = deployment.place();
        Self {
            jaeger: Jaeger::at(place.jaeger_url.as_deref().unwrap()),
            upstream: connect(&place.upstream_url).await,
            state: connect(&place.state_url).await,
            deployment,
            folder,
        }
    }

    pub async fn roles(&self) -> [Role; 2] {
        self.roles_with(&[], &[]).await
    }

    /// A relay and a dispatcher with these variables more.
    pub async fn roles_with(
        &self,
        relay: &[(&'static str, &str)],
        dispatcher: &[(&'static str, &str)],
    ) -> [Role; 2] {
        let role = |kind, variables: &[(&'static str, &str)]| {
            let variables = variables.iter().map(|(name, value)| (*name, value.into()));
            let role = self.deployment.role(kind, 1);
            role.with_environment(variables.collect())
        };
        let mut roles = [
            role(RoleKind::Relay, relay),
            role(RoleKind::Dispatcher, dispatcher),
        ];
        for role in &mut roles {
            role.start().await.unwrap();
        }
        for role in &mut roles {
            role.ready(PATIENCE).await.unwrap();
        }
        roles
    }

    pub fn script(&self, script: Value) {
        let script = serde_json::from_value(script).unwrap();
        self.deployment.simulator().set_script(script).unwrap();
    }

    pub async fn say(&self, chat: i64, traceparent: Option<&str>) -> Uuid {
        let row = self
            .upstream
            .query_one(
                "select tidings.publish('notification.requested', 1, $1::text::json, 'greeting', $2::text,
                    jsonb_build_object('platform', 'telegram', 'chat_id', $2::text), traceparent => $3::text)",
                &[&json!({"text": "hello"}).to_string(), &chat.to_string(), &traceparent],
            )
            .await
            .unwrap();
        row.get(0)
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
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// The stack that the tests of this process share; it ends with the process.
async fn stack() -> &'static Stack {
    static STACK: OnceCell<Stack> = OnceCell::const_new();
    let start = || {
        Stack::start(StackOptions {
            jaeger: true,
            ..StackOptions::default()
        })
    };
    STACK.get_or_try_init(start).await.unwrap()
}
