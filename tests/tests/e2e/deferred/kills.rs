//! Workers and servers that die while chats are deferred.

use std::time::{Duration, Instant};

use serde_json::json;
use tidings_drill::Profile;
use tidings_load::LoadOptions;
use tidings_stack::{Part, Stack, StackOptions};
use tidings_tests::connect;

use super::{Deployed, everything_is_committed};
use crate::backlog;
use crate::world::{World, killed, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_fails_long_is_deferred_survives_a_crash_and_drains_in_order() {
    let profile = Profile {
        partitions: 1,
        retry_base: Duration::from_millis(1_500),
        retry_attempts: 100,
        more: "[dispatcher.retry.interactive]\ndelays = [\"1500ms\", \"1500ms\", \"2s\", \"2s\", \"2s\", \"2s\", \"2s\", \
               \"2s\", \"2s\", \"2s\", \"2s\", \"2s\", \"2s\", \"2s\", \"2s\", \"2s\", \"2s\", \"2s\", \"2s\", \"2s\"]\n"
            .into(),
        ..Profile::drill()
    };
    let deployed = Deployed {
        world: World::with(Stack::shared().await.unwrap(), profile).await,
        environment: vec![("TIDINGS_DISPATCHER__HOLD_IN_MEMORY", "1s".into())],
    };
    let world = &deployed.world;
    let failing = 1_000_001_i64;
    world.script(json!({"rules": [
        {"match": {"chat_id": failing.to_string()}, "action": {"answer": {"server_error": {"status": 503}}}},
    ]}));
    let (_relay, mut dispatcher) = (world.relay().await, deployed.dispatcher().await);
    let mut options = LoadOptions::new(world.deployment.place().upstream_url.clone());
    (options.orders, options.chats) = (150, 6);
    options.first_chat_id = failing;
    println!("load seed {}", options.seed);
    tidings_load::run(options, |_| {}).await.unwrap();
    everything_is_committed(&dispatcher).await;
    let waiting = deployed.list();
    assert!(!waiting.is_empty(), "it waits in Postgres");
    let chat = format!("telegram:main:{failing}");
    assert!(
        waiting.iter().all(|line| line["chat"] == *chat),
        "{waiting:?}"
    );
    let open = "select count(*) from tidings_delivery.claims where settled_at is null";
    let open: i64 = world.state.query_one(open, &[]).await.unwrap().get(0);
    assert!(open <= 2, "only the heads of its lanes: {open}");
    assert!(world.posts(failing).is_empty());

    let dead = dispatcher.kill().unwrap();
    dispatcher.start().await.unwrap();
    dispatcher.ready(Duration::from_secs(60)).await.unwrap();
    until("it is known again", async || {
        let health = dispatcher.health().await.unwrap_or_default();
        health["deferred_chats"].as_u64() == Some(waiting.len() as u64)
    })
    .await;
    world.script(json!({"rules": []}));
    deployed.nothing_is_deferred().await;
    let report = world.judge(killed(dead)).await;
    world.assert_kept(&report);
    assert_eq!(report.counts.out_of_order, 0, "{}", report.table());
    assert!(!world.posts(failing).is_empty());
    let metrics = dispatcher.metrics().await.unwrap();
    assert!(
        metrics.contains("tidings_deferred_messages_total{"),
        "{metrics}"
    );
}

/// Half of all goes to one chat that outgrows its share, so that kills find it in memory, in Postgres and on both ways.
#[tokio::test(flavor = "multi_thread")]
async fn kills_while_a_hot_chat_goes_through_postgres_lose_and_reorder_nothing() {
    let mut deployed = Deployed::new(r#"["200ms"]"#).await;
    for (key, value) in [
        ("TIDINGS_DISPATCHER__MAX_RECORDS_PER_CHAT", "6"),
        ("TIDINGS_DISPATCHER__DEFERRED_LOAD_BATCH", "5"),
    ] {
        deployed.environment.push((key, value.into()));
    }
    let world = &deployed.world;
    world.script(json!({"default_latency_ms": {"mean": 12, "jitter": 8}}));
    let (_relay, mut dispatcher) = (world.relay().await, deployed.dispatcher().await);
    let mut options = LoadOptions::new(world.deployment.place().upstream_url.clone());
    (options.orders, options.chats) = (300, 10);
    (options.hot_chat_share, options.workers) = (0.5, 4);
    println!("load seed {}", options.seed);
    let load = tokio::spawn(tidings_load::run(options, |_| {}));
    let mut dead = Vec::new();
    for posts in [60, 200] {
        until("a part is posted", async || {
            world.deployment.simulator().log_from(1).len() >= posts
        })
        .await;
        until("something is deferred", async || {
            !deployed.list().is_empty()
        })
        .await;
        dead.extend(dispatcher.kill().unwrap());
        dispatcher.start().await.unwrap();
        dispatcher.ready(Duration::from_secs(60)).await.unwrap();
    }
    load.await.unwrap().unwrap();
    let report = world.judge(killed(dead)).await;
    world.assert_kept(&report);
    deployed.nothing_is_deferred().await;
}

/// `TIDINGS_DEFERRED` sets how many messages (default 5,000); the peak and the time are printed.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_deferred_survives_a_restart_of_everything_within_bounded_memory() {
    let messages: i64 =
        std::env::var("TIDINGS_DEFERRED").map_or(5_000, |text| text.parse().unwrap());
    let stack = Stack::start(StackOptions::default()).await.unwrap();
    let profile = Profile {
        // Every chat's first message fails: that is no reason to leave the account alone.
        more: "[dispatcher.circuit]\nwindow = 10000\nmin_outcomes = 10000\n\n\
               [dispatcher.retry.interactive]\ndelays = [\"1h\"]\n"
            .into(),
        ..Profile::drill()
    };
    let deployed = Deployed {
        world: World::with(&stack, profile).await,
        environment: vec![("TIDINGS_DISPATCHER__HOLD_IN_MEMORY", "1s".into())],
    };
    let world = &deployed.world;
    world.script(
        json!({"rules": [{"match": {}, "action": {"answer": {"server_error": {"status": 503}}}}]}),
    );
    backlog::publish(world, messages, 300).await;
    let (mut relay, mut dispatcher) = (world.relay().await, deployed.dispatcher().await);
    let began = Instant::now();
    let waiting = "select count(*) from tidings_delivery.deferred_messages";
    backlog::wait(&world.state, waiting, messages, messages).await;
    everything_is_committed(&dispatcher).await;
    let peak = backlog::peak_mib(dispatcher.pid().unwrap());
    println!(
        "{messages} messages deferred in {:?}, peak {peak} MiB",
        began.elapsed()
    );
    assert!(peak <= backlog::PEAK_MIB, "{peak} MiB");

    let mut dead = Vec::from_iter(dispatcher.kill().unwrap());
    dead.extend(relay.kill().unwrap());
    for part in [Part::Kafka, Part::Postgres] {
        stack.restart(part).await.unwrap();
    }
    world.script(json!({"rules": []}));
    for role in [&mut relay, &mut dispatcher] {
        role.start().await.unwrap();
        role.ready(Duration::from_secs(60)).await.unwrap();
    }
    let began = Instant::now();
    let done = deployed.command(&["retry-now", "--all", "--reason", "it is up"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let state = connect(&world.deployment.place().state_url).await;
    let delivered = "select count(*) from tidings_delivery.claims where state = 'delivered'";
    backlog::wait(&state, delivered, messages, messages).await;
    let peak = backlog::peak_mib(dispatcher.pid().unwrap());
    println!(
        "{messages} deferred messages drained in {:?}, peak {peak} MiB",
        began.elapsed()
    );
    assert!(peak <= backlog::PEAK_MIB, "{peak} MiB");
    deployed.nothing_is_deferred().await;
    let report = world.judge(killed(dead)).await;
    world.assert_kept(&report);
    assert_eq!(report.counts.duplicated, 0, "{}", report.table());
    drop((relay, dispatcher));
    stack.stop().await.unwrap();
}
