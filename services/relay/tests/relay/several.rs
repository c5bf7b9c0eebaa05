//! Several relays on one outbox, and relays that come, go and lose their sessions, under concurrent transactions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::{Rng, SeedableRng, rngs::StdRng};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::support::{Arrived, World, firsts, notify, until};

const WRITERS: u64 = 6;
const TRANSACTIONS: u64 = 60;
const CHATS: u32 = 8;

/// A published event, and when, by one counter for all writers: before its insert, after its commit returned.
#[derive(Debug, Clone)]
struct Published {
    id: Uuid,
    chat: String,
    transaction: (u64, u64),
    ordinal: usize,
    inserted_after: u64,
    committed_before: u64,
}

#[tokio::test(flavor = "multi_thread")]
async fn two_relays_share_the_shards_and_keep_the_order() {
    let world = World::new().await;
    let first = world.start_relay();
    first.until_owning(2).await;
    let second = world.start_relay();
    until("each relay owns one shard", async || {
        first.health.owned_shards().len() == 1 && second.health.owned_shards().len() == 1
    })
    .await;
    let published = write(&world, 1).await;
    second.stop().await;
    first.until_owning(2).await;
    let mut all = published;
    all.extend(write(&world, 2).await);
    check(&world, &all).await;
    first.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn relays_that_come_go_and_lose_their_sessions_keep_the_order() {
    let world = World::new().await;
    let staying = world.start_relay();
    let trouble = async {
        for _ in 0..4 {
            let passing = world.start_relay();
            until("the new relay has a shard", async || {
                !passing.health.owned_shards().is_empty()
            })
            .await;
            kill_sessions(&world).await;
            passing.stop().await;
        }
    };
    let (published, ()) = tokio::join!(write(&world, 3), trouble);
    check(&world, &published).await;
    staying.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_third_relay_stands_by() {
    let world = World::new().await;
    let relays = [
        world.start_relay(),
        world.start_relay(),
        world.start_relay(),
    ];
    until("three relays own the two shards", async || {
        let owned: usize = relays
            .iter()
            .map(|relay| relay.health.owned_shards().len())
            .sum();
        let most = relays
            .iter()
            .map(|relay| relay.health.owned_shards().len())
            .max();
        let ready = relays
            .iter()
            .all(|relay| tidings_edge::http::HealthSource::ready(&*relay.health).is_ok());
        (owned, most, ready) == (2, Some(1), true)
    })
    .await;
    for relay in relays {
        relay.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_number_of_shards_is_taken_up_while_running() {
    let world = World::new().await;
    let relay = world.start_relay();
    relay.until_owning(2).await;
    let mut published = write(&world, 4).await;
    world
        .client
        .batch_execute("update tidings.outbox_settings set shards = 5")
        .await
        .unwrap();
    published.extend(write(&world, 5).await);
    relay.until_owning(5).await;
    check(&world, &published).await;
    relay.stop().await;
}

/// Ends every session of the relays on this database, as a failover would.
async fn kill_sessions(world: &World) {
    let sql = "select pg_terminate_backend(pid) from pg_stat_activity
               where datname = current_database() and application_name = 'tidings-relay'";
    world.client.query(sql, &[]).await.unwrap();
}

async fn write(world: &World, seed: u64) -> Vec<Published> {
    let clock = Arc::new(AtomicU64::new(seed << 32));
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let client = world.service().await;
        let random = StdRng::seed_from_u64(seed * 1_000 + writer);
        writers.push(tokio::spawn(write_transactions(
            client,
            random,
            (seed << 8) + writer,
            Arc::clone(&clock),
        )));
    }
    let mut published = Vec::new();
    for writer in writers {
        published.extend(writer.await.unwrap());
    }
    published
}

async fn write_transactions(
    client: Client,
    mut random: StdRng,
    writer: u64,
    clock: Arc<AtomicU64>,
) -> Vec<Published> {
    let mut published = Vec::new();
    for transaction in 0..TRANSACTIONS {
        client.batch_execute("begin").await.unwrap();
        let mut events = Vec::new();
        for ordinal in 0..random.random_range(1..4) {
            let chat = random.random_range(0..CHATS).to_string();
            let inserted_after = clock.fetch_add(1, Ordering::SeqCst);
            let id = notify(&client, &chat, "hello").await;
            let transaction = (writer, transaction);
            events.push(Published {
                id,
                chat,
                transaction,
                ordinal,
                inserted_after,
                committed_before: u64::MAX,
            });
        }
        if random.random_bool(0.1) {
            client.batch_execute("rollback").await.unwrap();
            continue;
        }
        client.batch_execute("commit").await.unwrap();
        let committed_before = clock.fetch_add(1, Ordering::SeqCst);
        published.extend(events.into_iter().map(|event| Published {
            committed_before,
            ..event
        }));
    }
    published
}

/// All arrived, nothing else did, and first arrivals follow the order of design §6.
async fn check(world: &World, published: &[Published]) {
    let ids: Vec<Uuid> = published.iter().map(|event| event.id).collect();
    let arrived: Vec<Arrived> = world.until_arrived("telegram.normal", &ids).await;
    world.until_drained().await;
    let firsts = firsts(&arrived);
    assert_eq!(firsts.len(), published.len());
    let mut places: BTreeMap<Uuid, usize> = BTreeMap::new();
    for (place, record) in firsts.iter().enumerate() {
        places.insert(record.id, place);
    }
    for a in published {
        for b in published.iter().filter(|b| precedes(a, b)) {
            assert!(
                places[&a.id] < places[&b.id],
                "{a:?} has to come before {b:?}"
            );
        }
    }
}

fn precedes(a: &Published, b: &Published) -> bool {
    let same_transaction = a.transaction == b.transaction && a.ordinal < b.ordinal;
    a.chat == b.chat && (same_transaction || a.committed_before < b.inserted_after)
}
