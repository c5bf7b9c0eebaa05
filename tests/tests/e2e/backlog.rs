//! A backlog waits for a worker: memory stays under its bound, whatever the length.
//!
//! `TIDINGS_BACKLOG` sets how many messages (default 20,000); the peaks are printed.

use std::time::{Duration, Instant};

use crate::world::{PATIENCE, World, no_faults};

/// `dispatcher.max_bytes` and librdkafka's fetch queue (16 MiB), twice over for allocator and decoding, and the program
/// itself. The relay's: `max_in_flight_rows` of each of two shards and the producers' queues (32 MiB each).
pub const PEAK_MIB: u64 = 256;

const CHATS: i64 = 5_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_is_drained_within_bounded_memory() {
    let messages: i64 =
        std::env::var("TIDINGS_BACKLOG").map_or(20_000, |text| text.parse().unwrap());
    let world = World::new().await;
    publish(&world, messages, CHATS).await;
    let relay = world.relay().await;
    wait(
        &world.upstream,
        "select count(*) from tidings.outbox",
        0,
        messages,
    )
    .await;
    let began = Instant::now();
    let dispatcher = world.dispatcher(1).await;
    wait(
        &world.state,
        "select count(*) from tidings_delivery.claims where state = 'delivered'",
        messages,
        messages,
    )
    .await;
    let took = began.elapsed();
    for role in [&relay, &dispatcher] {
        let peak = peak_mib(role.pid().unwrap());
        println!(
            "{messages} messages: {} peaked at {peak} MiB of {PEAK_MIB}",
            role.name()
        );
        assert!(peak <= PEAK_MIB, "{}: {peak} MiB", role.name());
    }
    println!("dispatched in {took:?}, start included");
    let report = world.judge(no_faults()).await;
    world.assert_kept(&report);
}

/// As upstream would, with a ledger, a thousand events a transaction.
pub async fn publish(world: &World, messages: i64, chats: i64) {
    tidings_load::prepare(&tidings_load::LoadOptions::new(
        world.deployment.place().upstream_url.clone(),
    ))
    .await
    .unwrap();
    let statement = "
        with planned as materialized (
            select n, 'B' || n as marker, (1 + n % $3)::text as chat, clock_timestamp() as at from generate_series($1::bigint, $2::bigint) n
        ), published as materialized (
            select p.*, tidings.publish('notification.requested', 1, json_build_object('text', 'backlog ' || marker), 'backlog', n::text,
                jsonb_build_object('platform', 'telegram', 'chat_id', chat)) as message_id
            from (select * from planned order by n) p
        )
        insert into load.ledger (message_id, run, tx, ordinal, lane, chat, event_type, marker, expect, inserted_at)
        select message_id, 'backlog', $1, n - $1, 'normal', 'telegram:main:' || chat, 'notification.requested', marker, 'posted', at
        from published";
    let mut first = 1;
    while first <= messages {
        let last = (first + 999).min(messages);
        world
            .upstream
            .execute(statement, &[&first, &last, &chats])
            .await
            .unwrap();
        world
            .upstream
            .execute(
                "insert into load.commits (run, tx) values ('backlog', $1)",
                &[&first],
            )
            .await
            .unwrap();
        first = last + 1;
    }
}

/// Waits for a count, as long as it moves.
pub async fn wait(client: &tokio_postgres::Client, statement: &str, wanted: i64, messages: i64) {
    let patience = PATIENCE + Duration::from_millis(u64::try_from(messages).unwrap());
    let until = Instant::now() + patience;
    loop {
        let count: i64 = client.query_one(statement, &[]).await.unwrap().get(0);
        if count == wanted {
            return;
        }
        assert!(Instant::now() < until, "{statement}: {count}, not {wanted}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

pub fn peak_mib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib / 1_024
}
