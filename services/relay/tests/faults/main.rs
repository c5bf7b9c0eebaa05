//! The relay while its servers fail; in a process of its own, because its stack is nobody else's.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

use support::{World, notify, of_chat, until};
use tidings_stack::Part;
use uuid::Uuid;

const CHAT: &str = "1";
const LANE: &str = "telegram.normal";

async fn notify_some(world: &World) -> Vec<Uuid> {
    let service = world.service().await;
    let mut ids = Vec::new();
    for _ in 0..200 {
        ids.push(notify(&service, CHAT, "hello").await);
    }
    ids
}

/// One test, because each part of it changes the stack that the next one needs.
#[tokio::test(flavor = "multi_thread")]
async fn recovers_by_itself_from_each_servers_failure() {
    let world = World::with(|config| config.relay.produce_deadline = Duration::from_secs(2)).await;
    let relay = world.start_relay();
    relay.until_owning(2).await;
    let mut expected = notify_some(&world).await;

    world.stack.restart(Part::Kafka).await.unwrap();
    expected.extend(notify_some(&world).await);
    assert_eq!(
        of_chat(&world.until_arrived(LANE, &expected).await, CHAT),
        expected
    );

    // Longer than the relay's own deadline: producers are dropped, rows are read again.
    world.stack.pause(Part::Kafka).await.unwrap();
    expected.extend(notify_some(&world).await);
    until("a shard gave its producer up", async || {
        relay.health.owned_shards().len() < 2
    })
    .await;
    world.stack.resume(Part::Kafka).await.unwrap();
    assert_eq!(
        of_chat(&world.until_arrived(LANE, &expected).await, CHAT),
        expected
    );

    world.stack.restart(Part::Postgres).await.unwrap();
    expected.extend(notify_some(&world).await);
    assert_eq!(
        of_chat(&world.until_arrived(LANE, &expected).await, CHAT),
        expected
    );

    // What is known already flows without the registry.
    world.stack.stop_part(Part::Registry).await.unwrap();
    expected.extend(notify_some(&world).await);
    assert_eq!(
        of_chat(&world.until_arrived(LANE, &expected).await, CHAT),
        expected
    );
    relay.stop().await;

    let again = world.start_relay();
    expected.extend(notify_some(&world).await);
    assert_eq!(
        of_chat(&world.until_arrived(LANE, &expected).await, CHAT),
        expected
    );
    again.stop().await;
}
