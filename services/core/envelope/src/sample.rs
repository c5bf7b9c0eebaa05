//! Data that an event type takes, to show how it looks.

use crate::catalogue::EventType;
use crate::shape::{RecordShape, Shape};
use serde_json::{Map, Value as Json, json};

impl EventType {
    /// Data with every field, as `tidings.publish` takes it.
    pub fn sample(&self) -> Json {
        record(self.data())
    }
}

fn record(shape: &RecordShape) -> Json {
    let fields = shape.fields.iter();
    let values = fields.map(|field| (field.name.clone(), value(&field.shape, &field.name)));
    Json::Object(values.collect::<Map<_, _>>())
}

fn value(shape: &Shape, name: &str) -> Json {
    match shape {
        Shape::Boolean => json!(true),
        Shape::Int | Shape::Long => json!(1),
        Shape::Double => json!(0.5),
        Shape::String => json!(name),
        Shape::Uuid => json!("01900000-0000-7000-8000-000000000001"),
        Shape::Timestamp => json!("2026-01-31T12:00:00Z"),
        // A text, so that no client makes a float of it; a digit fits every decimal that has one before the point.
        Shape::Decimal(decimal) if decimal.whole_digits() == 0 => json!("0"),
        Shape::Decimal(decimal) if decimal.scale() < 2 => json!("1"),
        Shape::Decimal(_) => json!("1.50"),
        Shape::Enum(choice) => json!(choice.symbols.last()),
        Shape::Array(items) => json!([value(items, name)]),
        Shape::Record(shape) => record(shape),
        Shape::Optional(inner) => value(inner, name),
    }
}
