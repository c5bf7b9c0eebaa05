//! The registry of dead and migrated targets: what one worker learnt, no worker pays for again.

use std::process::{Command, Output};

use serde_json::{Value, json};
use tidings_drill::Role;
use tidings_tests::binary;

use crate::world::{PATIENCE, World, until};

/// How many dead and migrated targets a worker knows.
async fn known(role: &Role) -> Option<u64> {
    let metrics = role.metrics().await?;
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("tidings_targets "))?;
    line.trim().parse().ok()
}

async fn knows(role: &Role, targets: u64) {
    until("the worker knows the targets", async || {
        known(role).await == Some(targets)
    })
    .await;
}

fn targets(world: &World, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.arg("targets").args(arguments);
    command.arg("--config").arg(world.deployment.config_file());
    command.output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

/// More than there are partitions, so that both workers have some.
const CHATS: i64 = 12;

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_users_later_messages_settle_without_a_call_on_every_worker() {
    let world = World::new().await;
    world.script(json!({"rules": [{"match": {}, "action": {"answer": "blocked"}}]}));
    let _relay = world.relay().await;
    let (mut first, second) = (world.dispatcher(1).await, world.dispatcher(2).await);
    for chat in 1..=CHATS {
        let message = world.say(chat, "first").await;
        assert_eq!(world.settled(message).await.0, "undeliverable");
    }
    knows(&first, CHATS as u64).await;
    knows(&second, CHATS as u64).await;
    assert_without_calls(&world, "second").await;
    // What the first had is now the second's, which learnt it from the registry.
    first.stop(PATIENCE).await.unwrap();
    assert_without_calls(&world, "third").await;
}

async fn assert_without_calls(world: &World, text: &str) {
    for chat in 1..=CHATS {
        let message = world.say(chat, text).await;
        let (state, attempts, reason) = world.settled(message).await;
        assert_eq!((state.as_str(), attempts), ("undeliverable", 0));
        assert!(reason.contains("blocked"), "{reason}");
        assert_eq!(world.calls(chat).len(), 1, "chat {chat}, {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_sees_dead_targets_and_clears_one_for_all_workers() {
    let world = World::new().await;
    world.script(json!({"rules": [{"match": {}, "action": {"answer": "blocked"}}]}));
    let (_relay, worker) = (world.relay().await, world.dispatcher(1).await);
    assert_eq!(targets(&world, &["list"]).status.code(), Some(3));
    for chat in [1, 2] {
        let message = world.say(chat, "first").await;
        world.settled(message).await;
    }
    knows(&worker, 2).await;
    until("both are in the registry", async || {
        lines(&targets(&world, &["list", "--json"])).len() == 2
    })
    .await;
    let listed = targets(&world, &["list", "--account", "telegram:main", "--json"]);
    for target in lines(&listed) {
        assert_eq!(target["kind"], "dead");
        assert_eq!(target["probe_in_ms"], Value::Null, "blocked: no probe");
        assert!(target["reason"].as_str().unwrap().contains("blocked"));
    }
    let clear = ["clear", "telegram:main", "--chat", "1", "--operator", "ada"];
    let unreasonable = [&clear[..], &["--reason", " "]].concat();
    assert_eq!(targets(&world, &unreasonable).status.code(), Some(4));
    let cleared = [&clear[..], &["--reason", "they unblocked us", "--json"]].concat();
    let cleared = targets(&world, &cleared);
    assert_eq!(lines(&cleared)[0]["cleared"], 1, "{cleared:?}");
    knows(&worker, 1).await;
    world.script(json!({"rules": []}));
    let (back, still) = (world.say(1, "back").await, world.say(2, "still").await);
    assert_eq!(world.settled(back).await.0, "delivered");
    assert_eq!(world.settled(still).await.0, "undeliverable");
    let again = [&clear[..], &["--reason", "twice"]].concat();
    assert_eq!(targets(&world, &again).status.code(), Some(3));
}

const NEW_ID: i64 = -1_001_557_912_345;

#[tokio::test(flavor = "multi_thread")]
async fn a_migrated_groups_later_messages_go_to_its_new_id_on_every_worker() {
    let world = World::new().await;
    world.script(json!({"rules": [
        {"match": {"chat_id": "-5"}, "action": {"answer": {"migrated": {"new_chat_id": NEW_ID}}}},
    ]}));
    let _relay = world.relay().await;
    let (mut first, second) = (world.dispatcher(1).await, world.dispatcher(2).await);
    let message = world.say(-5, "one").await;
    assert_eq!(world.settled(message).await.0, "delivered");
    knows(&first, 1).await;
    knows(&second, 1).await;
    let message = world.say(-5, "two").await;
    assert_eq!(world.settled(message).await.0, "delivered");
    first.stop(PATIENCE).await.unwrap();
    let message = world.say(-5, "three").await;
    assert_eq!(world.settled(message).await.0, "delivered");
    assert_eq!(world.texts(NEW_ID), ["one", "two", "three"], "S8");
    assert_eq!(world.calls(-5).len(), 1, "asked once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_may_come_back_is_probed_by_a_message_and_lives_again() {
    let mut profile = tidings_drill::Profile::drill();
    profile.more =
        "[dispatcher.targets]\nfirst_probe = \"1ms\"\nlongest_probe_wait = \"1ms\"\n".into();
    let stack = tidings_stack::Stack::shared().await.unwrap();
    let world = World::with(stack, profile).await;
    world.script(json!({"rules": [
        {"match": {"chat_id": "3", "times": 2}, "action": {"answer": {"raw": {"status": 400, "body":
            "{\"ok\":false,\"error_code\":400,\"description\":\"Bad Request: not enough rights to send text messages to the chat\"}"}}}},
    ]}));
    let (_relay, worker) = (world.relay().await, world.dispatcher(1).await);
    let message = world.say(3, "dead").await;
    assert_eq!(world.settled(message).await.0, "undeliverable");
    until("a probe finds it alive", async || {
        let message = world.say(3, "probe").await;
        world.settled(message).await.0 == "delivered"
    })
    .await;
    knows(&worker, 0).await;
    assert_eq!(world.posts(3).len(), 1);
}
