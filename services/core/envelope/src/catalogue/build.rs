//! An event type, out of a folder or out of a registered schema.

use super::carried::{Carried, PROPERTY, Registered};
use super::compose::compose;
use super::credentials::credential;
use super::{CatalogueError, Declaration, EventType, TypeFolder, builtin};
use crate::WriterSchema;
use crate::fingerprint::{canonical_json, fingerprint};
use crate::portable;
use crate::shape::RecordShape;
use crate::template::{TextMaker, Words};
use apache_avro::Schema;
use serde_json::Value as Json;

impl EventType {
    /// A version of a folder; `newest` is what is already built of a later version.
    pub(super) fn of_folder(
        folder: &TypeFolder<'_>,
        version: i32,
        data: &str,
        newest: Option<&EventType>,
    ) -> Result<Self, CatalogueError> {
        let name = folder.name;
        if !is_name(name) {
            return Err(CatalogueError::Name {
                event: name.to_owned(),
            });
        }
        if version < 1 {
            return Err(CatalogueError::NoVersion {
                event: name.to_owned(),
            });
        }
        let declaration =
            toml::from_str(folder.declaration).map_err(|source| CatalogueError::Declaration {
                event: name.to_owned(),
                source: Box::new(source),
            })?;
        let at = At { name, version };
        let data = serde_json::from_str(data).map_err(|source| at.json(source))?;
        build(
            at,
            declaration,
            data,
            &Words::of_folder(folder, version, newest),
        )
    }

    /// The event type that a registered schema says it is of (see [`PROPERTY`]); `None` if it does not say so. Its
    /// template must be portable: it may be anybody's who may register a schema.
    pub(crate) fn of_registered(
        schema_json: &str,
        full_name: &str,
    ) -> Option<Result<Self, String>> {
        let (name, version) = Self::split_full_name(full_name)?;
        let schema = serde_json::from_str(schema_json).ok()?;
        Some(Registered::of(schema)?.and_then(|registered| {
            let Carried {
                declaration,
                template,
                template_version,
            } = registered.carried;
            if let Some(template) = &template {
                portable::check(template).map_err(|refused| format!("its template: {refused}"))?;
            }
            let words = Words {
                template: template.as_deref(),
                version: template_version.unwrap_or(version),
            };
            if !is_name(name) || version < 1 {
                return Err("its name is no event type's".to_owned());
            }
            build(At { name, version }, declaration, registered.data, &words)
                .map_err(|error| error.to_string())
        }))
    }

    /// Refuses an older version whose data, upcast, would lack a field of the newest.
    pub(super) fn check_upcast(&self, newest: &EventType) -> Result<(), CatalogueError> {
        let refused = |field: &str| CatalogueError::Upcast {
            event: self.name.clone(),
            version: self.version,
            newest: newest.version,
            field: format!("data.{field}"),
        };
        let Some(after) = self.text().fields_after(&self.data) else {
            return Ok(());
        };
        let after = after.map_err(refused)?;
        let mut needed = newest
            .data
            .fields
            .iter()
            .filter(|field| field.default.is_none());
        match needed.find(|field| !after.contains(&field.name)) {
            Some(lacking) => Err(refused(&lacking.name)),
            None => Ok(()),
        }
    }
}

/// Whose error it is.
#[derive(Clone, Copy)]
struct At<'a> {
    name: &'a str,
    version: i32,
}

fn build(
    at: At<'_>,
    declaration: Declaration,
    data: Json,
    words: &Words<'_>,
) -> Result<EventType, CatalogueError> {
    let namespace = format!("tidings.{}.v{}", at.name, at.version);
    let mut composed = composed(at, data, &namespace)?;
    let shape = data_shape(at, &at.parse(&composed.to_string())?)?;
    let text = TextMaker::build(at.name, at.version, declaration.text, words, &shape)?;
    let not_portable = text
        .template()
        .and_then(|template| portable::check(template).err());
    if let Json::Object(record) = &mut composed {
        record.insert(
            PROPERTY.to_owned(),
            carried(at, &declaration, &text, not_portable.is_none())?,
        );
    }
    let schema_json = canonical_json(&composed.to_string()).map_err(|source| at.json(source))?;
    if schema_json.len() > WriterSchema::MAX_TEXT_BYTES {
        return Err(CatalogueError::TooLong {
            event: at.name.to_owned(),
            version: at.version,
            bytes: schema_json.len(),
            most: WriterSchema::MAX_TEXT_BYTES,
        });
    }
    Ok(EventType {
        name: at.name.to_owned(),
        version: at.version,
        declaration,
        full_name: format!("{namespace}.Envelope"),
        fingerprint: fingerprint(&schema_json).map_err(|source| at.json(source))?,
        schema: at.parse(&schema_json)?,
        schema_json,
        data: shape,
        text,
        not_portable,
    })
}

fn composed(at: At<'_>, data: Json, namespace: &str) -> Result<Json, CatalogueError> {
    let envelope = serde_json::from_str(builtin::ENVELOPE).map_err(|source| at.json(source))?;
    compose(envelope, data, namespace)
        .ok_or_else(|| at.field("data", "must be a record named Data, without a namespace"))
}

fn carried(
    at: At<'_>,
    declaration: &Declaration,
    text: &TextMaker,
    portable: bool,
) -> Result<Json, CatalogueError> {
    let carried = Carried {
        declaration: declaration.clone(),
        template: text.template().filter(|_| portable).map(str::to_owned),
        template_version: text.version().filter(|version| *version != at.version),
    };
    serde_json::to_value(carried).map_err(|source| at.json(source))
}

/// The shape of the field `data`, whose names may be no credential's (requirement B7).
fn data_shape(at: At<'_>, schema: &Schema) -> Result<RecordShape, CatalogueError> {
    let data =
        envelope_field(schema, "data").ok_or_else(|| at.field("data", "must be a record"))?;
    let shape =
        RecordShape::of(data, "data").map_err(|error| at.field(&error.field, error.problem))?;
    match credential(&shape) {
        Some(name) => Err(at.field(
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
    let field = record.fields.iter().find(|field| field.name == name);
    field.map(|field| &field.schema)
}

impl At<'_> {
    fn parse(self, schema_json: &str) -> Result<Schema, CatalogueError> {
        Schema::parse_str(schema_json).map_err(|source| CatalogueError::Avro {
            event: self.name.to_owned(),
            version: self.version,
            source: Box::new(source),
        })
    }

    fn json(self, source: serde_json::Error) -> CatalogueError {
        CatalogueError::Json {
            event: self.name.to_owned(),
            version: self.version,
            source,
        }
    }

    fn field(self, field: &str, problem: &'static str) -> CatalogueError {
        CatalogueError::Field {
            event: self.name.to_owned(),
            version: self.version,
            field: field.to_owned(),
            problem,
        }
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
