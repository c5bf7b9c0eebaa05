//! A decoded value, as the reader's shape wants it: Avro's schema resolution for what
//! compatibility allows, and on the way the JSON that templates and handlers get.
//!
//! apache-avro's own resolution is not used: it refuses decimals shorter than their precision,
//! which is how other languages write them.

use super::header::{Fields, unwrap_union};
use crate::path::Path;
use crate::shape::{EnumShape, FieldShape, RecordShape, Shape};
use crate::{Micros, Poison, PoisonCategory};
use apache_avro::types::Value;
use num_bigint::BigInt;
use serde_json::{Map, Value as Json};

/// A record, by the reader's fields; the writer's others are dropped.
pub(super) fn record(shape: &RecordShape, value: Value, at: &Path<'_>) -> Result<Json, Poison> {
    let Value::Record(mut fields) = value else {
        return Err(mistyped(at));
    };
    let mut object = Map::new();
    for field in &shape.fields {
        object.insert(
            field.name.clone(),
            member(field, &mut fields, &at.field(&field.name))?,
        );
    }
    Ok(Json::Object(object))
}

fn member(field: &FieldShape, fields: &mut Fields, at: &Path<'_>) -> Result<Json, Poison> {
    let found = fields.iter_mut().find(|(name, _)| *name == field.name);
    match (found, &field.default) {
        (Some((_, value)), _) => project(&field.shape, std::mem::replace(value, Value::Null), at),
        (None, Some(default)) => Ok(default.clone()),
        (None, None) => Err(invalid(at, "is missing")),
    }
}

fn project(shape: &Shape, value: Value, at: &Path<'_>) -> Result<Json, Poison> {
    match (shape, unwrap_union(value)) {
        (Shape::Optional(_), Value::Null) => Ok(Json::Null),
        (Shape::Optional(inner), value) => project(inner, value, at),
        (Shape::Boolean, Value::Boolean(flag)) => Ok(flag.into()),
        (Shape::Int, Value::Int(number)) => Ok(number.into()),
        (Shape::Long, Value::Int(number)) => Ok(number.into()),
        (Shape::Long, Value::Long(number)) => Ok(number.into()),
        (Shape::Double, value) => double(value, at),
        (Shape::String, Value::String(text)) => Ok(without_nul(text).into()),
        (Shape::Uuid, Value::Uuid(id)) => Ok(id.hyphenated().to_string().into()),
        (Shape::Timestamp, Value::TimestampMicros(micros) | Value::Long(micros)) => {
            time(micros, at)
        }
        (Shape::Decimal(decimal), Value::Decimal(number)) => decimal
            .text(&BigInt::from(number))
            .map(Json::from)
            .ok_or_else(|| invalid(at, "has more digits than its precision")),
        (Shape::Enum(choice), Value::Enum(_, symbol)) => symbol_of(choice, symbol, at),
        (Shape::Array(items), Value::Array(values)) => array(items, values, at),
        (Shape::Record(shape), value) => record(shape, value, at),
        (
            Shape::Boolean
            | Shape::Int
            | Shape::Long
            | Shape::String
            | Shape::Uuid
            | Shape::Timestamp
            | Shape::Decimal(_)
            | Shape::Enum(_)
            | Shape::Array(_),
            _,
        ) => Err(mistyped(at)),
    }
}

/// Platforms refuse U+0000; the encoder replaces it, other writers may not.
fn without_nul(text: String) -> String {
    if text.contains('\0') {
        text.replace('\0', "\u{fffd}")
    } else {
        text
    }
}

fn array(items: &Shape, values: Vec<Value>, at: &Path<'_>) -> Result<Json, Poison> {
    let values = values.into_iter().enumerate();
    values
        .map(|(index, value)| project(items, value, &at.item(index)))
        .collect::<Result<Vec<_>, _>>()
        .map(Json::Array)
}

// Avro's enum is not ours and grows; whatever is not listed is refused.
#[allow(clippy::wildcard_enum_match_arm)]
fn double(value: Value, at: &Path<'_>) -> Result<Json, Poison> {
    let number = match value {
        Value::Double(number) => number,
        Value::Float(number) => number.into(),
        Value::Int(number) => number.into(),
        Value::Long(number) => number as f64,
        _ => return Err(mistyped(at)),
    };
    serde_json::Number::from_f64(number)
        .map(Json::Number)
        .ok_or_else(|| invalid(at, "is not a finite number"))
}

fn time(micros: i64, at: &Path<'_>) -> Result<Json, Poison> {
    let time = Micros(micros);
    if !time.is_sane() {
        return Err(invalid(at, "is not between the years 1970 and 9999"));
    }
    Ok(time.to_string().into())
}

/// A symbol that a newer writer added reads as the enum's default.
fn symbol_of(choice: &EnumShape, symbol: String, at: &Path<'_>) -> Result<Json, Poison> {
    if choice.symbols.contains(&symbol) {
        return Ok(symbol.into());
    }
    choice
        .default
        .clone()
        .map(Json::from)
        .ok_or_else(|| invalid(at, "has a symbol that is not known here"))
}

fn mistyped(at: &Path<'_>) -> Poison {
    invalid(at, "has another type than the event type's")
}

fn invalid(at: &Path<'_>, problem: &str) -> Poison {
    Poison::new(PoisonCategory::InvalidData, at.to_string(), problem)
}
