//! `tidings_delivery.schema_ids`: what each id meant when it was first seen.

use std::sync::Arc;

use deadpool_postgres::Pool;

use super::RegistryError;
use super::fingerprint::{fingerprint, same_schema};
use crate::postgres::PostgresError;

/// The stored schemas of one registry.
pub(super) struct Store {
    pool: Pool,
    registry_url: String,
}

impl Store {
    pub(super) fn new(pool: Pool, registry_url: &str) -> Self {
        Self {
            pool,
            registry_url: registry_url.to_owned(),
        }
    }

    /// The schema stored under an id.
    pub(super) async fn schema(&self, id: u32) -> Result<Option<String>, RegistryError> {
        let client = self.pool.get().await.map_err(pool_failed)?;
        let found = client
            .query_opt(
                "SELECT schema FROM tidings_delivery.schema_ids WHERE registry_url = $1 AND id = $2",
                &[&self.registry_url, &as_int(id)],
            )
            .await
            .map_err(|source| failed("read a stored schema", source))?;
        Ok(found.map(|row| row.get(0)))
    }

    /// The newest id under which a schema is stored.
    pub(super) async fn id_of(&self, schema_json: &str) -> Result<Option<u32>, RegistryError> {
        let Some(fingerprint) = fingerprint(schema_json) else {
            return Ok(None);
        };
        let client = self.pool.get().await.map_err(pool_failed)?;
        let found = client
            .query_opt(
                "SELECT id FROM tidings_delivery.schema_ids WHERE registry_url = $1 AND fingerprint = $2
                 ORDER BY id DESC LIMIT 1",
                &[&self.registry_url, &fingerprint],
            )
            .await
            .map_err(|source| failed("read a stored schema id", source))?;
        Ok(found.map(|row| row.get::<_, i32>(0).cast_unsigned()))
    }

    /// Stores what an id means, or compares it with what it meant before.
    ///
    /// # Errors
    /// [`RegistryError::IdChanged`] when it meant something else.
    pub(super) async fn confirm(&self, id: u32, schema_json: &str) -> Result<(), RegistryError> {
        let unusable = || RegistryError::Unusable {
            id,
            reason: "it is not JSON".into(),
        };
        let fingerprint = fingerprint(schema_json).ok_or_else(unusable)?;
        let stored = self.insert_or_read(id, &fingerprint, schema_json).await?;
        if stored.is_none_or(|stored| same_schema(&stored, schema_json)) {
            return Ok(());
        }
        Err(RegistryError::IdChanged {
            id,
            registry_url: self.registry_url.clone(),
        })
    }

    /// Inserts, or returns what another process or an earlier run inserted.
    async fn insert_or_read(
        &self,
        id: u32,
        fingerprint: &[u8],
        schema_json: &str,
    ) -> Result<Option<String>, RegistryError> {
        let client = self.pool.get().await.map_err(pool_failed)?;
        let inserted = client
            .execute(
                "INSERT INTO tidings_delivery.schema_ids (registry_url, id, fingerprint, schema)
                 VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
                &[&self.registry_url, &as_int(id), &fingerprint, &schema_json],
            )
            .await
            .map_err(|source| failed("store a schema", source))?;
        drop(client);
        match inserted {
            0 => self.schema(id).await,
            _ => Ok(None),
        }
    }
}

/// An id is 32 bits of a record and may be any of them; the column keeps the bits.
fn as_int(id: u32) -> i32 {
    id.cast_signed()
}

fn failed(doing: &'static str, source: tokio_postgres::Error) -> RegistryError {
    RegistryError::Store(Arc::new(PostgresError::Statement { doing, source }))
}

fn pool_failed(error: deadpool_postgres::PoolError) -> RegistryError {
    RegistryError::Store(Arc::new(error.into()))
}
