//! The schema that a record was written with, matched to the event type that reads it.

use super::bounds;
use crate::catalogue::{Catalogue, EventType};
use crate::{Poison, PoisonCategory};
use apache_avro::Schema;
use apache_avro::schema_compatibility::SchemaCompatibility;
use std::sync::Arc;

/// A registered schema that the catalogue can read. Made once per registry id and kept; what it
/// cost is then spared for every record.
#[derive(Debug, Clone)]
pub struct WriterSchema {
    schema: Schema,
    event: Arc<EventType>,
}

impl WriterSchema {
    /// The longest schema text, in bytes; ours have a tenth of it.
    pub const MAX_TEXT_BYTES: usize = 64 * 1024;

    /// Parses a schema's text as the registry gave it, finds the event type of the same full name,
    /// and checks that the one can be read as the other. An event type or version that the catalogue
    /// lacks is read by what the schema says about itself (design §5), if it does.
    ///
    /// # Errors
    /// [`Poison`], which holds for every record with this schema: an unknown event type or
    /// version, or a schema that is invalid, out of bounds, or incompatible.
    pub fn bind(catalogue: &Catalogue, schema_json: &str) -> Result<Self, Poison> {
        if schema_json.len() > Self::MAX_TEXT_BYTES {
            return Err(incompatible(format!(
                "its text is longer than {} bytes",
                Self::MAX_TEXT_BYTES
            )));
        }
        let schema = Schema::parse_str(schema_json)
            .map_err(|error| incompatible(format!("is not valid Avro: {error}")))?;
        let full_name = schema
            .name()
            .map(|name| name.fullname(None))
            .unwrap_or_default();
        bounds::check(&schema).map_err(|problem| incompatible(problem.to_owned()))?;
        let event = match find(catalogue, &full_name) {
            Ok(event) => Arc::clone(event),
            Err(unknown) => Arc::new(own_declaration(schema_json, &full_name, unknown)?),
        };
        SchemaCompatibility::can_read(&schema, event.schema())
            .map_err(|error| incompatible(format!("cannot be read as {full_name}: {error}")))?;
        Ok(Self { schema, event })
    }

    /// The event type that reads it.
    pub fn event(&self) -> &Arc<EventType> {
        &self.event
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }
}

/// The event type that the schema says it is of; `unknown` if it does not say so, or nothing that can be used.
fn own_declaration(
    schema_json: &str,
    full_name: &str,
    unknown: Poison,
) -> Result<EventType, Poison> {
    match EventType::of_registered(schema_json, full_name) {
        Some(Ok(event)) => Ok(event),
        Some(Err(problem)) => {
            let problem = format!(
                "{}; what its schema says about it cannot be used: {problem}",
                unknown.problem
            );
            Err(Poison::new(unknown.category, "schema", problem))
        }
        None => Err(unknown),
    }
}

fn find<'c>(catalogue: &'c Catalogue, full_name: &str) -> Result<&'c Arc<EventType>, Poison> {
    if let Some(event) = catalogue.by_full_name(full_name) {
        return Ok(event);
    }
    Err(match EventType::split_full_name(full_name) {
        Some((name, version)) if catalogue.versions(name).next().is_some() => Poison::new(
            PoisonCategory::UnsupportedVersion,
            "schema",
            format!(
                "version {version} of {name} is not known here; deploy consumers before producers"
            ),
        ),
        Some(_) | None => Poison::new(
            PoisonCategory::UnknownType,
            "schema",
            format!("{full_name:?} is no event type known here"),
        ),
    })
}

fn incompatible(problem: String) -> Poison {
    Poison::new(PoisonCategory::IncompatibleSchema, "schema", problem)
}
