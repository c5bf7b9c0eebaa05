//! The registry's client, on schema_registry_converter. Its own caching is not used: it keeps transient errors
//! (reference/libraries.md, #171 and #175).

use std::error::Error as _;

use schema_registry_converter::async_impl::schema_registry::{
    SrSettings, get_schema_by_id, post_schema,
};
use schema_registry_converter::error::SRCError;
use schema_registry_converter::schema_registry_common::{RawError, SchemaType, SuppliedSchema};

use super::RegistryError;
use crate::config::RegistryConfig;

/// The largest schema that is taken, in bytes; a composed envelope is a few thousand.
const SCHEMA_BYTES: usize = 1024 * 1024;

/// Confluent's code for "schema not found". A plain 404 comes from a wrong path, which is no fact about an id.
const SCHEMA_NOT_FOUND: u32 = 40_403;

/// Asks a registry with a Confluent-compatible API.
#[derive(Debug, Clone)]
pub struct RegistryClient {
    url: String,
    settings: SrSettings,
}

impl RegistryClient {
    /// A client; nothing is asked yet.
    ///
    /// # Errors
    /// The HTTP client could not be built.
    pub fn new(config: &RegistryConfig) -> Result<Self, RegistryError> {
        let url = config.url.trim_end_matches('/').to_owned();
        let mut builder = SrSettings::new_builder(url.clone());
        builder.no_proxy().set_timeout(config.request_timeout);
        if let (Some(username), Some(password)) = (&config.username, &config.password) {
            builder.set_basic_authorization(username, Some(password.expose()));
        }
        let settings = builder.build().map_err(RegistryError::Client)?;
        Ok(Self { url, settings })
    }

    /// The base of the API, which names the registry in `tidings_delivery.schema_ids`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Registers an Avro schema under a subject and returns its id; the same schema again returns the same id.
    ///
    /// # Errors
    /// [`RegistryError::Refused`] when it is invalid or incompatible, [`RegistryError::Unavailable`] otherwise.
    pub async fn register(&self, subject: &str, schema_json: &str) -> Result<u32, RegistryError> {
        let schema = SuppliedSchema::new(None, SchemaType::Avro, schema_json.to_owned());
        let posted = post_schema(&self.settings, subject.to_owned(), schema).await;
        let registered = posted.map_err(|source| match status(&source) {
            Some(status @ (409 | 422)) => RegistryError::Refused {
                subject: subject.to_owned(),
                status,
                source,
            },
            Some(_) | None => RegistryError::Unavailable(source),
        })?;
        Ok(registered.id)
    }

    /// The JSON of the schema with an id.
    ///
    /// # Errors
    /// [`RegistryError::Missing`], [`RegistryError::Unusable`] when it is not Avro, refers to others or is larger
    /// than 1 MiB, [`RegistryError::Unavailable`] otherwise.
    pub async fn schema_by_id(&self, id: u32) -> Result<String, RegistryError> {
        let got = get_schema_by_id(id, &self.settings).await;
        let registered = got.map_err(|source| match code(&source) {
            Some(SCHEMA_NOT_FOUND) => RegistryError::Missing { id },
            Some(_) | None => RegistryError::Unavailable(source),
        })?;
        let unusable = |reason: &str| RegistryError::Unusable {
            id,
            reason: reason.into(),
        };
        if registered.schema_type != SchemaType::Avro {
            return Err(unusable("its type is not AVRO"));
        }
        if !registered.references.is_empty() {
            return Err(unusable("it refers to other schemas"));
        }
        if registered.schema.len() > SCHEMA_BYTES {
            return Err(unusable("it is larger than 1 MiB"));
        }
        Ok(registered.schema)
    }
}

/// The registry's error code, when it answered with one.
fn code(error: &SRCError) -> Option<u32> {
    let raw = error.source()?.downcast_ref::<RawError>()?;
    Some(raw.error_code)
}

/// The HTTP status: the first three digits of the registry's code (40403, 42201), which may be the status itself
/// (409); without a code, the library keeps it only in its text.
fn status(error: &SRCError) -> Option<u16> {
    match code(error) {
        Some(0) => {
            let (_, after) = error.error.split_once("with status ")?;
            after.get(..3)?.parse().ok()
        }
        Some(code @ 100..1_000) => u16::try_from(code).ok(),
        Some(code) => u16::try_from(code / 100).ok(),
        None => None,
    }
}

#[cfg(test)]
mod tests;
