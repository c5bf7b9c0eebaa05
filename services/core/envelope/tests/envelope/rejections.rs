//! Rows that the relay must refuse, with a reason that names field and remedy.

use crate::support::{CONFIRMED, SHIPPED, encode, envelope, event};
use tidings_envelope::{Catalogue, Limits, Rejection, RejectionCode, TypeFolder};

fn refused(name: &str, data: &str) -> Rejection {
    let rejection = encode(name, data).expect_err(data);
    assert!(rejection.to_string().chars().count() <= Rejection::REASON_CHARS);
    assert!(!rejection.remedy.is_empty());
    rejection
}

/// A confirmed order with one member replaced, refused.
fn confirmed_with(from: &str, to: &str) -> Rejection {
    let data = CONFIRMED.replace(from, to);
    assert_ne!(data, CONFIRMED);
    refused("order.confirmed", &data)
}

#[track_caller]
fn check(rejection: &Rejection, code: RejectionCode, field: &str, words: &str) {
    assert_eq!(
        (rejection.code, rejection.field.as_str()),
        (code, field),
        "{rejection}"
    );
    assert!(rejection.to_string().contains(words), "{rejection}");
}

#[test]
fn missing_unknown_and_repeated_fields() {
    let missing = confirmed_with(r#""order_id": "A-1", "#, "");
    check(
        &missing,
        RejectionCode::MissingField,
        "data.order_id",
        "add it: a string",
    );
    let nested = confirmed_with(r#", "quantity": 2"#, "");
    check(
        &nested,
        RejectionCode::MissingField,
        "data.items[0].quantity",
        "whole number",
    );
    let unknown = confirmed_with(r#""amount""#, r#""amonut""#);
    check(
        &unknown,
        RejectionCode::UnknownField,
        "data.amonut",
        "did you mean amount?",
    );
    let foreign = confirmed_with(r#""note": null"#, r#""password": "hunter2""#);
    check(
        &foreign,
        RejectionCode::UnknownField,
        "data.password",
        "order_id, customer_name",
    );
    assert!(!foreign.to_string().contains("hunter2"));
    let twice = confirmed_with(r#""note": null"#, r#""order_id": "B""#);
    check(
        &twice,
        RejectionCode::DuplicateField,
        "data.order_id",
        "keep one",
    );
}

#[test]
fn unknown_enum_values_list_the_allowed_ones() {
    let near = refused("order.shipped", &SHIPPED.replace("DHL", "dhl"));
    check(
        &near,
        RejectionCode::UnknownEnum,
        "data.carrier",
        "did you mean DHL? Allowed: UNKNOWN, DHL",
    );
    let far = refused(
        "order.shipped",
        &SHIPPED.replace("DHL", "pigeon and a half"),
    );
    check(
        &far,
        RejectionCode::UnknownEnum,
        "data.carrier",
        "use one of UNKNOWN",
    );
}

#[test]
fn numbers_beyond_their_type() {
    let cases = [
        (
            "\"quantity\": 2",
            "\"quantity\": 2147483648",
            "data.items[0].quantity",
            "2147483648 is not between",
        ),
        (
            "\"quantity\": 2",
            "\"quantity\": -99999999999999999999999",
            "data.items[0].quantity",
            "is not between",
        ),
        ("19.99", "19.99999", "data.amount", "more than 4 decimals"),
        (
            "19.99",
            "\"100000000000000\"",
            "data.amount",
            "more than 14 digits",
        ),
        ("19.99", "1e400", "data.amount", "more than 14 digits"),
    ];
    for (from, to, field, words) in cases {
        check(
            &confirmed_with(from, to),
            RejectionCode::OutOfRange,
            field,
            words,
        );
    }
    for time in [
        "-1",
        "1769860800",
        "1769860800000",
        "1769860800000000000",
        "99999999999999999999",
    ] {
        let late = refused(
            "order.shipped",
            &SHIPPED.replace("\"2026-01-31T12:00:00Z\"", time),
        );
        check(&late, RejectionCode::OutOfRange, "data.shipped_at", "not");
    }
}

#[test]
fn wrong_types() {
    let cases = [
        (
            "\"A-1\"",
            "7",
            "data.order_id",
            "must be a string, not a number",
        ),
        (
            "\"A-1\"",
            "null",
            "data.order_id",
            "must be a string, not null",
        ),
        ("19.99", "true", "data.amount", "must be a decimal number"),
        (
            "19.99",
            "\"abc\"",
            "data.amount",
            "must be a decimal number",
        ),
        (
            "\"quantity\": 2",
            "\"quantity\": \"2\"",
            "data.items[0].quantity",
            "not a string",
        ),
        (
            "\"quantity\": 2",
            "\"quantity\": 2.0",
            "data.items[0].quantity",
            "whole number",
        ),
        (
            "[{",
            "[7, {",
            "data.items[0]",
            "must be an object, not a number",
        ),
        (
            "\"note\": null",
            "\"note\": {}",
            "data.note",
            "must be a string, not an object",
        ),
    ];
    for (from, to, field, words) in cases {
        check(
            &confirmed_with(from, to),
            RejectionCode::WrongType,
            field,
            words,
        );
    }
    for data in ["[]", "7", "\"text\"", "null", "true"] {
        check(
            &refused("order.confirmed", data),
            RejectionCode::WrongType,
            "data",
            "must be an object",
        );
    }
    let time = refused("order.shipped", &SHIPPED.replace("12:00:00Z", "12:00:00"));
    check(
        &time,
        RejectionCode::WrongType,
        "data.shipped_at",
        "with an offset",
    );
}

#[test]
fn texts_that_are_no_json() {
    for data in [
        "",
        "{",
        "{\"a\" 1}",
        "{\"order_id\": \"A\n\"}",
        "[1",
        "nul",
        "{}{}",
        &"[".repeat(100_000),
    ] {
        let rejection = refused("order.confirmed", data);
        assert_eq!(rejection.code, RejectionCode::InvalidJson, "{rejection}");
    }
}

#[test]
fn deep_nesting_is_refused_without_recursion() {
    let deep = format!(
        "{{\"note\": {}{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let rejection = refused("order.confirmed", &deep);
    assert_eq!(rejection.code, RejectionCode::MissingField, "{rejection}");
}

#[test]
fn a_payload_of_two_megabytes_gets_the_claim_check_as_remedy() {
    let large = CONFIRMED.replace("Ada", &"a".repeat(2 << 20));
    check(
        &refused("order.confirmed", &large),
        RejectionCode::TooLarge,
        "data",
        "claim check",
    );
    let limits = Limits {
        payload_bytes: CONFIRMED.len(),
    };
    let encode = |data: &str| {
        let mut out = b"kept".to_vec();
        let result =
            event("order.confirmed").encode(&envelope("order.confirmed"), data, &limits, &mut out);
        (result, out)
    };
    assert!(encode(CONFIRMED).0.is_ok(), "exactly the limit");
    let (result, out) = encode(&format!("{CONFIRMED} "));
    assert_eq!(result.unwrap_err().code, RejectionCode::TooLarge);
    assert_eq!(out, b"kept", "a rejection leaves nothing behind");
}

#[test]
fn a_rejection_in_the_middle_leaves_the_buffer_as_it_was() {
    let mut out = b"kept".to_vec();
    let data = CONFIRMED.replace("\"quantity\": 2", "\"quantity\": {}");
    let event = event("order.confirmed");
    event
        .encode(
            &envelope("order.confirmed"),
            &data,
            &Limits::default(),
            &mut out,
        )
        .unwrap_err();
    assert_eq!(out, b"kept");
}

#[test]
fn a_short_text_cannot_become_a_body_too_large_to_read() {
    let declaration = "owner = \"a\"\npolicy = \"resend\"\nretry = \"standard\"\non_dead = \"hold\"\non_stale = \"send\"\ntext = \"template\"\n";
    let data = r#"{"type":"record","name":"Data","fields":[{"name":"n","type":{"type":"array","items":"double"}}]}"#;
    let folder = TypeFolder {
        name: "a.b",
        declaration,
        template: Some("x"),
        older_templates: &[],
        versions: &[(1, data)],
    };
    let catalogue = Catalogue::from_folders(&[folder]).unwrap();
    let numbers = format!("{{\"n\": [{}1]}}", "1,".repeat(100_000));
    let rejection = catalogue
        .get("a.b", 1)
        .unwrap()
        .encode(
            &envelope("a.b"),
            &numbers,
            &Limits::default(),
            &mut Vec::new(),
        )
        .unwrap_err();
    check(
        &rejection,
        RejectionCode::TooLarge,
        "data",
        "bytes; at most",
    );
}
