//! JSON text to Avro bytes, led by the shape of the schema.

use super::avro::{NULL, PRESENT, write_length, write_long, write_string};
use super::object::members;
use super::scalar::{double, integer, string, symbol, timestamp, uuid, write_decimal};
use crate::path::Path;
use crate::rejection::{Rejection, RejectionCode};
use crate::shape::{FieldShape, RecordShape, Shape};
use serde_json::value::RawValue;

/// Appends a record from the text of a JSON object.
pub(super) fn write_record(
    record: &RecordShape,
    text: &str,
    at: &Path<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Rejection> {
    let members = members(record, text, at)?;
    for (field, member) in record.fields.iter().zip(members) {
        let at = at.field(&field.name);
        match member {
            Some(value) => write(&field.shape, value, &at, out)?,
            None => write_default(field, &at, out)?,
        }
    }
    Ok(())
}

fn write_default(field: &FieldShape, at: &Path<'_>, out: &mut Vec<u8>) -> Result<(), Rejection> {
    match &field.default {
        Some(default) => write(&field.shape, &default.to_string(), at, out),
        None => Err(Rejection::new(
            RejectionCode::MissingField,
            at,
            "is required and absent",
            format!("add it: {}", wanted(&field.shape)),
        )),
    }
}

/// Appends one value; `text` is exactly one JSON value, without space around it.
fn write(shape: &Shape, text: &str, at: &Path<'_>, out: &mut Vec<u8>) -> Result<(), Rejection> {
    match shape {
        Shape::Boolean => match text {
            "true" => out.push(1),
            "false" => out.push(0),
            _ => return Err(wrong_type(wanted(shape), text, at)),
        },
        Shape::Int => write_long(
            integer(shape, text, i32::MIN.into()..=i32::MAX.into(), at)?,
            out,
        ),
        Shape::Long => write_long(integer(shape, text, i64::MIN..=i64::MAX, at)?, out),
        Shape::Double => out.extend_from_slice(&double(text, at)?.to_le_bytes()),
        Shape::String => write_string(&string(shape, text, at)?, out),
        Shape::Uuid => write_string(&uuid(text, at)?.hyphenated().to_string(), out),
        Shape::Timestamp => write_long(timestamp(text, at)?.0, out),
        Shape::Decimal(decimal) => write_decimal(*decimal, text, at, out)?,
        Shape::Enum(choice) => write_length(symbol(choice, text, at)?, out),
        Shape::Array(items) => write_array(items, text, at, out)?,
        Shape::Record(record) => write_record(record, text, at, out)?,
        Shape::Optional(_) if text == "null" => write_long(NULL, out),
        Shape::Optional(inner) => {
            write_long(PRESENT, out);
            write(inner, text, at, out)?;
        }
    }
    Ok(())
}

fn write_array(
    items: &Shape,
    text: &str,
    at: &Path<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Rejection> {
    if !text.starts_with('[') {
        return Err(wrong_type("an array", text, at));
    }
    let values: Vec<&RawValue> =
        serde_json::from_str(text).map_err(|error| invalid_json(&error, at))?;
    if !values.is_empty() {
        write_length(values.len(), out);
        for (index, value) in values.into_iter().enumerate() {
            write(items, value.get(), &at.item(index), out)?;
        }
    }
    write_length(0, out);
    Ok(())
}

/// A rejection of a value that is not `wanted`; of the value only its kind is told.
pub(super) fn wrong_type(wanted: &str, text: &str, at: &Path<'_>) -> Rejection {
    let found = match text.trim_start().bytes().next() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        Some(b'-' | b'0'..=b'9') => "a number",
        Some(_) | None => "something else",
    };
    Rejection::new(
        RejectionCode::WrongType,
        at,
        format!("must be {wanted}, not {found}"),
        format!("publish {wanted}"),
    )
}

pub(super) fn invalid_json(error: &serde_json::Error, at: &Path<'_>) -> Rejection {
    let remedy = "publish what a JSON library wrote";
    Rejection::new(
        RejectionCode::InvalidJson,
        at,
        format!("is not valid JSON: {error}"),
        remedy,
    )
}

/// What a shape takes, in words.
pub(super) fn wanted(shape: &Shape) -> &'static str {
    match shape {
        Shape::Boolean => "true or false",
        Shape::Int | Shape::Long => "a whole number",
        Shape::Double => "a number",
        Shape::String | Shape::Enum(_) => "a string",
        Shape::Uuid => "a UUID as a string",
        Shape::Timestamp => "an RFC 3339 time with an offset, or whole microseconds since 1970",
        Shape::Decimal(_) => "a decimal number, as a number or a string",
        Shape::Array(_) => "an array",
        Shape::Record(_) => "an object",
        Shape::Optional(inner) => wanted(inner),
    }
}
