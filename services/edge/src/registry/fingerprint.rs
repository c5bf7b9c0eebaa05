//! When two schemas are the same, however a registry writes them.

use apache_avro::Schema;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// SHA-256 of a schema's JSON with sorted keys and without white space. Unlike Avro's canonical form it keeps
/// logical types, which decide what a value means. `None` when the text is not JSON.
pub(super) fn fingerprint(schema_json: &str) -> Option<Vec<u8>> {
    let value: Value = serde_json::from_str(schema_json).ok()?;
    let mut text = String::with_capacity(schema_json.len());
    write_sorted(&value, &mut text);
    Some(Sha256::digest(text.as_bytes()).to_vec())
}

/// Whether two schemas read the same bytes alike: the texts may differ in order, white space, documentation or in
/// how a name or a type is spelled out.
pub(crate) fn same_schema(left_json: &str, right_json: &str) -> bool {
    if let (Some(left), Some(right)) = (fingerprint(left_json), fingerprint(right_json))
        && left == right
    {
        return true;
    }
    match (Schema::parse_str(left_json), Schema::parse_str(right_json)) {
        (Ok(left), Ok(right)) => left == right,
        (Ok(_) | Err(_), _) => false,
    }
}

/// serde_json keeps or sorts keys depending on a feature that any crate may switch on.
fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort();
            text.push('{');
            for (position, key) in keys.into_iter().enumerate() {
                separate(position, text);
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_sorted(&fields[key], text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (position, item) in items.iter().enumerate() {
                separate(position, text);
                write_sorted(item, text);
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
    }
}

fn separate(position: usize, text: &mut String) {
    if position > 0 {
        text.push(',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: &str = r#"{"type":"record","name":"Order","namespace":"shop","doc":"An order",
        "fields":[{"name":"id","type":"string"},{"name":"at","type":{"type":"long","logicalType":"timestamp-micros"}}]}"#;

    #[test]
    fn order_of_keys_and_white_space_do_not_matter() {
        let other = r#"{"fields":[{"type":"string","name":"id"},{"type":{"logicalType":"timestamp-micros","type":"long"},"name":"at"}],
            "doc":"An order","namespace":"shop","name":"Order","type":"record"}"#;
        assert_eq!(fingerprint(ORDER), fingerprint(other));
    }

    #[test]
    fn a_parsed_and_rewritten_schema_is_the_same() {
        let rewritten = serde_json::to_string(&Schema::parse_str(ORDER).unwrap()).unwrap();
        assert!(same_schema(ORDER, &rewritten));
        let full_name = r#"{"type":"record","name":"shop.Order",
            "fields":[{"name":"id","type":{"type":"string"}},{"name":"at","type":{"type":"long","logicalType":"timestamp-micros"}}]}"#;
        assert!(same_schema(ORDER, full_name));
    }

    #[test]
    fn another_field_name_type_or_logical_type_is_another_schema() {
        for (from, to) in [
            ("\"id\"", "\"key\""),
            ("\"string\"", "\"bytes\""),
            ("timestamp-micros", "timestamp-millis"),
            ("\"Order\"", "\"Shipment\""),
        ] {
            assert!(
                !same_schema(ORDER, &ORDER.replace(from, to)),
                "{from} → {to}"
            );
        }
    }

    #[test]
    fn text_that_is_no_schema_is_nobodys_equal() {
        assert_eq!(fingerprint("{"), None);
        assert!(!same_schema("{", "{"));
    }
}
