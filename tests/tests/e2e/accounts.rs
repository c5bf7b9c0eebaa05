//! What happens to one account is no other's business: a revoked token, a platform that is away, bounds of calls that change.

use std::fs;
use std::process::Command;

use serde_json::json;
use tidings_drill::{DrillAccount, Profile, Role};
use tidings_stack::Stack;

use crate::world::{World, until};

const FREE: &str = "exact = false\naccount = [\"1000/1s\"]";

/// The value of a gauge with one label `account`.
async fn gauge(role: &Role, name: &str, account: &str) -> Option<f64> {
    let start = format!("{name}{{account=\"{account}\"}} ");
    let metrics = role.metrics().await?;
    let value = metrics.lines().find_map(|line| line.strip_prefix(&start))?;
    value.trim().parse().ok()
}

async fn until_gauge(role: &Role, name: &str, value: f64) {
    until(&format!("{name} is {value}"), async || {
        gauge(role, name, "telegram:main").await == Some(value)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_stops_its_account_alone_which_comes_back_with_the_new_one() {
    let stack = Stack::shared().await.unwrap();
    let accounts = ["main", "second"].map(|alias| DrillAccount::new(alias, FREE));
    let world = World::with_accounts(stack, Profile::drill(), accounts.into()).await;
    let (_relay, worker) = (world.relay().await, world.dispatcher(1).await);
    let before = world.say(1, "before").await;
    assert_eq!(world.settled(before).await.0, "delivered");
    world.script(json!({"rules": [
        {"match": {"account": "main"}, "action": {"answer": "unauthorized"}},
    ]}));
    let waits = world.say(1, "waits").await;
    let behind = world.say(2, "waits too").await;
    until_gauge(&worker, "tidings_account_stopped", 1.0).await;
    for chat in 1..=20 {
        let message = world.say_as("second", chat, "goes on").await;
        assert_eq!(world.settled(message).await.0, "delivered");
    }
    assert!(world.texts(2).iter().all(|text| text == "goes on"));
    // A token that the platform knows, and that is not refused.
    let file = |alias: &str| world.folder().join(format!("telegram-{alias}.token"));
    fs::copy(file("second"), file("main")).unwrap();
    for message in [waits, behind] {
        let (state, attempts, _) = world.settled(message).await;
        assert_eq!(
            (state.as_str(), attempts),
            ("delivered", 1),
            "it cost no attempt"
        );
    }
    until_gauge(&worker, "tidings_account_stopped", 0.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_whose_platform_fails_is_left_alone_and_then_gets_everything_in_order() {
    let world = World::new().await;
    let (_relay, worker) = (world.relay().await, world.dispatcher(1).await);
    world.script(json!({"rules": [
        {"match": {}, "action": {"answer": {"server_error": {"status": 503}}}},
    ]}));
    let mut messages = Vec::new();
    for nth in 1..=3 {
        for chat in 1..=30 {
            messages.push(world.say(chat, &format!("{nth}")).await);
        }
    }
    until_gauge(&worker, "tidings_circuit_state", 2.0).await;
    let during = world.deployment.simulator().log_from(1).len();
    world.script(json!({"rules": []}));
    for message in messages {
        assert_eq!(world.settled(message).await.0, "delivered");
    }
    for chat in 1..=30 {
        assert_eq!(world.texts(chat), ["1", "2", "3"]);
    }
    until_gauge(&worker, "tidings_circuit_state", 0.0).await;
    let all = world.deployment.simulator().log_from(1).len();
    // Calls that were out when it opened, and one for each message.
    assert!(during < 60 && all <= during + 90 + 30, "{during} of {all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_sighup_the_bound_of_an_accounts_calls_changes_and_the_rest_is_named() {
    let world = World::new().await;
    let (_relay, worker) = (world.relay().await, world.dispatcher(1).await);
    let file = world.deployment.config_file().to_owned();
    let text = fs::read_to_string(&file).unwrap();
    let bounded = text.replace(
        "attempt_header = true",
        "attempt_header = true\nmax_in_flight_calls = 1",
    );
    let bounded = bounded.replace(
        "[dispatcher]\n",
        "[dispatcher]\nstatistics_interval = \"3s\"\n",
    );
    world.script(json!({"rules": [
        {"match": {}, "action": {"latency_ms": 1_500, "answer": "ok"}},
    ]}));
    fs::write(&file, bounded).unwrap();
    hang_up(&worker);
    until_log(&worker, "changed, and in effect").await;
    let log = fs::read_to_string(worker.log()).unwrap();
    assert!(log.contains("dispatcher.statistics_interval"), "{log}");
    assert!(log.contains("started again"), "{log}");
    let mut messages = Vec::new();
    for chat in 1..=4 {
        messages.push(world.say(chat, "slow").await);
    }
    until("all wait", async || {
        health(&worker, "queue_depth").await >= 3
    })
    .await;
    assert!(health(&worker, "in_flight").await <= 1);
    fs::write(&file, text).unwrap();
    hang_up(&worker);
    until("more than one is out", async || {
        health(&worker, "in_flight").await > 1
    })
    .await;
    for message in messages {
        assert_eq!(world.settled(message).await.0, "delivered");
    }
}

async fn health(worker: &Role, field: &str) -> u64 {
    let health = worker.health().await.unwrap_or_default();
    health[field].as_u64().unwrap_or(0)
}

fn hang_up(worker: &Role) {
    let pid = worker.pid().unwrap().to_string();
    assert!(
        Command::new("kill")
            .args(["-HUP", &pid])
            .status()
            .unwrap()
            .success()
    );
}

async fn until_log(worker: &Role, words: &str) {
    until(words, async || {
        fs::read_to_string(worker.log())
            .unwrap_or_default()
            .contains(words)
    })
    .await;
}
