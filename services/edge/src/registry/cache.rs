//! Schemas by id: from memory, else from the registry and compared with what is stored, else, while the registry
//! is away, from the store.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;

use apache_avro::Schema;
use deadpool_postgres::Pool;
use tokio::sync::Mutex;

use super::memory::{Known, Memory};
use super::store::Store;
use super::{RegistryClient, RegistryError};
use crate::config::RegistryConfig;

/// Ids that are fetched at the same time at most; the same id is never fetched twice at once.
const FETCHES: usize = 16;

/// The cache of schemas by id (design §5). Share it in an `Arc`.
pub struct SchemaCache {
    client: RegistryClient,
    store: Store,
    memory: RwLock<Memory<Arc<Schema>>>,
    fetching: [Mutex<()>; FETCHES],
}

impl SchemaCache {
    /// An empty cache in front of a registry and `tidings_delivery.schema_ids` in the pool's database.
    pub fn new(client: RegistryClient, pool: Pool, config: &RegistryConfig) -> Self {
        let memory = Memory::new(config.cache_entries, config.failure_ttl, config.missing_ttl);
        Self {
            store: Store::new(pool, client.url()),
            client,
            memory: RwLock::new(memory),
            fetching: std::array::from_fn(|_| Mutex::new(())),
        }
    }

    /// The schema of an id if it is in memory: the path that every record takes.
    pub fn lookup(&self, id: u32) -> Option<Arc<Schema>> {
        self.read().schema(id)
    }

    /// The schema of an id, asked for if need be. A failure is remembered for `registry.failure_ttl`, a missing
    /// id for `registry.missing_ttl`.
    ///
    /// # Errors
    /// See [`RegistryError`]; [`RegistryError::IdChanged`] must stop the role.
    pub async fn fetch(&self, id: u32) -> Result<Arc<Schema>, RegistryError> {
        let _one_at_a_time = self.fetching[id as usize % FETCHES].lock().await;
        if let Some(schema) = self.lookup(id) {
            return Ok(schema);
        }
        if let Some(error) = self.read().failure(id, Instant::now()) {
            return Err(error);
        }
        match self.load(id).await {
            Ok(known) => {
                let schema = known.schema.clone();
                self.write().remember(id, known);
                Ok(schema)
            }
            Err(error) => {
                self.write().remember_failure(id, &error, Instant::now());
                Err(error)
            }
        }
    }

    /// Registers the schemas of a catalogue, subject and JSON each, and returns their ids in the same order.
    /// While the registry is away, ids stored by an earlier run serve.
    ///
    /// # Errors
    /// The registry refuses one, or is away and one was never stored, or an id changed.
    pub async fn register_all(
        &self,
        catalogue: &[(String, String)],
    ) -> Result<Vec<u32>, RegistryError> {
        let mut ids = Vec::with_capacity(catalogue.len());
        for (subject, schema_json) in catalogue {
            ids.push(self.register(subject, schema_json).await?);
        }
        Ok(ids)
    }

    /// Asks the registry for the schemas that were served from the store alone, so that an id that changed during
    /// an outage is noticed. A role calls it now and then; it does nothing while there are none.
    ///
    /// # Errors
    /// [`RegistryError::IdChanged`] must stop the role; others mean that the registry is still away.
    pub async fn confirm_stored(&self) -> Result<(), RegistryError> {
        let unconfirmed = self.read().unconfirmed();
        for id in unconfirmed {
            let known = self.load_from_registry(id).await?;
            self.write().remember(id, known);
        }
        Ok(())
    }

    async fn register(&self, subject: &str, schema_json: &str) -> Result<u32, RegistryError> {
        let (id, confirmed) = match self.client.register(subject, schema_json).await {
            Ok(id) => {
                self.store.confirm(id, schema_json).await?;
                (id, true)
            }
            Err(RegistryError::Unavailable(error)) => {
                let stored = self.store.id_of(schema_json).await?;
                let id = stored.ok_or(RegistryError::Unavailable(error))?;
                tracing::warn!(subject, id, "the registry is away; the stored id serves");
                (id, false)
            }
            Err(error) => return Err(error),
        };
        let schema = parse(id, schema_json)?;
        self.write().remember(id, Known { schema, confirmed });
        Ok(id)
    }

    /// The registry first, because only it can show that an id changed; the store while it is away or forgot.
    async fn load(&self, id: u32) -> Result<Known<Arc<Schema>>, RegistryError> {
        let error = match self.load_from_registry(id).await {
            Ok(known) => return Ok(known),
            Err(error @ (RegistryError::Missing { .. } | RegistryError::Unavailable(_))) => error,
            Err(error) => return Err(error),
        };
        let Some(stored) = self.store.schema(id).await? else {
            return Err(error);
        };
        tracing::warn!(id, %error, "the stored schema serves");
        let schema = parse(id, &stored)?;
        Ok(Known {
            schema,
            confirmed: false,
        })
    }

    async fn load_from_registry(&self, id: u32) -> Result<Known<Arc<Schema>>, RegistryError> {
        let schema_json = self.client.schema_by_id(id).await?;
        let schema = parse(id, &schema_json)?;
        self.store.confirm(id, &schema_json).await?;
        Ok(Known {
            schema,
            confirmed: true,
        })
    }

    /// A panic elsewhere cannot leave the maps half-changed, so a poisoned lock is as good as another.
    fn read(&self) -> RwLockReadGuard<'_, Memory<Arc<Schema>>> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Memory<Arc<Schema>>> {
        self.memory.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn parse(id: u32, schema_json: &str) -> Result<Arc<Schema>, RegistryError> {
    let parsed = Schema::parse_str(schema_json);
    parsed
        .map(Arc::new)
        .map_err(|error| RegistryError::Unusable {
            id,
            reason: error.to_string().into(),
        })
}
