//! Claim checks (requirement B7): refused with a hint in upstream's own statement, carried as they are.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tidings_envelope::{
    Catalogue, ClaimCheck, Destination, Limits, Message, WriterSchema, decode, wire,
};
use tidings_relay::{NewEvent, publish};
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use crate::support::{Arrived, World, until};

fn claim_check() -> ClaimCheck {
    ClaimCheck {
        storage_key: "notices/2026/Größe 1.txt".into(),
        content_type: "text/plain; charset=utf-8".into(),
        size_bytes: 4_711,
        sha256: "0a".repeat(32),
    }
}

fn with(field: &str, value: Value) -> String {
    let mut claim = serde_json::to_value(claim_check()).unwrap();
    claim[field] = value;
    claim.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_consumer_could_fetch_is_refused_with_a_hint() {
    let world = World::new().await;
    for (claim, problem) in [
        ("null".to_owned(), "is not an object"),
        ("[]".to_owned(), "is not an object"),
        ("{}".to_owned(), "storage_key is missing"),
        (with("url", json!("x")), "unknown key \"url\""),
        (with("storage_key", json!("")), "storage_key is missing"),
        (
            with("storage_key", json!(5)),
            "storage_key is missing or not text",
        ),
        (
            with("storage_key", json!("é".repeat(513))),
            "longer than 1024 bytes",
        ),
        (with("storage_key", json!("https://s3/b/k")), "is a link"),
        (with("storage_key", json!("s3://b/k")), "is a link"),
        (
            with("storage_key", json!("k?X-Amz-Signature=1")),
            "is a link",
        ),
        (with("storage_key", json!("/etc/passwd")), "\"..\" part"),
        (with("storage_key", json!("a/../../b")), "\"..\" part"),
        (with("storage_key", json!("a//b")), "\"..\" part"),
        (with("storage_key", json!("a\nb")), "control character"),
        (with("content_type", Value::Null), "content_type is missing"),
        (with("content_type", json!("text")), "not a media type"),
        (
            with("size_bytes", json!(0)),
            "size_bytes is not a whole number",
        ),
        (
            with("size_bytes", json!(1.5)),
            "size_bytes is not a whole number",
        ),
        (
            with("size_bytes", json!("9")),
            "size_bytes is not a whole number",
        ),
        (
            with("size_bytes", json!(5_368_709_121_i64)),
            "size_bytes is more than",
        ),
        (with("sha256", json!("0A".repeat(32))), "sha256 is not 64"),
        (with("sha256", json!("0a")), "sha256 is not 64"),
    ] {
        let sql = "select tidings.publish('notification.requested', 1, '{}', 'order', '1', claim_check => $1::text::jsonb)";
        let error = world.client.query_one(sql, &[&claim]).await.unwrap_err();
        let error = error.as_db_error().unwrap();
        assert_eq!(error.code(), &SqlState::INVALID_PARAMETER_VALUE, "{claim}");
        assert!(error.message().starts_with("tidings.publish: claim_check"));
        assert!(
            error.message().contains(problem),
            "{claim}: {}",
            error.message()
        );
        assert!(error.hint().is_some(), "{claim}");
    }
    assert_eq!(world.count("tidings.outbox").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_arrives_as_it_was_published_from_sql_and_from_rust() {
    let world = World::new().await;
    let mut service = world.service().await;
    let data = RawValue::from_string(r#"{"text": ""}"#.into()).unwrap();
    let mut event = NewEvent::new("notification.requested", 1, data, "order", "o-1");
    event.destination = Some(Destination {
        platform: "telegram".into(),
        account: "main".into(),
        chat_id: "1".into(),
        thread_id: None,
    });
    event.claim_check = Some(claim_check());
    let transaction = service.transaction().await.unwrap();
    let from_rust = publish(&transaction, &event).await.unwrap();
    transaction.commit().await.unwrap();
    let sql = "select tidings.publish('notification.requested', 1, '{\"text\": \"\"}', 'order', 'o-1',
                   '{\"platform\": \"telegram\", \"chat_id\": \"1\"}', claim_check => $1::text::jsonb)";
    let claim = serde_json::to_string(&claim_check()).unwrap();
    let from_sql: Uuid = world.client.query_one(sql, &[&claim]).await.unwrap().get(0);

    let relay = world.start_relay();
    let arrived = world
        .until_arrived("telegram.normal", &[from_rust, from_sql])
        .await;
    for id in [from_rust, from_sql] {
        let record = arrived.iter().find(|record| record.id == id).unwrap();
        assert_eq!(message(record).envelope.claim_check, Some(claim_check()));
    }
    relay.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_no_text_uses_is_moved_aside_with_all_it_had() {
    let world = World::new().await;
    let data =
        r#"{"order_id":"A-1","customer_name":"Ada","amount":"19.99","currency":"EUR","items":[]}"#;
    let claim = serde_json::to_string(&claim_check()).unwrap();
    let sql = "select tidings.publish('order.confirmed', 1, $1::text::json, 'order', 'A-1',
                   jsonb_build_object('platform', 'telegram', 'chat_id', '1'), claim_check => $2::text::jsonb),
               tidings.publish('order.confirmed', 1, $1::text::json, 'order', 'A-1', claim_check => $2::text::jsonb)";
    let row = world.client.query_one(sql, &[&data, &claim]).await.unwrap();
    let (to_chat, to_stream): (Uuid, Uuid) = (row.get(0), row.get(1));
    let relay = world.start_relay();
    let fed = world.until_arrived("relay.dead-letter", &[to_chat]).await;
    let shown: Value = serde_json::from_slice(&fed[0].value).unwrap();
    assert_eq!(
        (&shown["code"], &shown["field"]),
        (&json!("invalid_envelope"), &json!("claim_check"))
    );
    assert_eq!(
        shown["claim_check"],
        serde_json::to_value(claim_check()).unwrap()
    );
    let reason = shown["reason"].as_str().unwrap();
    assert!(reason.contains("notification.requested"), "{reason}");
    let streamed = world.until_arrived("events.order", &[to_stream]).await;
    assert_eq!(
        message(&streamed[0]).envelope.claim_check,
        Some(claim_check())
    );
    relay.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_was_written_around_publish_stops_nothing() {
    let world = World::new().await;
    let sql =
        "select tidings.publish('notification.requested', 1, '{\"text\": \"x\"}', 'order', 'o-1',
                   '{\"platform\": \"telegram\", \"chat_id\": \"1\"}')";
    let mut ids: Vec<Uuid> = Vec::new();
    for _ in 0..3 {
        ids.push(world.client.query_one(sql, &[]).await.unwrap().get(0));
    }
    let spoil = "update tidings.outbox set claim_check = $2::text::jsonb where message_id = $1";
    for (id, claim) in [
        (ids[0], "7"),
        (ids[1], r#"{"storage_key": "k", "size_bytes": "many"}"#),
    ] {
        world.client.execute(spoil, &[&id, &claim]).await.unwrap();
    }
    let relay = world.start_relay();
    world.until_arrived("telegram.normal", &ids[2..]).await;
    until("both are rejected", async || {
        world
            .count("tidings.outbox_rejected where field like 'claim_check.%'")
            .await
            == 2
    })
    .await;
    relay.stop().await;
}

/// The outbox before claim checks: without the columns, and with the function that would make calls ambiguous.
const BEFORE: &str = "
    drop function tidings.publish;
    alter table tidings.outbox drop column claim_check;
    alter table tidings.outbox_rejected drop column claim_check;
    create function tidings.publish(
        event_type text, event_version int, data json, aggregate_type text, aggregate_id text,
        destination jsonb default null, priority text default 'normal', aggregate_sequence bigint default null,
        occurred_at timestamptz default now(), expires_at timestamptz default null, correlation_id text default null,
        causation_id text default null, traceparent text default null, message_id uuid default null
    ) returns uuid language sql as 'select null::uuid';
    revoke all on function tidings.publish from public;";

#[tokio::test(flavor = "multi_thread")]
async fn an_outbox_of_before_is_brought_up_to_date_and_who_could_publish_still_can() {
    let world = World::new().await;
    let role = format!("shop_{}", Uuid::new_v4().simple());
    world.client.batch_execute(BEFORE).await.unwrap();
    let granted =
        format!("create role {role}; grant execute on function tidings.publish to {role};");
    world.client.batch_execute(&granted).await.unwrap();
    for _ in 0..2 {
        tidings_edge::postgres::apply_outbox(&world.client)
            .await
            .unwrap();
    }
    let sql = "select count(*), bool_and(has_function_privilege($1::text, oid, 'execute')), bool_or(has_function_privilege('public', oid, 'execute'))
               from pg_proc where proname = 'publish' and pronamespace = 'tidings'::regnamespace";
    let row = world.client.query_one(sql, &[&role]).await.unwrap();
    assert_eq!(
        (row.get::<_, i64>(0), row.get(1), row.get(2)),
        (1, true, false)
    );
    let sql = "select tidings.publish('order.confirmed', 1, '{}', 'order', '1')";
    let id: Option<Uuid> = world.client.query_one(sql, &[]).await.unwrap().get(0);
    assert!(id.is_some());
    let cleanup = format!("drop owned by {role}; drop role {role};");
    world.client.batch_execute(&cleanup).await.unwrap();
}

fn message(record: &Arrived) -> Message {
    let catalogue = Catalogue::builtin().unwrap();
    let event = catalogue.get(&record.headers["ce_type"], 1).unwrap();
    let writer = WriterSchema::bind(&catalogue, event.schema_json()).unwrap();
    let (_, body) = wire::split(&record.value).unwrap();
    decode(&writer, body, &Limits::default()).unwrap()
}
