//! Chats that have to wait long wait in Postgres: the rest of their partition goes on, and they in order when it is time
//! (design §8; Q5, B19).

mod kills;

use std::ffi::OsString;
use std::process::{Command, Output};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use serde_json::{Value, json};
use tidings_drill::{Profile, Role, RoleKind};
use tidings_stack::Stack;
use tidings_tests::binary;
use uuid::Uuid;

use crate::world::{PATIENCE, World, until};

/// One partition, so that whatever a chat holds up is seen; what waits longer than a second is deferred.
struct Deployed {
    world: World,
    /// Variables of the dispatcher.
    environment: Vec<(&'static str, OsString)>,
}

impl Deployed {
    /// `delays` are those of the interactive profile, which ready texts have.
    async fn new(delays: &str) -> Self {
        let profile = Profile {
            partitions: 1,
            more: format!("[dispatcher.retry.interactive]\ndelays = {delays}\n"),
            ..Profile::drill()
        };
        Self {
            world: World::with(Stack::shared().await.unwrap(), profile).await,
            environment: vec![
                ("TIDINGS_DISPATCHER__HOLD_IN_MEMORY", "1s".into()),
                ("TIDINGS_DISPATCHER__DEFERRED_POLL", "250ms".into()),
            ],
        }
    }

    async fn dispatcher(&self) -> Role {
        let role = self.world.deployment.role(RoleKind::Dispatcher, 1);
        let mut role = role.with_environment(self.environment.clone());
        role.start().await.unwrap();
        role.ready(Duration::from_secs(30)).await.unwrap();
        role
    }

    /// `tidings deferred …` on this deployment.
    fn command(&self, arguments: &[&str]) -> Output {
        Command::new(binary())
            .arg("deferred")
            .args(arguments)
            .args(["--operator", "test"].iter().filter(|_| {
                // Only what changes something asks who wants it.
                matches!(arguments.first(), Some(&"retry-now" | &"dead-letter"))
            }))
            .arg("--config")
            .arg(self.world.deployment.config_file())
            .output()
            .unwrap()
    }

    fn list(&self) -> Vec<Value> {
        objects(&self.command(&["list", "--json"]))
    }

    /// Waits until so many messages of a chat are deferred, and returns its marker.
    async fn deferred(&self, chat: &str, messages: u64) -> Value {
        let found = || {
            let mut all = self.list().into_iter();
            all.find(|line| line["chat_id"] == chat && line["messages"] == messages)
        };
        until("the chat is deferred", async || found().is_some()).await;
        found().unwrap()
    }

