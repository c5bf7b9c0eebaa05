//! `order.confirmed`.

use super::{Fields, Upcaster, take};
use serde_json::json;

/// Amount and currency became one thing: a total without its currency says nothing.
pub(super) const V1_TO_V2: Upcaster = Upcaster {
    event_type: "order.confirmed",
    from: 1,
    removes: &["amount", "currency"],
    adds: &["total"],
    apply: total,
};

fn total(fields: &mut Fields) {
    let amount = take(fields, "amount");
    let currency = take(fields, "currency");
    fields.insert(
        "total".to_owned(),
        json!({"amount": amount, "currency": currency}),
    );
}
