//! A JSON object's members, sorted into the fields of a record.

use crate::path::Path;
use crate::rejection::{Rejection, RejectionCode, capped, nearest};
use crate::shape::RecordShape;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// The text of each field's value, in the record's order; `None` where the object has none.
///
/// # Errors
/// The text is no object, has a field that the record has not, or one twice.
pub(super) fn members<'j>(
    record: &RecordShape,
    text: &'j str,
    at: &Path<'_>,
) -> Result<Vec<Option<&'j str>>, Rejection> {
    let mut members = Members {
        record,
        values: vec![None; record.fields.len()],
        fault: None,
    };
    let mut json = serde_json::Deserializer::from_str(text);
    serde::Deserializer::deserialize_map(&mut json, &mut members)
        .and_then(|()| json.end())
        .map_err(|error| not_an_object(text, &error, at))?;
    match members.fault {
        None => Ok(members.values),
        Some(Fault::Unknown(name)) => Err(unknown_field(record, &name, at)),
        Some(Fault::Twice(index)) => Err(Rejection::new(
            RejectionCode::DuplicateField,
            &at.field(&record.fields[index].name),
            "occurs twice in its object",
            "keep one of them",
        )),
    }
}

fn not_an_object(text: &str, error: &serde_json::Error, at: &Path<'_>) -> Rejection {
    if text.trim_start().starts_with('{') || serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Rejection::new(
            RejectionCode::InvalidJson,
            at,
            format!("is not valid JSON: {error}"),
            "publish what a JSON library wrote",
        );
    }
    super::json::wrong_type("an object", text, at)
}

fn unknown_field(record: &RecordShape, name: &str, at: &Path<'_>) -> Rejection {
    let known = record.fields.iter().map(|field| field.name.as_str());
    let remedy = match nearest(name, known.clone()) {
        Some(near) => format!(
            "did you mean {near}? Fields: {}",
            known.collect::<Vec<_>>().join(", ")
        ),
        None => format!(
            "remove it, or add it to the schema first. Fields: {}",
            known.collect::<Vec<_>>().join(", ")
        ),
    };
    let name = capped(name.to_owned(), 100);
    Rejection::new(
        RejectionCode::UnknownField,
        &at.field(&name),
        "is not a field of this type",
        remedy,
    )
}

/// What is wrong with a member, kept beside serde's own errors.
enum Fault {
    Unknown(String),
    Twice(usize),
}

struct Members<'s, 'j> {
    record: &'s RecordShape,
    values: Vec<Option<&'j str>>,
    /// The first one found.
    fault: Option<Fault>,
}

impl<'j> Visitor<'j> for &mut Members<'_, 'j> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<(), A::Error> {
        let mut expected = 0;
        while let Some(index) = map.next_key_seed(Key {
            record: self.record,
            expected,
        })? {
            let value: &'j RawValue = map.next_value()?;
            let fault = match index {
                Err(name) => Fault::Unknown(name),
                Ok(index) => {
                    expected = index + 1;
                    match self.values[index].replace(value.get()) {
                        None => continue,
                        Some(_) => Fault::Twice(index),
                    }
                }
            };
            self.fault.get_or_insert(fault);
        }
        Ok(())
    }
}

/// A member's name: the index of its field, or the name if there is none.
struct Key<'s> {
    record: &'s RecordShape,
    /// Members mostly come in the record's order, so this field is tried first.
    expected: usize,
}

impl<'j> DeserializeSeed<'j> for Key<'_> {
    type Value = Result<usize, String>;

    fn deserialize<D: serde::Deserializer<'j>>(
        self,
        deserializer: D,
    ) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Result<usize, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let fields = &self.record.fields;
        if fields
            .get(self.expected)
            .is_some_and(|field| field.name == name)
        {
            return Ok(Ok(self.expected));
        }
        Ok(fields
            .iter()
            .position(|field| field.name == name)
            .ok_or_else(|| name.to_owned()))
    }
}
