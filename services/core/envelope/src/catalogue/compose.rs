//! The envelope template and a data record, composed to one self-contained schema.

use serde_json::{Value, json};

/// The schema's JSON: the template with its namespace set and its field `data` typed by the data
/// record. `None` if either is not laid out as `schemas/README.md` says.
pub(super) fn compose(mut envelope: Value, data: Value, namespace: &str) -> Option<Value> {
    if data.get("name")? != "Data" || data.get("namespace").is_some_and(|own| own != namespace) {
        return None;
    }
    envelope
        .as_object_mut()?
        .insert("namespace".to_owned(), json!(namespace));
    let last = envelope.get_mut("fields")?.as_array_mut()?.last_mut()?;
    if last.get("name")? != "data" {
        return None;
    }
    last.as_object_mut()?.insert("type".to_owned(), data);
    Some(envelope)
}
