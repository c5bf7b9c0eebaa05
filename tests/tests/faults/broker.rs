//! The broker stops answering for longer than everybody waits for it (reference/faults.md, row 10).

use tidings_drill::{Profile, Role};
use tidings_judge::evidence::Faults;
use tidings_stack::{Part, Stack, StackOptions};

use crate::load::Load;
use crate::world::{World, counter, health, until, until_busy};

const ORDERS: u32 = 400;
const BEFORE_THE_FAULT: u64 = 30;

/// Deadlines that a frozen broker outlasts within seconds.
fn short_deadlines() -> Profile {
    Profile {
        more: "[relay]\nproduce_deadline = \"2s\"\n\n[limits]\nappend_timeout = \"1s\"\nstall_deadline = \"2s\"\n"
            .into(),
        ..Profile::drill()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_frozen_beyond_all_deadlines() {
    // A stack of its own: no other test shall miss the broker.
    let stack = Stack::start(StackOptions::default()).await.unwrap();
    let world = World::new(&stack, short_deadlines()).await;
    let relay = world.relay().await;
    let mut workers = [world.dispatcher(1).await, world.dispatcher(2).await];
    let load = Load::start(&world, ORDERS);
    load.reaches(BEFORE_THE_FAULT).await;
    until_busy(&workers[0]).await;
    stack.pause(Part::Kafka).await.unwrap();
    until("the relay reads again from the table", async || {
        counter(&relay, "tidings_relay_restarts_total").await > 0
    })
    .await;
    for worker in &workers {
        until_given_up(worker).await;
    }
    stack.resume(Part::Kafka).await.unwrap();
    load.ends().await;
    let report = world.assert_kept(Faults::default()).await;
    assert_eq!(report.counts.duplicated, 0, "nothing was sent twice");
    for worker in &mut workers {
        worker.check_running().unwrap();
    }
    drop((relay, workers));
    stack.stop().await.unwrap();
}

/// Its session has run out, so that its partitions are lost, and nothing is under way.
async fn until_given_up(worker: &Role) {
    until("it has no partitions and no calls", async || {
        let health = health(worker).await;
        health["status"] == "degraded" && health["partitions"] == 0 && health["in_flight"] == 0
    })
    .await;
}
