//! What becomes of each kind of row; "Rows with unknown type, …" of design §6 and requirement B8.

use tidings_envelope::{Micros, decode};
use uuid::Uuid;

use super::*;

const CONFIRMED: &str = r#"{"order_id":"A-1","customer_name":"Ada","amount":"19.99","currency":"EUR",
    "items":[{"sku":"S","name":"Tea","quantity":2}],"note":null}"#;

fn encoder(change: impl FnOnce(&mut Config)) -> Encoder {
    let mut config = Config::defaults().unwrap();
    config.relay.streams = vec!["order".into()];
    change(&mut config);
    let catalogue = Arc::new(Catalogue::builtin().unwrap());
    let ids = catalogue
        .iter()
        .zip(1..)
        .map(|(event, id)| (event.full_name().to_owned(), id))
        .collect();
    Encoder::new(&config, catalogue, ids)
}

fn row(event_type: &str, data: &str) -> OutboxRow {
    OutboxRow {
        id: 1,
        envelope: Envelope {
            message_id: Uuid::from_u128(7),
            event_type: event_type.into(),
            event_version: 1,
            occurred_at: Micros(1_700_000_000_000_000),
            recorded_at: Micros(1_700_000_000_000_000),
            producer: "orders".into(),
            correlation_id: None,
            causation_id: None,
            aggregate_type: Some("order".into()),
            aggregate_id: Some("o-1".into()),
            aggregate_sequence: None,
            destination: Some(Destination {
                platform: "telegram".into(),
                account: "main".into(),
                chat_id: "42".into(),
                thread_id: None,
            }),
            priority: Priority::Normal,
            expires_at: None,
            claim_check: None,
        },
        data: Some(data.into()),
        data_bytes: i32::try_from(data.len()).unwrap(),
        traceparent: None,
    }
}

fn rejection(encoder: &Encoder, row: &OutboxRow) -> Rejection {
    encoder
        .encode(row, &mut Vec::new())
        .err()
        .expect("a rejection")
}

fn assert_rejected(row: &OutboxRow, code: RejectionCode, field: &str) {
    let rejection = rejection(&encoder(|_| {}), row);
    assert_eq!(
        (rejection.code, rejection.field.as_str()),
        (code, field),
        "{rejection}"
    );
    assert!(!rejection.remedy.is_empty());
}

#[test]
fn a_row_goes_to_its_lane_and_its_chats_partition() {
    let encoder = encoder(|_| {});
    let mut row = row("order.confirmed", CONFIRMED);
    let mut value = Vec::new();
    let record = encoder.encode(&row, &mut value).unwrap();
    let twelve = NonZeroU32::new(12).unwrap();
    assert_eq!(
        (record.topic, record.key),
        ("tidings.telegram.normal", "42")
    );
    assert_eq!(record.partition, partition_for(b"42", twelve) as i32);
    row.envelope.priority = Priority::High;
    assert_eq!(
        encoder.encode(&row, &mut value).unwrap().topic,
        "tidings.telegram.high"
    );
}

#[test]
fn the_value_is_framed_and_decodes_to_the_same_envelope() {
    let encoder = encoder(|_| {});
    let row = row("order.confirmed", CONFIRMED);
    let mut value = b"of the row before".to_vec();
    encoder.encode(&row, &mut value).unwrap();
    let (id, body) = wire::split(&value).unwrap();
    let event = encoder.catalogue.get("order.confirmed", 1).unwrap();
    assert_eq!(id, encoder.schema_ids[event.full_name()]);
    let writer =
        tidings_envelope::WriterSchema::bind(&encoder.catalogue, event.schema_json()).unwrap();
    assert_eq!(
        decode(&writer, body, &Limits::default()).unwrap().envelope,
        row.envelope
    );
}

#[test]
fn without_a_destination_it_goes_to_its_stream_by_aggregate() {
    let encoder = encoder(|_| {});
    let mut row = row("order.confirmed", CONFIRMED);
    row.envelope.destination = None;
    let mut value = Vec::new();
    let record = encoder.encode(&row, &mut value).unwrap();
    assert_eq!((record.topic, record.key), ("tidings.events.order", "o-1"));
    row.envelope.aggregate_type = Some("invoice".into());
    assert_rejected(&row, RejectionCode::InvalidEnvelope, "aggregate_type");
}

#[test]
fn an_unknown_type_version_or_platform_is_rejected() {
    assert_rejected(
        &row("order.exploded", "{}"),
        RejectionCode::UnknownType,
        "event_type",
    );
    let mut version = row("order.confirmed", CONFIRMED);
    version.envelope.event_version = 99;
    assert_rejected(&version, RejectionCode::UnsupportedVersion, "event_version");
    let mut platform = row("order.confirmed", CONFIRMED);
    platform.envelope.destination.as_mut().unwrap().platform = "pager".into();
    assert_rejected(
        &platform,
        RejectionCode::InvalidEnvelope,
        "destination.platform",
    );
}

#[test]
fn data_that_does_not_fit_is_rejected_with_its_field() {
    let without = CONFIRMED.replace(r#""customer_name":"Ada","#, "");
    assert_rejected(
        &row("order.confirmed", &without),
        RejectionCode::MissingField,
        "data.customer_name",
    );
    let beyond = CONFIRMED.replace("\"quantity\":2", "\"quantity\":3000000000");
    assert_rejected(
        &row("order.confirmed", &beyond),
        RejectionCode::OutOfRange,
        "data.items[0].quantity",
    );
    let carrier = r#"{"order_id":"A","carrier":"PIGEON","tracking_code":"X","shipped_at":"2026-01-31T12:00:00Z"}"#;
    assert_rejected(
        &row("order.shipped", carrier),
        RejectionCode::UnknownEnum,
        "data.carrier",
    );
}

#[test]
fn data_that_was_too_large_to_fetch_is_rejected() {
    let mut large = row("order.confirmed", "{}");
    (large.data, large.data_bytes) = (None, 2_000_000);
    assert_rejected(&large, RejectionCode::TooLarge, "data");
}

#[test]
fn a_record_beyond_the_topics_limit_is_rejected_before_it_is_queued() {
    let encoder = encoder(|config| {
        config.kafka.max_message_bytes = 4_000;
        config.relay.payload_bytes = 100_000;
    });
    let text = format!(r#"{{"text":"{}"}}"#, "x".repeat(3_900));
    let rejection = rejection(&encoder, &row("notification.requested", &text));
    assert_eq!(rejection.code, RejectionCode::TooLarge);
}

#[test]
fn nul_and_lone_surrogates_are_replaced_not_rejected() {
    let encoder = encoder(|_| {});
    let row = row("notification.requested", r#"{"text":"a\u0000b\ud800c"}"#);
    let mut value = Vec::new();
    encoder.encode(&row, &mut value).unwrap();
    let shown = "a\u{fffd}b\u{fffd}c".as_bytes();
    assert!(value.windows(shown.len()).any(|window| window == shown));
}
