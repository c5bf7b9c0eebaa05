//! One event type in one version.

use super::compose::compose;
use super::{CatalogueError, Declaration, OnDead, OnStale, Policy, RetryProfile, TypeFolder};
use crate::fingerprint::{Fingerprint, canonical_json, fingerprint};
use crate::render::TextMaker;
use crate::shape::{RecordShape, Shape};
use apache_avro::Schema;
use serde_json::Value as Json;
use std::fmt;

/// One event type in one major version: what it declares, its schema, and how its text is made.
pub struct EventType {
    name: String,
    version: i32,
    declaration: Declaration,
    full_name: String,
    schema: Schema,
    schema_json: String,
    fingerprint: Fingerprint,
    data: RecordShape,
    text: TextMaker,
}

impl fmt::Debug for EventType {
    /// Only name and version: the schema is long, and in every message's Debug.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventType({} v{})", self.name, self.version)
    }
}

impl EventType {
    /// For example `order.confirmed`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The major version, from 1.
    pub fn version(&self) -> i32 {
        self.version
    }

    /// Who answers for it.
    pub fn owner(&self) -> &str {
        &self.declaration.owner
    }

    /// What follows an attempt whose outcome is unknown.
    pub fn policy(&self) -> Policy {
        self.declaration.policy
    }

    /// How failures are retried.
    pub fn retry(&self) -> RetryProfile {
        self.declaration.retry
    }

    /// What follows a message that had to be given up.
    pub fn on_dead(&self) -> OnDead {
        self.declaration.on_dead
    }

    /// What happens to a message older than one already seen of its aggregate.
    pub fn on_stale(&self) -> OnStale {
        self.declaration.on_stale
    }

    /// The composed record's Avro full name, which is the registry subject (design §5), for
    /// example `tidings.order.confirmed.v1.Envelope`.
    pub fn full_name(&self) -> &str {
        &self.full_name
    }

    /// The composed schema: envelope and data in one record.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The composed schema's text, to register.
    pub fn schema_json(&self) -> &str {
        &self.schema_json
    }

    /// The fingerprint of [`Self::schema_json`].
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    pub(crate) fn data(&self) -> &RecordShape {
        &self.data
    }

    pub(crate) fn text(&self) -> &TextMaker {
        &self.text
    }

    /// Splits a full name into event type and version; `None` if it is none of ours.
    pub(crate) fn split_full_name(full_name: &str) -> Option<(&str, i32)> {
        let inner = full_name
            .strip_prefix("tidings.")?
            .strip_suffix(".Envelope")?;
        let (name, version) = inner.rsplit_once(".v")?;
        Some((name, version.parse().ok()?))
    }

    pub(super) fn build(
        envelope: &str,
        folder: &TypeFolder<'_>,
        version: i32,
        data: &str,
    ) -> Result<Self, CatalogueError> {
        let event = || folder.name.to_owned();
        if !is_name(folder.name) {
            return Err(CatalogueError::Name { event: event() });
        }
        if version < 1 {
            return Err(CatalogueError::NoVersion { event: event() });
        }
        let declaration: Declaration =
            toml::from_str(folder.declaration).map_err(|source| CatalogueError::Declaration {
                event: event(),
                source: Box::new(source),
            })?;
        let namespace = format!("tidings.{}.v{version}", folder.name);
        let schema_json = composed_json(envelope, folder, version, data, &namespace)?;
        let schema = parse(&schema_json, folder, version)?;
        let data = data_shape(&schema, folder, version)?;
        let text = TextMaker::build(folder, version, declaration.text, &data)?;
        Ok(Self {
            name: event(),
            version,
            declaration,
            full_name: format!("{namespace}.Envelope"),
            fingerprint: fingerprint(&schema_json)
                .map_err(|source| json_error(folder, version, source))?,
            schema,
            schema_json,
            data,
            text,
        })
    }
}

fn composed_json(
    envelope: &str,
    folder: &TypeFolder<'_>,
    version: i32,
    data: &str,
    namespace: &str,
) -> Result<String, CatalogueError> {
    let parse = |text| {
        serde_json::from_str::<Json>(text).map_err(|source| json_error(folder, version, source))
    };
    let composed = compose(parse(envelope)?, parse(data)?, namespace).ok_or_else(|| {
        field_error(
            folder,
            version,
            "data",
            "must be a record named Data, without a namespace",
        )
    })?;
    canonical_json(&composed.to_string()).map_err(|source| json_error(folder, version, source))
}

fn parse(
    schema_json: &str,
    folder: &TypeFolder<'_>,
    version: i32,
) -> Result<Schema, CatalogueError> {
    Schema::parse_str(schema_json).map_err(|source| CatalogueError::Avro {
        event: folder.name.to_owned(),
        version,
        source: Box::new(source),
    })
}

/// The shape of the field `data`, whose names may be no credential's (requirement B7).
fn data_shape(
    schema: &Schema,
    folder: &TypeFolder<'_>,
    version: i32,
) -> Result<RecordShape, CatalogueError> {
    let data = envelope_field(schema, "data")
        .ok_or_else(|| field_error(folder, version, "data", "must be a record"))?;
    let shape = RecordShape::of(data, "data")
        .map_err(|error| field_error(folder, version, &error.field, error.problem))?;
    match credential(&shape) {
        Some(name) => Err(field_error(
            folder,
            version,
            name,
            "reads like a credential, which no message may carry; give a reference to where it is kept",
        )),
        None => Ok(shape),
    }
}

/// The schema of a field of the envelope.
fn envelope_field<'s>(envelope: &'s Schema, name: &str) -> Option<&'s Schema> {
    let Schema::Record(record) = envelope else {
        return None;
    };
    record
        .fields
        .iter()
        .find(|field| field.name == name)
        .map(|field| &field.schema)
}

fn json_error(folder: &TypeFolder<'_>, version: i32, source: serde_json::Error) -> CatalogueError {
    CatalogueError::Json {
        event: folder.name.to_owned(),
        version,
        source,
    }
}

fn field_error(
    folder: &TypeFolder<'_>,
    version: i32,
    field: &str,
    problem: &'static str,
) -> CatalogueError {
    CatalogueError::Field {
        event: folder.name.to_owned(),
        version,
        field: field.to_owned(),
        problem,
    }
}

/// Lower-case words joined by dots, each a valid part of an Avro namespace.
fn is_name(name: &str) -> bool {
    name.split('.').all(|word| {
        word.starts_with(|first: char| first.is_ascii_lowercase())
            && word
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
    })
}

/// The name of a field that reads like a credential. Payloads are closed (unknown fields are
/// refused), so it is enough to look at the schema, once.
fn credential(record: &RecordShape) -> Option<&str> {
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
