//! Names that no event data may have (requirement B7).

use crate::shape::{RecordShape, Shape};

/// The name of a field that reads like a credential. Payloads are closed (unknown fields are
/// refused), so it is enough to look at the schema, once.
pub(super) fn credential(record: &RecordShape) -> Option<&str> {
    record.fields.iter().find_map(|field| {
        if is_credential(&field.name) {
            Some(field.name.as_str())
        } else {
            credential_within(&field.shape)
        }
    })
}

fn credential_within(shape: &Shape) -> Option<&str> {
    match shape {
        Shape::Record(record) => credential(record),
        Shape::Array(inner) | Shape::Optional(inner) => credential_within(inner),
        Shape::Boolean
        | Shape::Int
        | Shape::Long
        | Shape::Double
        | Shape::String
        | Shape::Uuid
        | Shape::Timestamp
        | Shape::Decimal(_)
        | Shape::Enum(_) => None,
    }
}

fn is_credential(name: &str) -> bool {
    const WORDS: [&str; 7] = [
        "password",
        "passwd",
        "secret",
        "token",
        "credential",
        "credentials",
        "apikey",
    ];
    const ENDINGS: [&str; 3] = ["api_key", "private_key", "access_key"];
    let name = name.to_ascii_lowercase();
    name.split('_').any(|word| WORDS.contains(&word))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}
