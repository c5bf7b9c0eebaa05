//! What a registered schema says about its own event type, so that a dispatcher which does not know the version yet can
//! still deliver it: the property [`PROPERTY`] of the composed record. Registries and other readers ignore it.

use super::Declaration;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// The property's name.
pub(crate) const PROPERTY: &str = "tidings";

/// The property's value. Unlike in `type.toml`, unknown keys are no mistake: a newer build may say more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Carried {
    #[serde(flatten)]
    pub(super) declaration: Declaration,
    /// The template, unless the text comes ready or the template is not portable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) template: Option<String>,
    /// The version whose data the template is for, if it is a later one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) template_version: Option<i32>,
}

/// The parts of a registered schema that make an event type.
pub(super) struct Registered {
    pub(super) carried: Carried,
    pub(super) data: Json,
}

impl Registered {
    /// `None` if the schema carries no declaration.
    pub(super) fn of(mut schema: Json) -> Option<Result<Self, String>> {
        let carried = schema.get_mut(PROPERTY)?.take();
        let read = || {
            let carried = serde_json::from_value(carried).map_err(|error| error.to_string())?;
            let fields = schema.get_mut("fields").and_then(Json::as_array_mut);
            let data = fields
                .and_then(|fields| fields.iter_mut().find(|field| field["name"] == "data"))
                .and_then(|field| field.get_mut("type"))
                .map(Json::take)
                .ok_or("there is no field data")?;
            Ok(Self { carried, data })
        };
        Some(read())
    }
}
