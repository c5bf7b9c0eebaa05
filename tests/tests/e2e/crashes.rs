//! Roles that die, stop and come back under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use tidings_drill::Profile;
use tidings_load::{LoadOptions, LoadReport};
use tidings_stack::Stack;
use tokio::task::JoinHandle;

use crate::world::{World, busy, in_flight, killed, no_faults};

const ORDERS: u32 = 400;

struct Load {
    done: Arc<AtomicU64>,
    task: JoinHandle<LoadReport>,
}

impl Load {
    fn start(world: &World) -> Self {
        let mut options = LoadOptions::new(world.deployment.place().upstream_url.clone());
        options.orders = ORDERS;
        options.chats = 60;
        options.workers = 4;
        options.rate_per_second = Some(100.0);
        println!("load seed {}", options.seed);
        let done = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&done);
        let task = tokio::spawn(async move {
            let progress = move |progress: tidings_load::Progress| {
                seen.store(progress.orders, Ordering::Relaxed)
            };
            tidings_load::run(options, progress).await.unwrap()
        });
        Self { done, task }
    }

    /// Waits for so many orders, and fails when the load ends before a fault can hit anything.
    async fn reaches(&self, orders: u32) {
        while self.done.load(Ordering::Relaxed) < u64::from(orders) && !self.task.is_finished() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(!self.task.is_finished(), "the load ended before the fault");
    }
}

fn consumer_protocol() -> Profile {
    Profile {
        group_protocol: "consumer",
        ..Profile::drill()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_dispatcher_and_a_killed_relay_lose_nothing() {
    kill_a_dispatcher_and_a_relay(Profile::drill()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_with_the_consumer_protocol() {
    kill_a_dispatcher_and_a_relay(consumer_protocol()).await;
}

async fn kill_a_dispatcher_and_a_relay(profile: Profile) {
    let world = World::with(Stack::shared().await.unwrap(), profile).await;
    world.script(json!({"default_latency_ms": {"mean": 20, "jitter": 15}}));
    let mut relay = world.relay().await;
    let mut dispatchers = [world.dispatcher(1).await, world.dispatcher(2).await];
    let load = Load::start(&world);
    load.reaches(ORDERS / 4).await;
    let victim = busy(&dispatchers.each_ref()).await;
    let dead = dispatchers[victim].kill().unwrap();
    dispatchers[victim].start().await.unwrap();
    load.reaches(ORDERS / 2).await;
    relay.kill().unwrap();
    relay.start().await.unwrap();
    load.task.await.unwrap();
    let report = world.judge(killed(dead)).await;
    world.assert_kept(&report);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_asked_to_stop_leaves_nothing_behind() {
    ask_a_worker_to_stop(Profile::drill()).await;
}

/// The partitions change hands before a slow call ends; the worker stays until what it did is recorded.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_waits_for_calls_that_outlast_the_drain() {
    let profile = Profile {
        call_deadline: Duration::from_secs(8),
        lease: Duration::from_secs(12),
        drain_deadline: Duration::from_secs(1),
        ..Profile::drill()
    };
    let world = World::with(Stack::shared().await.unwrap(), profile).await;
    world.script(json!({"rules": [{"match": {"times": 1}, "action": {"latency_ms": 4_000, "answer": "ok"}}]}));
    let _relay = world.relay().await;
    let mut dispatcher = world.dispatcher(1).await;
    let message = world.say(1, "slow").await;
    in_flight(&dispatcher).await;
    dispatcher.stop(Duration::from_secs(20)).await.unwrap();
    assert_eq!(
        world.settled(message).await.0,
        "delivered",
        "recorded by the worker that stopped"
    );
    dispatcher.start().await.unwrap();
    let later = world.say(1, "later").await;
    assert_eq!(world.settled(later).await.0, "delivered");
    assert_eq!(world.texts(1), ["slow", "later"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_does_it_with_the_consumer_protocol() {
    ask_a_worker_to_stop(consumer_protocol()).await;
}

async fn ask_a_worker_to_stop(profile: Profile) {
    let world = World::with(Stack::shared().await.unwrap(), profile).await;
    world.script(json!({"default_latency_ms": {"mean": 20, "jitter": 15}}));
    let _relay = world.relay().await;
    let (_first, mut second) = (world.dispatcher(1).await, world.dispatcher(2).await);
    let load = Load::start(&world);
    for orders in [ORDERS / 4, ORDERS / 2] {
        load.reaches(orders).await;
        second.stop(Duration::from_secs(20)).await.unwrap();
        let log = std::fs::read_to_string(second.log()).unwrap();
        assert!(
            log.trim_end().ends_with("stopped"),
            "it was killed, or failed: {log}"
        );
        second.start().await.unwrap();
    }
    load.task.await.unwrap();
    let report = world.judge(no_faults()).await;
    world.assert_kept(&report);
    assert_eq!(report.counts.duplicated, 0, "{}", report.table());
}
