//! The schema registry: its client, and the cache that survives its outages (design §5).

mod cache;
mod client;
mod fingerprint;
mod memory;
mod store;
mod subjects;

pub use cache::SchemaCache;
pub use client::RegistryClient;
pub(crate) use fingerprint::same_schema;
pub use subjects::{RegisteredEdition, Subjects, SubjectsError};

use std::sync::Arc;

use schema_registry_converter::error::SRCError;

use crate::postgres::PostgresError;

/// Why a schema or an id could not be had. Cheap to clone, because failures are remembered.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RegistryError {
    /// The registry says that there is no such id (404 with code 40403). It may be registered later.
    #[error("the registry has no schema with id {id}")]
    Missing {
        /// The schema id.
        id: u32,
    },
    /// The registry refuses a schema (409: incompatible, 422: invalid).
    #[error(
        "the registry refuses the schema of {subject} with status {status}; `tidings schemas check` says why"
    )]
    Refused {
        /// The subject.
        subject: String,
        /// The HTTP status.
        status: u16,
        /// What the registry said.
        #[source]
        source: SRCError,
    },
    /// What the registry has under an id is not an Avro schema that can be used alone.
    #[error("the schema with id {id} is not a usable Avro schema: {reason}")]
    Unusable {
        /// The schema id.
        id: u32,
        /// Why.
        reason: Arc<str>,
    },
    /// An id means something else than before: the role must stop, because records would be misread.
    #[error(
        "schema id {id} of {registry_url} changed its schema; was the registry restored or recreated? \
             Restore it, or if no topic holds records of the old one, delete its rows from tidings_delivery.schema_ids"
    )]
    IdChanged {
        /// The schema id.
        id: u32,
        /// The registry.
        registry_url: String,
    },
    /// The registry cannot be reached or is not well.
    #[error("the registry cannot be reached or is not well")]
    Unavailable(#[source] SRCError),
    /// Tidings' own database cannot be asked.
    #[error("the stored schemas cannot be read or written")]
    Store(#[source] Arc<PostgresError>),
    /// The client could not be built.
    #[error("registry.url cannot be used")]
    Client(#[source] SRCError),
}

impl RegistryError {
    /// Whether asking again soon is useless: the record or the schema is at fault, not the registry.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Missing { .. }
            | Self::Refused { .. }
            | Self::Unusable { .. }
            | Self::IdChanged { .. }
            | Self::Client(_) => true,
            Self::Unavailable(_) | Self::Store(_) => false,
        }
    }
}
