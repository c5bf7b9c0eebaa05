//! What Confluent's own client reads from a lane is what was published, to the digit and the microsecond.

use std::collections::HashMap;

use serde_json::{Value, json};
use tidings_drill::RoleKind;
use tidings_tests::languages::{Language, Toolchain, bounded, find, python};
use uuid::Uuid;

use crate::world::{World, examples};

/// An event as published, and as it must be read.
struct Event {
    event_type: &'static str,
    data: Value,
    occurred_at: &'static str,
    expires_at: Option<&'static str>,
    read_data: Value,
    read_occurred_at: &'static str,
    read_expires_at: Option<&'static str>,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_python_consumer_reads_exactly_what_was_published() {
    let Some(toolchain) = find(Language::Python) else {
        return;
    };
    let world = World::new().await;
    let producer = "set application_name = 'catalogue'";
    world.upstream.batch_execute(producer).await.unwrap();
    let mut expected = HashMap::new();
    for (number, event) in events().into_iter().enumerate() {
        let (message, recorded_at) = publish(&world, number, &event).await;
        expected.insert(
            message.to_string(),
            read(message, number, &event, &recorded_at),
        );
    }
    let _relay = world.run(RoleKind::Relay).await;
    world.relayed().await;

    let place = world.deployment.place();
    let options = [
        ("--brokers", place.brokers.clone()),
        ("--registry", place.registry_url.clone()),
        ("--topic", format!("{}.telegram.normal", place.prefix)),
        ("--group", format!("{}-python", place.prefix)),
    ];
    let lines = tokio::task::spawn_blocking(move || decode_lane(&toolchain, &options));
    for line in lines.await.unwrap() {
        let id = line["message_id"].as_str().unwrap_or_default().to_owned();
        let expected = expected.remove(&id);
        assert_eq!(Some(line), expected, "left is what was read");
    }
    assert!(expected.is_empty(), "not read: {expected:?}");
}

fn decode_lane(toolchain: &Toolchain, options: &[(&str, String)]) -> Vec<Value> {
    let folder = examples().join("consumer-python");
    let interpreter = python(toolchain, &folder.join("requirements.txt")).unwrap();
    let mut command = bounded(interpreter);
    command
        .arg(folder.join("decode_lane.py"))
        .arg("--until-end");
    for (name, value) in options {
        command.arg(name).arg(value);
    }
    let output = command.output().unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
    assert_eq!(complaints, "", "every record can be decoded");
    let lines = String::from_utf8(output.stdout).unwrap();
    let parsed = lines.lines().map(serde_json::from_str);
    parsed.collect::<Result<_, _>>().unwrap()
}

fn events() -> Vec<Event> {
    let mut events: Vec<Event> = [
        ("19.99", "19.9900"),
        ("0", "0.0000"),
        ("-0.0001", "-0.0001"),
        ("1234.5678", "1234.5678"),
        ("99999999999999.9999", "99999999999999.9999"),
        ("-99999999999999.9999", "-99999999999999.9999"),
    ]
    .map(|(published, read)| confirmed(published, read))
    .into();
    events.push(Event {
        event_type: "order.shipped",
        data: json!({"order_id": "o-7", "carrier": "DHL", "shipped_at": "2026-01-31T12:00:00.000001+02:00"}),
        occurred_at: "1970-01-01T00:00:00.000001Z",
        expires_at: None,
        read_data: json!({"order_id": "o-7", "carrier": "DHL", "tracking_code": null,
            "shipped_at": "2026-01-31T10:00:00.000001Z"}),
        read_occurred_at: "1970-01-01T00:00:00.000001Z",
        read_expires_at: None,
    });
    events
}

fn confirmed(amount: &str, read_amount: &str) -> Event {
    let data = |amount: &str| {
        json!({"order_id": "o-1", "customer_name": "Zo\u{eb} \u{1f680}", "amount": amount, "currency": "EUR",
            "items": [{"sku": "TEA-1", "name": "Green tea", "quantity": 2}], "note": null})
    };
    Event {
        event_type: "order.confirmed",
        data: data(amount),
        occurred_at: "2026-01-31T12:00:00.123456+05:30",
        expires_at: Some("2038-01-19T03:14:08.999999Z"),
        read_data: data(read_amount),
        read_occurred_at: "2026-01-31T06:30:00.123456Z",
        read_expires_at: Some("2038-01-19T03:14:08.999999Z"),
    }
}

/// The message's id, and when Postgres recorded it.
async fn publish(world: &World, number: usize, event: &Event) -> (Uuid, String) {
    let published = "select tidings.publish(event_type => $1, event_version => 1, data => $2::text::json,
            aggregate_type => 'order', aggregate_id => 'o-1', aggregate_sequence => 7,
            destination => jsonb_build_object('platform', 'telegram', 'chat_id', $3::text, 'thread_id', '9'),
            occurred_at => $4::text::timestamptz, expires_at => $5::text::timestamptz, correlation_id => 'checkout-7')";
    let (data, chat) = (event.data.to_string(), chat(number));
    let row = world
        .upstream
        .query_one(
            published,
            &[
                &event.event_type,
                &data,
                &chat,
                &event.occurred_at,
                &event.expires_at,
            ],
        )
        .await
        .unwrap();
    let message: Uuid = row.get(0);
    let recorded = r#"select to_char(recorded_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
        from tidings.outbox where message_id = $1"#;
    let row = world
        .upstream
        .query_one(recorded, &[&message])
        .await
        .unwrap();
    (message, row.get(0))
}

/// The line that a consumer must print.
fn read(message: Uuid, number: usize, event: &Event, recorded_at: &str) -> Value {
    json!({
        "message_id": message.to_string(),
        "event_type": event.event_type,
        "event_version": 1,
        "occurred_at": event.read_occurred_at,
        "recorded_at": recorded_at,
        "producer": "catalogue",
        "correlation_id": "checkout-7",
        "causation_id": null,
        "aggregate_type": "order",
        "aggregate_id": "o-1",
        "aggregate_sequence": 7,
        "destination": {"platform": "telegram", "account": "main", "chat_id": chat(number), "thread_id": "9"},
        "priority": "NORMAL",
        "expires_at": event.read_expires_at,
        "claim_check": null,
        "data": event.read_data,
    })
}

/// Chats of their own, so that they are spread over the lane's partitions.
fn chat(number: usize) -> String {
    format!("20{number}")
}
