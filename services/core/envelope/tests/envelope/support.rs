//! Messages to test with.

use std::sync::LazyLock;
use tidings_envelope::{
    Catalogue, Destination, Envelope, EventType, Limits, Message, Micros, Priority, Rejection,
    WriterSchema, decode,
};
use uuid::Uuid;

pub static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::builtin().unwrap());

pub const CONFIRMED: &str = r#"{"order_id": "A-1", "customer_name": "Ada", "amount": 19.99, "currency": "EUR",
    "items": [{"sku": "T1", "name": "Tea", "quantity": 2}], "note": null}"#;
pub const SHIPPED: &str =
    r#"{"order_id": "A-1", "carrier": "DHL", "shipped_at": "2026-01-31T12:00:00Z"}"#;

pub fn event(name: &str) -> &'static EventType {
    CATALOGUE.get(name, 1).unwrap()
}

pub fn envelope(name: &str) -> Envelope {
    Envelope {
        message_id: Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0001),
        event_type: name.to_owned(),
        event_version: 1,
        occurred_at: "2026-01-31T12:00:00Z".parse().unwrap(),
        recorded_at: Micros(1_769_860_800_000_001),
        producer: "shop".to_owned(),
        correlation_id: None,
        causation_id: None,
        aggregate_type: Some("order".to_owned()),
        aggregate_id: Some("A-1".to_owned()),
        aggregate_sequence: None,
        destination: Some(Destination {
            platform: "telegram".to_owned(),
            account: "main".to_owned(),
            chat_id: "-1001087453541".to_owned(),
            thread_id: None,
        }),
        priority: Priority::Normal,
        expires_at: None,
        claim_check: None,
    }
}

/// The Avro body of an event with the default envelope.
pub fn encode(name: &str, data: &str) -> Result<Vec<u8>, Rejection> {
    encode_with(&envelope(name), data)
}

pub fn encode_with(envelope: &Envelope, data: &str) -> Result<Vec<u8>, Rejection> {
    let mut body = Vec::new();
    event(&envelope.event_type).encode(envelope, data, &Limits::default(), &mut body)?;
    Ok(body)
}

pub fn writer(name: &str) -> WriterSchema {
    WriterSchema::bind(&CATALOGUE, event(name).schema_json()).unwrap()
}

/// What the other side makes of an event.
pub fn round_trip(name: &str, data: &str) -> Message {
    decode(
        &writer(name),
        &encode(name, data).unwrap(),
        &Limits::default(),
    )
    .unwrap()
}
