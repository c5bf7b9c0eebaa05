//! The promise under what can not be known: lost answers, frozen workers, records that come again.

use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use serde_json::json;
use tidings_drill::Profile;
use tidings_judge::evidence::Faults;
use tidings_load::LoadOptions;
use tidings_simulator::log::Outcome;
use tidings_stack::Stack;

use crate::world::{PATIENCE, World, busy, no_faults, until};

async fn load(world: &World, orders: u32) {
    let mut options = LoadOptions::new(world.deployment.place().upstream_url.clone());
    options.orders = orders;
    options.chats = 60;
    options.workers = 4;
    println!("load seed {}", options.seed);
    tidings_load::run(options, |_| {}).await.unwrap();
}

fn parking() -> Profile {
    Profile {
        more: "[dispatcher.policies]\n\"order.confirmed\" = \"park\"\n\"order.shipped\" = \"park\"\n\"notification.requested\" = \"park\"\n".into(),
        ..Profile::drill()
    }
}

/// One answer in twenty is lost after the platform has accepted the message.
fn lose_answers(world: &World) {
    world.script(json!({"seed": 5, "rules": [{"match": {"probability": 0.05}, "action": {"answer": "lost"}}]}));
}

fn lost_answers(world: &World) -> u64 {
    let calls = world.deployment.simulator().log_from(1);
    calls
        .iter()
        .filter(|call| call.answer == Some(Outcome::Lost))
        .count() as u64
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_answers_are_resent_at_most_once_each() {
    let world = World::new().await;
    lose_answers(&world);
    let (_relay, _dispatcher) = (world.relay().await, world.dispatcher(1).await);
    load(&world, 200).await;
    let faults = Faults {
        unknown_allowance: true,
        ..no_faults()
    };
    let report = world.judge(faults).await;
    world.assert_kept(&report);
    assert_eq!(
        report.counts.duplicated,
        lost_answers(&world),
        "{}",
        report.table()
    );
    assert!(report.counts.duplicated > 0, "no answer was lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_answers_are_parked_and_never_sent_again() {
    let world = World::with(Stack::shared().await.unwrap(), parking()).await;
    lose_answers(&world);
    let (_relay, _dispatcher) = (world.relay().await, world.dispatcher(1).await);
    load(&world, 200).await;
    let report = world.judge_without_delivery(no_faults()).await;
    world.assert_kept(&report);
    assert_eq!(report.counts.duplicated, 0, "{}", report.table());
    assert_eq!(
        report.counts.parked,
        lost_answers(&world),
        "{}",
        report.table()
    );
    assert!(report.counts.parked > 0, "no answer was lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_frozen_beyond_its_lease_is_fenced() {
    let world = World::new().await;
    // Calls outlast what `/health` says of them, so that the victim is frozen within one.
    world.script(json!({"default_latency_ms": {"mean": 1_000, "jitter": 100}}));
    let _relay = world.relay().await;
    let mut dispatchers = [world.dispatcher(1).await, world.dispatcher(2).await];
    let loading = load(&world, 600);
    let freezing = async {
        let victim = busy(&dispatchers.each_ref()).await;
        dispatchers[victim].pause().unwrap();
        other_owner(&world).await;
        dispatchers[victim].resume().unwrap();
        victim
    };
    let ((), victim) = tokio::join!(loading, freezing);
    let frozen = &dispatchers[victim];
    let faults = Faults {
        fenced: frozen.owner().into_iter().collect(),
        ..no_faults()
    };
    let report = world.judge(faults).await;
    world.assert_kept(&report);
    let health = frozen.health().await.unwrap();
    assert!(health["fenced"].as_u64().unwrap() >= 1, "{health}");
}

/// Waits until all that the frozen worker held at its claim is claimed by the other: session and leases have run out.
async fn other_owner(world: &World) {
    let epochs = "select coalesce(sum(epoch), 0)::bigint from tidings_delivery.partition_epochs";
    let expired = "select count(*) from tidings_delivery.claims where state = 'claimed' and lease_until < now()";
    let (before, until) = (count(world, epochs).await, Instant::now() + PATIENCE);
    while count(world, epochs).await == before || count(world, expired).await > 0 {
        assert!(
            Instant::now() < until,
            "nobody takes the frozen worker's partitions"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Its last statement failed, its partitions went elsewhere, and it has nothing more to write: it hears that Postgres is
/// back all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_has_nothing_to_write_is_ready_again() {
    let world = World::new().await;
    let _relay = world.relay().await;
    let mut dispatchers = [world.dispatcher(1).await, world.dispatcher(2).await];
    let locked = "begin; lock table tidings_delivery.claims in access exclusive mode";
    world.state.batch_execute(locked).await.unwrap();
    let mut messages = Vec::new();
    for chat in 1..=12 {
        messages.push(world.say(chat, "locked out").await);
    }
    for dispatcher in &dispatchers {
        until("it says that Postgres does not answer", async || {
            let health = dispatcher.health().await.unwrap_or_default();
            health["status"] == "degraded"
        })
        .await;
    }
    let [away, _] = &mut dispatchers;
    away.pause().unwrap();
    let broken = "select pg_terminate_backend(pid) from pg_stat_activity \
        where application_name = 'tidings-dispatcher' and datname = current_database()";
    world.state.batch_execute(broken).await.unwrap();
    let epochs = "select coalesce(sum(epoch), 0)::bigint from tidings_delivery.partition_epochs";
    let before = count(&world, epochs).await;
    until("the other has its partitions", async || {
        count(&world, epochs).await > before
    })
    .await;
    world.state.batch_execute("commit").await.unwrap();
    for message in messages {
        assert_eq!(world.settled(message).await.0, "delivered");
    }
    away.resume().unwrap();
    away.ready(PATIENCE).await.unwrap();
}

async fn count(world: &World, statement: &str) -> i64 {
    world.state.query_one(statement, &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_come_again_are_all_suppressed() {
    let world = World::new().await;
    let _relay = world.relay().await;
    let mut dispatcher = world.dispatcher(1).await;
    load(&world, 100).await;
    let report = world.judge(no_faults()).await;
    world.assert_kept(&report);
    let calls = world.deployment.simulator().stats().received;
    dispatcher.kill().unwrap();
    let records = rewind(&world).await;
    dispatcher.start().await.unwrap();
    let until = Instant::now() + PATIENCE;
    loop {
        let health = dispatcher.health().await.unwrap_or_default();
        if health["suppressed"].as_u64() == Some(records) {
            break;
        }
        assert!(Instant::now() < until, "{records} records, {health}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(
        world.deployment.simulator().stats().received,
        calls,
        "nothing was sent again"
    );
}

/// Sets the group back to the start, once it has noticed that its member is gone; returns how many records come again.
async fn rewind(world: &World) -> u64 {
    let place = world.deployment.place();
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", &place.brokers)
        .set("group.id", &place.group)
        .set("enable.auto.commit", "false")
        .create()
        .unwrap();
    let (mut list, mut records) = (TopicPartitionList::new(), 0);
    for lane in ["high", "normal"] {
        let topic = format!("{}.telegram.{lane}", place.prefix);
        for partition in 0..i32::try_from(Profile::drill().partitions).unwrap() {
            let (first, end) = consumer
                .fetch_watermarks(&topic, partition, PATIENCE)
                .unwrap();
            records += u64::try_from(end - first).unwrap();
            list.add_partition_offset(&topic, partition, Offset::Offset(first))
                .unwrap();
        }
    }
    let until = Instant::now() + PATIENCE;
    while let Err(refused) = consumer.commit(&list, CommitMode::Sync) {
        assert!(Instant::now() < until, "{refused}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    records
}
