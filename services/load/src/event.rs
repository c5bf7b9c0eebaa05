//! One event as it is published, with what the ledger says of it.

use serde_json::{Value, json};

use crate::order::{Flaw, Note, OrderPlan};

/// A day in 2026, for an event that never leaves the relay.
const SOME_DAY_MICROS: i64 = 1_780_000_000_000_000;

/// An event, ready for `tidings.publish`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) event_type: &'static str,
    pub(crate) event_version: i32,
    /// Fits `schemas/<event type>/v<version>.avsc`, unless it is invalid on purpose.
    pub(crate) data: Value,
    pub(crate) aggregate_sequence: Option<i64>,
    /// Whether the relay must reject it.
    pub(crate) bad: bool,
}

impl Event {
    fn valid(event_type: &'static str, aggregate_sequence: Option<i64>, data: Value) -> Self {
        Self {
            event_type,
            event_version: 1,
            data,
            aggregate_sequence,
            bad: false,
        }
    }
}

/// Events of the transaction that confirms the order.
pub(crate) fn confirmed(plan: &OrderPlan) -> Vec<Event> {
    let mut events = vec![if plan.second_version {
        order_confirmed_v2(plan)
    } else {
        order_confirmed(plan)
    }];
    events.extend(plan.note.map(|note| notification(plan, note)));
    events.extend(plan.flaw.map(|flaw| flawed(plan, flaw)));
    events
}

/// The event of the transaction that ships the order. `shipped_at_micros` since the Unix epoch.
pub(crate) fn shipped(plan: &OrderPlan, shipped_at_micros: i64) -> Event {
    let data = json!({
        "order_id": plan.order_id,
        "carrier": plan.carrier,
        "tracking_code": plan.tracking_code,
        "shipped_at": shipped_at_micros,
    });
    Event::valid("order.shipped", Some(2), data)
}

fn order_confirmed(plan: &OrderPlan) -> Event {
    let items: Vec<Value> = plan
        .items
        .iter()
        .map(|item| json!({"sku": item.sku, "name": item.name, "quantity": item.quantity}))
        .collect();
    let data = json!({
        "order_id": plan.order_id,
        "customer_name": plan.customer_name,
        // A text, so that no digit passes through a float.
        "amount": plan.amount,
        "currency": plan.currency,
        "items": items,
        "note": plan.remark,
    });
    Event::valid("order.confirmed", Some(1), data)
}

/// Amount and currency are one field since version 2.
fn order_confirmed_v2(plan: &OrderPlan) -> Event {
    let mut event = order_confirmed(plan);
    event.event_version = 2;
    remove(&mut event.data, "amount");
    remove(&mut event.data, "currency");
    let total = json!({"amount": plan.amount, "currency": plan.currency});
    set(&mut event.data, "total", total);
    event
}

fn notification(plan: &OrderPlan, note: Note) -> Event {
    let id = &plan.order_id;
    let (text, parse_mode) = match note {
        Note::Plain => (format!("Order {id} was seen & noted, <thanks>."), None),
        Note::Html => (
            format!("Order <b>{id}</b> was noted &amp; filed"),
            Some("HTML"),
        ),
        Note::Markdown => (format!("Order *{id}* was noted"), Some("MARKDOWN_V2")),
    };
    let data = json!({"text": text, "parse_mode": parse_mode});
    Event::valid("notification.requested", None, data)
}

fn flawed(plan: &OrderPlan, flaw: Flaw) -> Event {
    let mut event = match flaw {
        Flaw::UnknownCarrier => shipped(plan, SOME_DAY_MICROS),
        Flaw::UnknownType | Flaw::UnknownVersion | Flaw::MissingField | Flaw::HugeNumber => {
            order_confirmed(plan)
        }
    };
    event.bad = true;
    event.aggregate_sequence = None;
    match flaw {
        Flaw::UnknownType => event.event_type = "order.misplaced",
        Flaw::UnknownVersion => event.event_version = 99,
        Flaw::MissingField => remove(&mut event.data, "amount"),
        Flaw::UnknownCarrier => set(&mut event.data, "carrier", json!("PIGEON")),
        Flaw::HugeNumber => {
            let item = json!({"sku": "S1", "name": "Sand", "quantity": 3_000_000_000_u32});
            set(&mut event.data, "items", json!([item]));
        }
    }
    event
}

fn set(data: &mut Value, field: &str, value: Value) {
    if let Some(fields) = data.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
}

fn remove(data: &mut Value, field: &str) {
    if let Some(fields) = data.as_object_mut() {
        fields.remove(field);
    }
}

#[cfg(test)]
mod tests;
