//! The envelope's fields, out of a decoded record.

// Avro's value enum is not ours and grows; whatever is not listed is of the wrong type.
#![allow(clippy::wildcard_enum_match_arm)]

use crate::{ClaimCheck, Destination, Envelope, Micros, Poison, PoisonCategory, Priority};
use apache_avro::types::Value;
use uuid::Uuid;

/// A record's fields as apache-avro gives them.
pub(super) type Fields = Vec<(String, Value)>;

/// Takes a field's value out, without the union around it.
pub(super) fn take(fields: &mut Fields, name: &str) -> Result<Value, Poison> {
    find(fields, name).ok_or_else(|| invalid(name, "is missing".to_owned()))
}

/// Reads the envelope; the fields that it does not know are dropped.
pub(super) fn envelope(mut fields: Fields) -> Result<Envelope, Poison> {
    let fields = &mut fields;
    Ok(Envelope {
        message_id: uuid(fields, "message_id")?,
        event_type: text(fields, "event_type")?,
        event_version: int(fields, "event_version")?,
        occurred_at: Micros(long(fields, "occurred_at")?),
        recorded_at: Micros(long(fields, "recorded_at")?),
        producer: text(fields, "producer")?,
        correlation_id: optional(fields, "correlation_id", text)?,
        causation_id: optional(fields, "causation_id", text)?,
        aggregate_type: optional(fields, "aggregate_type", text)?,
        aggregate_id: optional(fields, "aggregate_id", text)?,
        aggregate_sequence: optional(fields, "aggregate_sequence", long)?,
        destination: optional(fields, "destination", destination)?,
        priority: priority(fields)?,
        expires_at: optional(fields, "expires_at", long)?.map(Micros),
        claim_check: optional(fields, "claim_check", claim_check)?,
    })
}

fn destination(fields: &mut Fields, name: &str) -> Result<Destination, Poison> {
    let mut inner = record(fields, name)?;
    Ok(Destination {
        platform: text(&mut inner, "platform")?,
        account: text(&mut inner, "account")?,
        chat_id: text(&mut inner, "chat_id")?,
        thread_id: optional(&mut inner, "thread_id", text)?,
    })
}

fn claim_check(fields: &mut Fields, name: &str) -> Result<ClaimCheck, Poison> {
    let mut inner = record(fields, name)?;
    Ok(ClaimCheck {
        storage_key: text(&mut inner, "storage_key")?,
        content_type: text(&mut inner, "content_type")?,
        size_bytes: long(&mut inner, "size_bytes")?,
        sha256: text(&mut inner, "sha256")?,
    })
}

/// A priority that a newer writer added reads as the enum's default.
fn priority(fields: &mut Fields) -> Result<Priority, Poison> {
    match find(fields, "priority") {
        None => Ok(Priority::Normal),
        Some(Value::Enum(_, symbol)) if symbol == "HIGH" => Ok(Priority::High),
        Some(Value::Enum(..)) => Ok(Priority::Normal),
        Some(_) => Err(mistyped("priority")),
    }
}

/// A field of type `["null", X]`, absent in older writers.
fn optional<T>(
    fields: &mut Fields,
    name: &str,
    read: impl FnOnce(&mut Fields, &str) -> Result<T, Poison>,
) -> Result<Option<T>, Poison> {
    let absent = fields
        .iter()
        .find(|(field, _)| field == name)
        .is_none_or(|(_, value)| is_null(value));
    if absent {
        Ok(None)
    } else {
        read(fields, name).map(Some)
    }
}

fn is_null(value: &Value) -> bool {
    match value {
        Value::Union(_, inner) => matches!(**inner, Value::Null),
        other => matches!(other, Value::Null),
    }
}

fn find(fields: &mut Fields, name: &str) -> Option<Value> {
    let (_, value) = fields.iter_mut().find(|(field, _)| field == name)?;
    Some(unwrap_union(std::mem::replace(value, Value::Null)))
}

/// The value inside a union.
pub(super) fn unwrap_union(value: Value) -> Value {
    match value {
        Value::Union(_, inner) => *inner,
        other => other,
    }
}

fn record(fields: &mut Fields, name: &str) -> Result<Fields, Poison> {
    match take(fields, name)? {
        Value::Record(inner) => Ok(inner),
        _ => Err(mistyped(name)),
    }
}

fn text(fields: &mut Fields, name: &str) -> Result<String, Poison> {
    match take(fields, name)? {
        Value::String(text) => Ok(text),
        _ => Err(mistyped(name)),
    }
}

fn uuid(fields: &mut Fields, name: &str) -> Result<Uuid, Poison> {
    match take(fields, name)? {
        Value::Uuid(id) => Ok(id),
        Value::String(text) => {
            Uuid::parse_str(&text).map_err(|_| invalid(name, "is not a UUID".to_owned()))
        }
        _ => Err(mistyped(name)),
    }
}

fn int(fields: &mut Fields, name: &str) -> Result<i32, Poison> {
    match take(fields, name)? {
        Value::Int(number) => Ok(number),
        _ => Err(mistyped(name)),
    }
}

fn long(fields: &mut Fields, name: &str) -> Result<i64, Poison> {
    match take(fields, name)? {
        Value::Long(number) | Value::TimestampMicros(number) => Ok(number),
        Value::Int(number) => Ok(number.into()),
        _ => Err(mistyped(name)),
    }
}

fn mistyped(name: &str) -> Poison {
    invalid(name, "has another type than the envelope's".to_owned())
}

/// Poison in an envelope field.
pub(super) fn invalid(name: &str, problem: String) -> Poison {
    Poison::new(
        PoisonCategory::InvalidEnvelope,
        format!("envelope.{name}"),
        problem,
    )
}
