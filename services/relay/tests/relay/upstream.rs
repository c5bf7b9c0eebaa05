//! Upstream's interface: what `tidings.publish` takes, refuses and fills in, from SQL and from Rust.

use serde_json::value::RawValue;
use tidings_envelope::{Destination, Priority};
use tidings_relay::{NewEvent, publish};
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use crate::support::World;

const TO: &str = r#"'{"platform": "telegram", "chat_id": "1"}'"#;

async fn refusal(world: &World, arguments: &str) -> tokio_postgres::error::DbError {
    let sql = format!("select tidings.publish({arguments})");
    let error = world.client.simple_query(&sql).await.unwrap_err();
    error.as_db_error().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn refuses_with_a_hint_what_no_relay_could_deliver() {
    let world = World::new().await;
    for (arguments, problem) in [
        (
            format!("'order.confirmed', 0, '{{}}', 'order', '1', {TO}"),
            "event_version",
        ),
        (format!("'', 1, '{{}}', 'order', '1', {TO}"), "event_type"),
        (
            format!("'order.confirmed', 1, null, 'order', '1', {TO}"),
            "data is null",
        ),
        (
            format!("'order.confirmed', 1, '{{}}', 'order', null, {TO}"),
            "aggregate_id",
        ),
        (
            format!("'order.confirmed', 1, '{{}}', 'order', '1', {TO}, 'urgent'"),
            "priority is \"urgent\"",
        ),
        (
            format!("'order.confirmed', 1, '{{}}', 'order', '1', {TO}, traceparent => '00-0-0-01'"),
            "traceparent",
        ),
        (
            "'order.confirmed', 1, '{}', 'order', '1', '[]'".into(),
            "not an object",
        ),
        (
            "'order.confirmed', 1, '{}', 'order', '1', '{\"chat_id\": \"1\"}'".into(),
            "destination.platform",
        ),
        (
            "'order.confirmed', 1, '{}', 'order', '1', '{\"platform\": \"telegram\"}'".into(),
            "destination.chat_id",
        ),
        (
            "'order.confirmed', 1, '{}', 'order', '1', '{\"platform\":\"telegram\",\"chat\":1}'"
                .into(),
            "unknown key \"chat\"",
        ),
    ] {
        let error = refusal(&world, &arguments).await;
        assert_eq!(
            error.code(),
            &SqlState::INVALID_PARAMETER_VALUE,
            "{arguments}"
        );
        assert!(error.message().contains(problem), "{}", error.message());
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.starts_with("Pass ") || hint.starts_with("Name "))
        );
    }
    let error = refusal(
        &world,
        &format!("'order.confirmed', 1, '{{\"a\": ', 'order', '1', {TO}"),
    )
    .await;
    assert_eq!(error.code(), &SqlState::INVALID_TEXT_REPRESENTATION);
    assert!(error.message().contains("json"), "{}", error.message());
}

#[tokio::test(flavor = "multi_thread")]
async fn fills_in_what_was_left_out() {
    let world = World::new().await;
    let sql =
        format!("select tidings.publish('order.confirmed', 1, '{{\"a\": 1}}', 'order', '1', {TO})");
    let id: Uuid = world.client.query_one(&sql, &[]).await.unwrap().get(0);
    assert_eq!(
        (id.get_version_num(), id.get_variant()),
        (7, uuid::Variant::RFC4122)
    );
    let row = world
        .client
        .query_one("select * from tidings.outbox where message_id = $1", &[&id])
        .await
        .unwrap();
    let text = |column| row.get::<_, String>(column);
    assert_eq!(
        (text("account"), text("priority"), text("producer")),
        ("main".into(), "normal".into(), "test".into())
    );
    assert_eq!(row.get::<_, i32>("data_bytes"), 8);
    let made_at = id.get_timestamp().unwrap().to_unix().0;
    let recorded_at: std::time::SystemTime = row.get("recorded_at");
    assert!(
        recorded_at
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_secs()
            .abs_diff(made_at)
            <= 1
    );

    world
        .client
        .batch_execute("set tidings.producer = 'billing'")
        .await
        .unwrap();
    let id: Uuid = world.client.query_one(&sql, &[]).await.unwrap().get(0);
    let row = world
        .client
        .query_one(
            "select producer from tidings.outbox where message_id = $1",
            &[&id],
        )
        .await
        .unwrap();
    assert_eq!(row.get::<_, &str>(0), "billing");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rust_helper_publishes_in_the_callers_transaction() {
    let world = World::new().await;
    let mut service = world.service().await;
    let data = RawValue::from_string(r#"{"text": "hello"}"#.into()).unwrap();
    let mut event = NewEvent::new("notification.requested", 1, data, "order", "o-1");
    event.destination = Some(Destination {
        platform: "telegram".into(),
        account: "main".into(),
        chat_id: "1".into(),
        thread_id: None,
    });
    event.priority = Priority::High;

    let transaction = service.transaction().await.unwrap();
    publish(&transaction, &event).await.unwrap();
    transaction.rollback().await.unwrap();
    assert_eq!(world.count("tidings.outbox").await, 0);

    let transaction = service.transaction().await.unwrap();
    let id = publish(&transaction, &event).await.unwrap();
    transaction.commit().await.unwrap();
    let relay = world.start_relay();
    let arrived = world.until_arrived("telegram.high", &[id]).await;
    assert_eq!((arrived.len(), arrived[0].key.as_str()), (1, "1"));
    assert_eq!(arrived[0].headers["ce_source"], "orders");
    assert_eq!(arrived[0].headers["ce_type"], "notification.requested");
    relay.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_destination_it_goes_to_its_stream() {
    let world = World::new().await;
    let data =
        r#"{"order_id":"A-1","customer_name":"Ada","amount":"19.99","currency":"EUR","items":[]}"#;
    let sql = "select tidings.publish('order.confirmed', 1, $1::text::json, 'order', 'A-1')";
    let id: Uuid = world.client.query_one(sql, &[&data]).await.unwrap().get(0);
    let relay = world.start_relay();
    let arrived = world.until_arrived("events.order", &[id]).await;
    assert_eq!(arrived[0].key, "A-1");
    relay.stop().await;
}
