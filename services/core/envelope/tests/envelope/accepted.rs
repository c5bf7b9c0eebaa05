//! Rows that look odd but fit.

use crate::support::{CONFIRMED, SHIPPED, round_trip};

#[test]
fn what_looks_odd_but_fits_is_accepted() {
    let spaced = format!("\n\t {} \n", CONFIRMED.replace("19.99", "\"19.9900000\""));
    assert_eq!(
        round_trip("order.confirmed", &spaced).data["amount"],
        "19.99"
    );
    let reordered = r#"{"shipped_at": 1769860800000000, "carrier": "UPS", "ord\u0065r_id": "A"}"#;
    let shipped = round_trip("order.shipped", reordered);
    assert_eq!(shipped.data["shipped_at"], "2026-01-31T12:00:00Z");
    assert_eq!(
        (&shipped.data["order_id"], &shipped.data["tracking_code"]),
        (&"A".into(), &serde_json::Value::Null)
    );
    let offset = SHIPPED.replace("12:00:00Z", "14:00:00.5+02:00");
    assert_eq!(
        round_trip("order.shipped", &offset).data["shipped_at"],
        "2026-01-31T12:00:00.5Z"
    );
    let empty = CONFIRMED.replace(r#"{"sku": "T1", "name": "Tea", "quantity": 2}"#, "");
    assert_eq!(
        round_trip("order.confirmed", &empty).data["items"],
        serde_json::json!([])
    );
}

#[test]
fn nul_and_lone_surrogates_are_delivered_as_replacement_characters() {
    let data = r#"{"text": "a\u0000b \ud83d c \\u0000 \ud83d\ude00"}"#;
    assert_eq!(
        round_trip("notification.requested", data)
            .text()
            .unwrap()
            .text,
        "a\u{fffd}b \u{fffd} c \\u0000 😀"
    );
}
