//! Rows that cannot become an envelope: moved aside with the reason, others flow (requirements B7, B8; R3, R7).

use serde_json::Value;
use uuid::Uuid;

use crate::support::{World, notify, of_chat, until};

const CONFIRMED: &str = r#"{"order_id":"A-1","customer_name":"Ada","amount":"19.99","currency":"EUR","items":[{"sku":"S","name":"Tea","quantity":2}]}"#;

struct Bad {
    event_type: &'static str,
    version: i32,
    data: String,
    platform: &'static str,
    expected: (&'static str, &'static str),
}

fn bad_rows() -> Vec<Bad> {
    let row = |event_type, version, data: &str, expected| Bad {
        event_type,
        version,
        data: data.to_owned(),
        platform: "telegram",
        expected,
    };
    let without = CONFIRMED.replace(r#""customer_name":"Ada","#, "");
    let beyond = CONFIRMED.replace("\"quantity\":2", "\"quantity\":3000000000");
    let carrier = r#"{"order_id":"A","carrier":"PIGEON","tracking_code":"X","shipped_at":"2026-01-31T12:00:00Z"}"#;
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(2 * 1024 * 1024));
    let mut rows = vec![
        row("order.exploded", 1, "{}", ("unknown_type", "event_type")),
        row(
            "order.confirmed",
            99,
            CONFIRMED,
            ("unsupported_version", "event_version"),
        ),
        row(
            "order.confirmed",
            1,
            &without,
            ("missing_field", "data.customer_name"),
        ),
        row(
            "order.confirmed",
            1,
            &beyond,
            ("out_of_range", "data.items[0].quantity"),
        ),
        row(
            "order.shipped",
            1,
            carrier,
            ("unknown_enum", "data.carrier"),
        ),
        row("notification.requested", 1, &large, ("too_large", "data")),
        row(
            "notification.requested",
            1,
            r#"{"text":"x","\u0000":1}"#,
            ("unknown_field", "data.\u{fffd}"),
        ),
    ];
    let mut elsewhere = row(
        "order.confirmed",
        1,
        CONFIRMED,
        ("invalid_envelope", "destination.platform"),
    );
    elsewhere.platform = "pager";
    rows.push(elsewhere);
    rows
}

async fn publish_bad(world: &World, bad: &Bad) -> Uuid {
    let sql = "select tidings.publish($1, $2, $3::text::json, 'order', 'o-1',
                   jsonb_build_object('platform', $4::text, 'chat_id', '1'))";
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
        [&bad.event_type, &bad.version, &bad.data, &bad.platform];
    world
        .client
        .query_one(sql, &parameters)
        .await
        .unwrap()
        .get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_is_moved_aside_with_its_reason_and_its_chat_goes_on() {
    let world = World::new().await;
    let mut expected = vec![notify(&world.client, "1", "before").await];
    let mut rejected = Vec::new();
    for bad in bad_rows() {
        rejected.push((publish_bad(&world, &bad).await, bad.expected));
        expected.push(notify(&world.client, "1", "behind it").await);
        expected.push(notify(&world.client, "2", "another chat").await);
    }
    let relay = world.start_relay();
    let arrived = world.until_arrived("telegram.normal", &expected).await;
    let of_one: Vec<Uuid> = expected
        .iter()
        .copied()
        .filter(|id| of_chat(&arrived, "1").contains(id))
        .collect();
    assert_eq!(of_chat(&arrived, "1"), of_one);
    world.until_drained().await;
    for (id, (code, field)) in &rejected {
        let sql = "select code, field, reason from tidings.outbox_rejected where message_id = $1";
        let row = world.client.query_one(sql, &[id]).await.unwrap();
        assert_eq!(
            (row.get::<_, &str>(0), row.get::<_, &str>(1)),
            (*code, *field)
        );
        assert!(
            row.get::<_, &str>(2).contains("Remedy: "),
            "{}",
            row.get::<_, &str>(2)
        );
    }
    assert_eq!(relay.health.rejected(), rejected.len() as u64);
    relay.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn they_are_fed_to_the_relays_dead_letter_topic_as_json() {
    let world = World::new().await;
    let mut ids = Vec::new();
    for bad in bad_rows() {
        ids.push(publish_bad(&world, &bad).await);
    }
    let relay = world.start_relay();
    let arrived = world.until_arrived("relay.dead-letter", &ids).await;
    let shown = |id: &Uuid| -> Value {
        let record = arrived.iter().find(|record| record.id == *id).unwrap();
        assert_eq!(
            (record.key.as_str(), record.headers["content-type"].as_str()),
            ("1", "application/json")
        );
        serde_json::from_slice(&record.value).unwrap()
    };
    assert_eq!(shown(&ids[0])["code"], "unknown_type");
    assert_eq!(shown(&ids[2])["data"]["order_id"], "A-1");
    assert_eq!(
        (&shown(&ids[5])["data"], &shown(&ids[5])["data_left_out"]),
        (&Value::Null, &Value::Bool(true))
    );
    let unfed = "tidings.outbox_rejected where fed_at is null";
    until("all are marked as fed", async || {
        world.count(unfed).await == 0
    })
    .await;
    relay.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nul_and_lone_surrogates_arrive_as_replacement_characters() {
    let world = World::new().await;
    let sql = r#"select tidings.publish('notification.requested', 1, '{"text":"a\u0000b\ud800c"}', 'order', 'o-1',
                     '{"platform": "telegram", "chat_id": "1"}')"#;
    let id: Uuid = world.client.query_one(sql, &[]).await.unwrap().get(0);
    let relay = world.start_relay();
    let arrived = world.until_arrived("telegram.normal", &[id]).await;
    let shown = "a\u{fffd}b\u{fffd}c".as_bytes();
    assert!(
        arrived[0]
            .value
            .windows(shown.len())
            .any(|window| window == shown)
    );
    relay.stop().await;
}
