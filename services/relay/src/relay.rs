//! Starting, sharing the shards with other relays, stopping.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tidings_edge::config::Config;
use tidings_edge::kafka::{self, TopicsError};
use tidings_edge::postgres::{self, PostgresError};
use tidings_edge::registry::{RegistryClient, RegistryError, SchemaCache, Subjects};
use tidings_edge::schemas::{self, Incompatible, SchemasError};
use tidings_edge::telemetry::{Traces, metric_names};
use tidings_envelope::Catalogue;
use tidings_outbox::{Pace, SafetyPass};
use tokio::time::Instant;
use tracing::{Instrument as _, info_span};

use crate::encoder::Encoder;
use crate::health::RelayHealth;
use crate::membership::Membership;
use crate::options::{RelayOptions, Tuning, warn_retry};
use crate::session::SessionError;
use crate::shards::Shards;
use crate::worker::Shared;

/// Connections to Tidings' own database, for the registry's ids; used at start only.
const STATE_CONNECTIONS: usize = 1;

/// So many refusals in a row are believed. One is not: of two roles that register the same schema at the same moment,
/// the registry tells one that it is in conflict, and topics may just be being made.
const BELIEVED_REFUSALS: u32 = 3;

/// Why a relay cannot run; what passes by itself (an outage) is waited out instead.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The event types do not fit.
    #[error("the event types cannot be used")]
    Schemas(#[from] SchemasError),
    /// The cluster's topics do not fit the configuration.
    #[error("the topics do not fit; see `tidings topics apply`")]
    Topics(#[source] TopicsError),
    /// A schema would break readers or writers of what is registered.
    #[error("a schema is not FULL_TRANSITIVE; `tidings schemas check` tells every difference")]
    Incompatible(#[from] Incompatible),
    /// The registry refuses a schema, or an id means another schema than it did.
    #[error("the schema registry does not fit")]
    Registry(#[from] RegistryError),
    /// A database's configuration cannot be used.
    #[error("a database cannot be used")]
    Postgres(#[from] PostgresError),
    /// Producers hang in their drop; only a new process is rid of them.
    #[error("{0} producers hang while they are dropped; the process has to be restarted")]
    Abandoned(usize),
}

/// A relay: reads its share of the outbox' shards until it is stopped.
#[derive(Debug)]
pub struct Relay {
    config: Arc<Config>,
    tuning: Tuning,
    catalogue: Arc<Catalogue>,
    health: Arc<RelayHealth>,
    abandoned: Arc<AtomicUsize>,
    traces: Traces,
}

impl Relay {
    /// A relay that is not started yet.
    ///
    /// # Errors
    /// The event types do not fit.
    pub fn new(options: RelayOptions) -> Result<Self, RelayError> {
        Ok(Self {
            catalogue: Arc::new(schemas::catalogue(&options.config.schemas)?),
            config: Arc::new(options.config),
            tuning: options.tuning,
            health: Arc::new(RelayHealth::default()),
            abandoned: Arc::new(AtomicUsize::new(0)),
            traces: Traces::off(),
        })
    }

    /// The same with its rows' spans sent to `traces`.
    #[must_use]
    pub fn with_traces(mut self, traces: Traces) -> Self {
        self.traces = traces;
        self
    }

    /// What it tells of itself, for the admin server.
    #[must_use]
    pub fn health(&self) -> Arc<RelayHealth> {
        Arc::clone(&self.health)
    }

    /// Runs until `shutdown` completes; then lets go of its shards, waiting for what it produced up to
    /// `relay.drain_deadline`. Outages of Postgres, Kafka and (once the schemas are known) the registry are waited
    /// out.
    ///
    /// # Errors
    /// [`RelayError`]: something that does not pass by itself.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> Result<(), RelayError> {
        let mut shutdown = std::pin::pin!(shutdown);
        let schema_ids = tokio::select! {
            prepared = self.prepare() => prepared?,
            () = &mut shutdown => return Ok(()),
        };
        self.health.set_prepared();
        let mut shards = Shards::new(
            Arc::clone(&self.config),
            self.shared(schema_ids),
            Arc::clone(&self.abandoned),
        );
        let ended = tokio::select! {
            ended = self.keep_share(&mut shards) => ended,
            () = shutdown => Ok(()),
        };
        self.health.set_stopping();
        shards.stop_all().await;
        ended
    }

    fn shared(&self, schema_ids: BTreeMap<String, u32>) -> Shared {
        Shared {
            relay: self.config.relay.clone(),
            tuning: self.tuning.clone(),
            encoder: Encoder::new(&self.config, Arc::clone(&self.catalogue), schema_ids)
                .with_traces(self.traces.clone()),
            health: Arc::clone(&self.health),
        }
    }

    /// Confirms the topics and registers the schemas, as often as it takes.
    async fn prepare(&self) -> Result<BTreeMap<String, u32>, RelayError> {
        let mut backoff = Pace::new(self.tuning.backoff_min, self.tuning.backoff_max);
        let mut refusals = 0;
        loop {
            let prepared = self.try_prepare().instrument(info_span!("prepare relay"));
            let error = match prepared.await {
                Ok(schema_ids) => return Ok(schema_ids),
                Err(error) => error,
            };
            refusals = if is_permanent(&error) {
                refusals + 1
            } else {
                0
            };
            if refusals >= BELIEVED_REFUSALS {
                return Err(error);
            }
            let pause = backoff.after_read(false);
            warn_retry("the relay cannot start yet", &error, pause);
            tokio::time::sleep(pause).await;
        }
    }

    async fn try_prepare(&self) -> Result<BTreeMap<String, u32>, RelayError> {
        kafka::check(&self.config)
            .await
            .map_err(RelayError::Topics)?;
        let pool = postgres::pool(&self.config.state, "tidings-relay", STATE_CONNECTIONS)?;
        let registry = RegistryClient::new(&self.config.registry)?;
        self.prove().await?;
        let schemas = SchemaCache::new(registry, pool, &self.config.registry);
        let subjects: Vec<(String, String)> = self
            .catalogue
            .iter()
            .map(|event| (event.full_name().to_owned(), event.schema_json().to_owned()))
            .collect();
        let ids = schemas.register_all(&subjects).await?;
        Ok(subjects
            .into_iter()
            .map(|(subject, _)| subject)
            .zip(ids)
            .collect())
    }

    /// Refuses to register what would break readers or writers of what is registered. A registry that cannot be asked is no
    /// reason to stop: what it has not got yet, it cannot be given either.
    async fn prove(&self) -> Result<(), RelayError> {
        let asked = match Subjects::new(&self.config.registry) {
            Ok(subjects) => schemas::first_incompatible(&self.catalogue, &subjects).await,
            Err(error) => Err(error),
        };
        match asked {
            Ok(None) => Ok(()),
            Ok(Some(found)) => Err(found.into()),
            Err(error) => {
                tracing::warn!(%error, "the registry's schemas cannot be compared with");
                Ok(())
            }
        }
    }

    /// Keeps its share of the shards, and samples the backlog.
    async fn keep_share(&self, shards: &mut Shards) -> Result<(), RelayError> {
        let mut backoff = Pace::new(self.tuning.backoff_min, self.tuning.backoff_max);
        loop {
            let pause = match self.keep_share_as_member(shards, &mut backoff).await {
                Ok(()) => {
                    return Err(RelayError::Abandoned(
                        self.abandoned.load(Ordering::Relaxed),
                    ));
                }
                Err(error) => {
                    self.health.set_member(false);
                    let pause = backoff.after_read(false);
                    warn_retry("the relay is not counted among the relays", &error, pause);
                    pause
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Ends without an error only when too many producers hang.
    async fn keep_share_as_member(
        &self,
        shards: &mut Shards,
        backoff: &mut Pace,
    ) -> Result<(), SessionError> {
        let membership = Membership::join(&self.config.upstream, &self.tuning).await?;
        let begun_at = Instant::now();
        let mut sampling = SafetyPass::new(Duration::ZERO, Duration::ZERO);
        while self.abandoned.load(Ordering::Relaxed) <= self.tuning.max_abandoned_producers {
            shards.balance(&membership.look().await?).await;
            self.health.set_member(true);
            backoff.after_read(true);
            if sampling.due(begun_at.elapsed()) {
                let sampled_at = Instant::now();
                self.sample(&membership).await?;
                let took = sampled_at.elapsed();
                sampling = SafetyPass::new(self.tuning.sample_interval, Duration::ZERO);
                sampling.passed(begun_at.elapsed(), took);
            }
            tokio::time::sleep(self.tuning.membership_interval).await;
        }
        Ok(())
    }

    async fn sample(&self, membership: &Membership) -> Result<(), SessionError> {
        let backlog = membership.backlog().await?;
        self.health
            .sampled(backlog.pending, backlog.oldest_age_seconds);
        metrics::gauge!(metric_names::OUTBOX_PENDING).set(backlog.pending as f64);
        metrics::gauge!(metric_names::OUTBOX_OLDEST_AGE_SECONDS).set(backlog.oldest_age_seconds);
        Ok(())
    }
}

fn is_permanent(error: &RelayError) -> bool {
    match error {
        RelayError::Topics(error) => matches!(error, TopicsError::Unfit(_)),
        RelayError::Registry(error) => error.is_permanent(),
        RelayError::Postgres(
            PostgresError::Url | PostgresError::Authority { .. } | PostgresError::Tls(_),
        ) => true,
        RelayError::Postgres(_) => false,
        RelayError::Schemas(_) | RelayError::Incompatible(_) | RelayError::Abandoned(_) => true,
    }
}
