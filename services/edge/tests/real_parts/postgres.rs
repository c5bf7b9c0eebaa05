use tidings_edge::postgres::{
    Client, PostgresError, apply_outbox, connect, drop_claim_partitions, ensure_claim_partitions,
    ensure_claim_partitions_ahead, migrate,
};

use super::{config, migrated};

async fn claim(client: &Client, day: &str) {
    let sql = "INSERT INTO tidings_delivery.claims
               (consumer_name, recorded_day, message_id, state, fence, owner, lease_until)
               VALUES ('group', $1::text::date, gen_random_uuid(), 'claimed', 1, 'worker', now())";
    client.execute(sql, &[&day]).await.unwrap();
}

/// In which partition each claim is, in order.
async fn places(client: &Client) -> Vec<String> {
    let sql = "SELECT tableoid::regclass::text FROM tidings_delivery.claims ORDER BY 1";
    let rows = client.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn concurrent_starts_migrate_once() {
    let config = config("migrate_once").await;
    let start = || async {
        let (mut client, _session) = connect(&config.state, "edge-test").await.unwrap();
        migrate(&mut client).await.unwrap()
    };
    let (first, second, third) = tokio::join!(start(), start(), start());
    let mut applied = [first, second, third].concat();
    applied.sort_unstable();
    assert_eq!(
        applied,
        [
            "0001_claims",
            "0002_claim_partitions",
            "0003_penalties",
            "0004_deferred",
            "0005_targets"
        ]
    );
    assert!(start().await.is_empty());
}

#[tokio::test]
async fn a_migration_applied_with_another_text_stops_the_start() {
    let config = config("migration_changed").await;
    let mut client = migrated(&config).await;
    let sql = "UPDATE tidings_delivery.migrations SET sha256 = '\\x00' WHERE name = '0001_claims'";
    client.batch_execute(sql).await.unwrap();
    let error = migrate(&mut client).await.unwrap_err();
    assert!(
        matches!(
            error,
            PostgresError::MigrationChanged {
                name: "0001_claims"
            }
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn claims_of_a_prepared_day_are_in_its_partition_and_are_dropped_with_it() {
    let config = config("partitions").await;
    let client = migrated(&config).await;
    let ensure = || ensure_claim_partitions(&client, "2026-01-30", "2026-02-02");
    assert_eq!(ensure().await.unwrap(), 4);
    assert_eq!(ensure().await.unwrap(), 0);
    for day in ["2026-01-31", "2026-02-01", "1970-01-01", "9999-12-31"] {
        claim(&client, day).await;
    }
    let prefix = "tidings_delivery.claims_";
    let expected = ["20260131", "20260201", "default", "default"];
    assert_eq!(
        places(&client).await,
        expected.map(|part| format!("{prefix}{part}"))
    );

    assert_eq!(
        drop_claim_partitions(&client, "2026-02-01").await.unwrap(),
        2
    );
    let expected = ["20260201", "default", "default"];
    assert_eq!(
        places(&client).await,
        expected.map(|part| format!("{prefix}{part}")),
        "a claim that is open stays"
    );
    let settle = "UPDATE tidings_delivery.claims SET state = 'delivered', settled_at = now()";
    client.batch_execute(settle).await.unwrap();
    drop_claim_partitions(&client, "2026-02-01").await.unwrap();
    let expected = ["20260201", "default"];
    assert_eq!(
        places(&client).await,
        expected.map(|part| format!("{prefix}{part}"))
    );
}

#[tokio::test]
async fn a_day_that_has_rows_in_the_default_partition_is_skipped() {
    let config = config("partition_skipped").await;
    let client = migrated(&config).await;
    claim(&client, "2026-03-02").await;
    let created = ensure_claim_partitions(&client, "2026-03-01", "2026-03-03").await;
    assert_eq!(created.unwrap(), 2);
    assert_eq!(places(&client).await, ["tidings_delivery.claims_default"]);
}

#[tokio::test]
async fn days_ahead_are_counted_from_the_databases_today() {
    let config = config("partitions_ahead").await;
    let client = migrated(&config).await;
    let created = ensure_claim_partitions_ahead(&client, 1, 2).await.unwrap();
    assert_eq!(created, 4);
    let today = "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')";
    let today: String = client.query_one(today, &[]).await.unwrap().get(0);
    claim(&client, &today).await;
    assert!(!places(&client).await[0].ends_with("default"));
}

#[tokio::test]
async fn a_settled_claim_has_a_time_and_an_unsettled_one_has_none() {
    let config = config("claim_states").await;
    let client = migrated(&config).await;
    claim(&client, "2026-01-01").await;
    for change in [
        "state = 'delivered'",
        "settled_at = now()",
        "state = 'sent'",
    ] {
        let sql = format!("UPDATE tidings_delivery.claims SET {change}");
        let refused = client.batch_execute(&sql).await.unwrap_err();
        assert_eq!(refused.code().unwrap().code(), "23514", "{change}");
    }
}

#[tokio::test]
async fn the_outbox_can_be_applied_again() {
    let config = config("outbox").await;
    let (client, _session) = connect(&config.upstream, "edge-test").await.unwrap();
    for _ in 0..2 {
        apply_outbox(&client).await.unwrap();
    }
    let count = "SELECT count(*) FROM tidings.outbox";
    let rows: i64 = client.query_one(count, &[]).await.unwrap().get(0);
    assert_eq!(rows, 0);
}

#[tokio::test]
async fn the_sessions_task_ends_when_the_server_ends_the_session() {
    let config = config("session_ends").await;
    let (client, session) = connect(&config.state, "edge-doomed").await.unwrap();
    let (killer, _session) = connect(&config.state, "edge-killer").await.unwrap();
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE application_name = 'edge-doomed' AND datname = current_database()";
    assert_eq!(killer.query(sql, &[]).await.unwrap().len(), 1);
    session.await.unwrap();
    assert!(client.is_closed());
}

#[tokio::test]
async fn a_pool_does_not_grow_past_its_size() {
    let config = config("pool").await;
    let pool = tidings_edge::postgres::pool(&config.state, "edge-pool", 2).unwrap();
    let work = (0..8).map(|_| async {
        let client = pool.get().await.unwrap();
        client
            .query_one("SELECT pg_sleep(0.01)", &[])
            .await
            .unwrap();
    });
    futures::future::join_all(work).await;
    assert_eq!(pool.status().size, 2);
}