    async fn nothing_is_deferred(&self) {
        until("nothing is deferred any more", async || {
            self.command(&["list"]).status.code() == Some(3)
        })
        .await;
    }
}

fn objects(output: &Output) -> Vec<Value> {
    let lines = std::str::from_utf8(&output.stdout).unwrap().lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

async fn settle(world: &World, messages: &[Uuid]) -> Vec<String> {
    let mut ends = Vec::new();
    for message in messages {
        ends.push(world.settled(*message).await.0);
    }
    ends
}

async fn say_many(world: &World, chat: i64, texts: &[&str]) -> Vec<Uuid> {
    let mut messages = Vec::new();
    for text in texts {
        messages.push(world.say(chat, text).await);
    }
    messages
}

/// Committed records of the lane that are not done are none: the group's lag is 0.
async fn everything_is_committed(role: &Role) {
    until("the partition is committed to its end", async || {
        let metrics = role.metrics().await.unwrap_or_default();
        let lags: Vec<&str> = metrics
            .lines()
            .filter(|line| line.starts_with("kafka_consumergroup_lag{"))
            .collect();
        !lags.is_empty() && lags.iter().all(|line| line.ends_with(" 0"))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_hint_defers_and_burns_no_attempt() {
    let deployed = Deployed::new(r#"["200ms"]"#).await;
    let world = &deployed.world;
    world.script(json!({"rules": [
        {"match": {"chat_id": "1", "times": 1}, "action": {"answer": {"throttle": {"retry_after": 4}}}},
    ]}));
    let (_relay, _dispatcher) = (world.relay().await, deployed.dispatcher().await);
    let held = say_many(world, 1, &["a", "b", "c"]).await;
    deployed.deferred("1", 3).await;
    let other = world.say(2, "other").await;
    assert_eq!(world.settled(other).await.0, "delivered");
    assert!(world.posts(1).is_empty(), "the hint is kept");
    for message in &held {
        let (state, attempts, _) = world.settled(*message).await;
        assert_eq!((state.as_str(), attempts), ("delivered", 1));
    }
    assert_eq!(world.texts(1), ["a", "b", "c"]);
    deployed.nothing_is_deferred().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_now_brings_a_chat_back_early() {
    let deployed = Deployed::new(r#"["1h"]"#).await;
    let world = &deployed.world;
    world.script(json!({"rules": [
        {"match": {"chat_id": "1", "times": 1}, "action": {"answer": {"server_error": {"status": 500}}}},
    ]}));
    let (_relay, dispatcher) = (world.relay().await, deployed.dispatcher().await);
    let messages = say_many(world, 1, &["a", "b"]).await;
    let marker = deployed.deferred("1", 2).await;
    assert_eq!(marker["state"], "waiting");
    assert_eq!(marker["account"], "telegram:main");
    everything_is_committed(&dispatcher).await;
    let shown = objects(&deployed.command(&["show", "--chat", "1", "--json"]));
    assert_eq!(shown.len(), 2);
    assert_eq!(shown[0]["message_id"], messages[0].to_string());
    assert_eq!(shown[0]["attempts"], 1);
    let none = deployed.command(&["retry-now", "--chat", "2", "--reason", "x"]);
    assert_eq!(none.status.code(), Some(3), "nothing matched");
    let nobody = deployed.command(&["retry-now", "--reason", "x"]);
    assert_eq!(
        nobody.status.code(),
        Some(2),
        "of everything only with --all"
    );
    let unreasoned = deployed.command(&["retry-now", "--chat", "1"]);
    assert_eq!(unreasoned.status.code(), Some(2));
    let dry = deployed.command(&["retry-now", "--chat", "1", "--reason", "x", "--dry-run"]);
    assert_eq!(dry.status.code(), Some(0));
    assert_eq!(world.calls(1).len(), 1, "so far nothing was changed");

    let done = deployed.command(&[
        "retry-now",
        "--account",
        "telegram:main",
        "--reason",
        "back",
        "--json",
    ]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert_eq!(objects(&done)[0]["state"], "due");
    assert_eq!(settle(world, &messages).await, ["delivered", "delivered"]);
    assert_eq!(
        world.settled(messages[0]).await.1,
        2,
        "what was tried before counts"
    );
    assert_eq!(world.texts(1), ["a", "b"]);
    deployed.nothing_is_deferred().await;
    let last = world.say(1, "c").await;
    assert_eq!(world.settled(last).await.0, "delivered");
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letter_gives_a_chat_up_and_later_messages_go_the_usual_way() {
    let deployed = Deployed::new(r#"["1h"]"#).await;
    let world = &deployed.world;
    world.script(json!({"rules": [
        {"match": {"chat_id": "1", "times": 1}, "action": {"answer": {"server_error": {"status": 500}}}},
    ]}));
    let (_relay, _dispatcher) = (world.relay().await, deployed.dispatcher().await);
    let messages = say_many(world, 1, &["a", "b", "c"]).await;
    deployed.deferred("1", 3).await;
    let done = deployed.command(&[
        "dead-letter",
        "--chat",
        "telegram:main:1",
        "--reason",
        "wrong chat",
    ]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    for message in &messages {
        let (state, _, reason) = world.settled(*message).await;
        assert_eq!(state, "dead_lettered");
        assert!(reason.contains("given up by test: wrong chat"), "{reason}");
    }
    assert_eq!(world.calls(1).len(), 1, "none went out after it");
    deployed.nothing_is_deferred().await;
    let last = world.say(1, "d").await;
    assert_eq!(world.settled(last).await.0, "delivered");
    assert_eq!(dead_letters(world), 3);
}

/// How many records the dead-letter topic has.
fn dead_letters(world: &World) -> i64 {
    let place = world.deployment.place();
    let mut client = ClientConfig::new();
    client.set("bootstrap.servers", &place.brokers);
    let consumer: BaseConsumer = client.create().unwrap();
    let topic = format!("{}.telegram.dead-letter", place.prefix);
    let metadata = consumer.fetch_metadata(Some(&topic), PATIENCE).unwrap();
    let partitions = metadata.topics()[0].partitions().iter();
    let ends = partitions.map(|partition| {
        let watermarks = consumer.fetch_watermarks(&topic, partition.id(), PATIENCE);
        watermarks.unwrap().1
    });
    ends.sum()
}

/// B19: what a hot chat has too much waits in Postgres, and its partition is never paused for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_hot_chat_outgrows_its_share_without_holding_its_partition() {
    let mut deployed = Deployed::new(r#"["200ms"]"#).await;
    deployed
        .environment
        .push(("TIDINGS_DISPATCHER__MAX_RECORDS_PER_CHAT", "8".into()));
    let world = &deployed.world;
    world.script(json!({"rules": [{"match": {"chat_id": "1"}, "action": {"latency_ms": 30}}]}));
    let (_relay, dispatcher) = (world.relay().await, deployed.dispatcher().await);
    let publish = "select count(tidings.publish('notification.requested', 1, json_build_object('text', n::text), 'greeting', '1',
        jsonb_build_object('platform', 'telegram', 'chat_id', '1'))) from generate_series(1, 120) n";
    world.upstream.query_one(publish, &[]).await.unwrap();
    let other = world.say(2, "other").await;
    assert_eq!(world.settled(other).await.0, "delivered");
    until("all are posted", async || world.posts(1).len() >= 120).await;
    let expected: Vec<String> = (1..=120).map(|n| n.to_string()).collect();
    assert_eq!(world.texts(1), expected, "in order, each once");
    deployed.nothing_is_deferred().await;
    let metrics = dispatcher.metrics().await.unwrap();
    let written =
        r#"tidings_deferred_messages_total{platform="telegram",lane="normal",step="written"}"#;
    assert!(metrics.contains(written), "{metrics}");
}
