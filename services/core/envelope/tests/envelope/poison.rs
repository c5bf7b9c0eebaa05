//! Records that can never be processed.

use crate::support::{CATALOGUE, CONFIRMED, encode, encode_with, envelope, event, writer};
use tidings_envelope::{Limits, Poison, PoisonCategory, WriterSchema, decode, wire};

fn bind(schema: &str) -> Poison {
    WriterSchema::bind(&CATALOGUE, schema).expect_err(schema)
}

fn poison(body: &[u8]) -> Poison {
    decode(&writer("order.confirmed"), body, &Limits::default()).unwrap_err()
}

#[test]
fn schemas_of_others() {
    let renamed = |from: &str, to: &str| event("order.confirmed").schema_json().replace(from, to);
    assert_eq!(
        bind(&renamed("tidings.order", "other.order")).category,
        PoisonCategory::UnknownType
    );
    assert_eq!(
        bind(&renamed("order.confirmed", "order.lost")).category,
        PoisonCategory::UnknownType
    );
    assert_eq!(bind("\"string\"").category, PoisonCategory::UnknownType);
    let version = bind(&renamed("confirmed.v1", "confirmed.v9"));
    assert_eq!(version.category, PoisonCategory::UnsupportedVersion);
    assert!(
        version.to_string().contains("version 9 of order.confirmed"),
        "{version}"
    );
}

#[test]
fn schemas_that_cannot_be_read_as_ours() {
    let changed = |from: &str, to: &str| {
        let ours = event("order.confirmed").schema_json();
        let theirs = ours.replace(from, to);
        assert_ne!(ours, theirs);
        bind(&theirs).category
    };
    let incompatible = PoisonCategory::IncompatibleSchema;
    assert_eq!(
        changed("\"scale\":4", "\"scale\":2"),
        incompatible,
        "money by a factor of 100"
    );
    assert_eq!(
        changed(
            r#""name":"quantity","type":"int""#,
            r#""name":"quantity","type":"string""#
        ),
        incompatible
    );
    assert_eq!(
        changed(r#""name":"order_id""#, r#""name":"id""#),
        incompatible
    );
    for broken in [
        "",
        "{",
        "{}",
        "[[[",
        "{\"type\":\"record\"}",
        &" ".repeat(1 << 20),
        &"[".repeat(60_000),
    ] {
        assert_eq!(bind(broken).category, incompatible, "{broken}");
    }
}

/// A schema of ours with one more field, of a type that could exhaust stack or memory.
fn with_field(field_type: &str) -> String {
    let schema = event("order.confirmed").schema_json();
    schema.replacen(
        "\"fields\":[",
        &format!("\"fields\":[{{\"name\":\"extra\",\"type\":{field_type}}},"),
        1,
    )
}

#[test]
fn schemas_that_would_exhaust_the_reader() {
    let recursive =
        r#"{"type":"record","name":"L","fields":[{"name":"next","type":["null","L"]}]}"#;
    assert!(
        bind(&with_field(recursive))
            .to_string()
            .contains("inside itself")
    );
    let empty_items = r#"{"type":"array","items":{"type":"record","name":"E","fields":[]}}"#;
    assert!(
        bind(&with_field(empty_items))
            .to_string()
            .contains("take no bytes")
    );
    assert!(
        bind(&with_field(r#"{"type":"array","items":"null"}"#))
            .to_string()
            .contains("take no bytes")
    );

    let mut doubled =
        r#"{"type":"record","name":"R0","fields":[{"name":"a","type":"null"}]}"#.to_owned();
    for level in 1..20 {
        doubled = format!(
            r#"{{"type":"record","name":"R{level}","fields":[{{"name":"a","type":{doubled}}},{{"name":"b","type":"R{}"}}]}}"#,
            level - 1
        );
    }
    assert!(
        bind(&with_field(&doubled))
            .to_string()
            .contains("too many types")
    );
}

#[test]
fn bytes_that_are_not_what_the_schema_says() {
    let body = encode("order.confirmed", CONFIRMED).unwrap();
    for length in 0..body.len() {
        assert_eq!(
            poison(&body[..length]).category,
            PoisonCategory::InvalidBytes,
            "cut at {length}"
        );
    }
    let mut longer = body.clone();
    longer.push(0);
    let trailing = poison(&longer);
    assert_eq!(trailing.category, PoisonCategory::InvalidBytes);
    assert!(trailing.problem.contains("1 bytes more"), "{trailing}");
    assert_eq!(poison(&vec![0; 1 << 20]).category, PoisonCategory::TooLarge);
    assert!(poison(b"{\"foreign\": \"json\"}").to_string().len() < 2_000);
}

#[test]
fn five_bytes_cannot_ask_for_half_a_gigabyte() {
    let mut body = vec![0xfe, 0xff, 0xff, 0xff, 0x03];
    assert_eq!(poison(&body).category, PoisonCategory::InvalidBytes);
    body.extend([b'x'; 64]);
    assert_eq!(poison(&body).category, PoisonCategory::InvalidBytes);
}

/// Bytes of a valid envelope with one text replaced by another of the same length.
fn patched(from: &str, to: &str) -> Poison {
    assert_eq!(from.len(), to.len());
    let mut body = encode("order.confirmed", CONFIRMED).unwrap();
    let at = body
        .windows(from.len())
        .position(|window| window == from.as_bytes())
        .unwrap();
    body[at..at + to.len()].copy_from_slice(to.as_bytes());
    poison(&body)
}

#[test]
fn envelopes_that_break_a_rule() {
    let other_type = patched("order.confirmed", "order.confirmer");
    assert_eq!(other_type.category, PoisonCategory::InvalidEnvelope);
    assert_eq!(other_type.field, "envelope.event_type");
    let nil = patched(
        "01900000-0000-7000-8000-000000000001",
        "00000000-0000-0000-0000-000000000000",
    );
    assert_eq!(
        (nil.category, nil.field.as_str()),
        (PoisonCategory::InvalidEnvelope, "envelope.message_id")
    );
    assert_eq!(
        patched("01900000-0000", "not a uuid !!").category,
        PoisonCategory::InvalidBytes
    );
    assert_eq!(
        patched("shop", "sh\u{0}p").category,
        PoisonCategory::InvalidEnvelope,
        "U+0000 is not text"
    );
}

#[test]
fn a_lane_needs_a_destination_and_a_stream_does_not() {
    let mut envelope = envelope("order.confirmed");
    envelope.destination = None;
    let body = encode_with(&envelope, CONFIRMED).unwrap();
    let message = decode(&writer("order.confirmed"), &body, &Limits::default()).unwrap();
    assert_eq!(
        message.destination().unwrap_err().category,
        PoisonCategory::NoDestination
    );
}

#[test]
fn unframed_values_become_poison() {
    for value in [b"".as_slice(), b"\0\0\0", b"{\"json\": true}"] {
        let poison = Poison::from(wire::split(value).unwrap_err());
        assert_eq!(poison.category, PoisonCategory::NotFramed);
    }
}
