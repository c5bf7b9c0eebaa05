//! One spelling of a schema, so that two texts of the same schema compare equal.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// SHA-256 of [`canonical_json`].
pub type Fingerprint = [u8; 32];

/// The fingerprint of a schema's JSON text. Unlike Avro's own (of the parsing canonical form) it
/// also covers defaults and logical types: a changed decimal scale is a changed schema.
///
/// # Errors
/// The text is not JSON, or nested deeper than 128.
pub fn fingerprint(schema_json: &str) -> Result<Fingerprint, serde_json::Error> {
    Ok(Sha256::digest(canonical_json(schema_json)?).into())
}

/// The text with the keys of every object sorted and no space between: a registry may return a
/// schema in another layout than it was given.
///
/// # Errors
/// The text is not JSON, or nested deeper than 128.
pub fn canonical_json(text: &str) -> Result<String, serde_json::Error> {
    let mut out = String::with_capacity(text.len());
    write_canonical(&serde_json::from_str(text)?, &mut out);
    Ok(out)
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            // Sorted here: serde_json keeps its own order when some crate asks for it.
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| name.as_str());
            out.push('{');
            for (position, (name, field)) in fields.into_iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write_canonical(field, out);
            }
            out.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_does_not_matter_but_content_does() {
        let one = fingerprint(r#"{"type":"bytes","scale":4,"names":["a", "b"]}"#).unwrap();
        let same = fingerprint("{ \"names\": [\"a\",\"b\"],\n \"scale\": 4, \"type\": \"bytes\" }")
            .unwrap();
        let other = fingerprint(r#"{"type":"bytes","scale":2,"names":["a","b"]}"#).unwrap();
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert!(fingerprint("{").is_err());
    }

    #[test]
    fn the_canonical_text_is_the_same_json() {
        let text = r#"{"b":[1,{"z":null,"a":"\"q\""}],"a":true}"#;
        let canonical = canonical_json(text).unwrap();
        assert_eq!(canonical, r#"{"a":true,"b":[1,{"a":"\"q\"","z":null}]}"#);
    }
}
