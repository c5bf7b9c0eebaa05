use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tidings_delivery::{
    CircuitOptions, Class, DeadLetterLimitOptions, Limits, Machine, Options, RetryProfile,
    RetryProfiles, TargetOptions, Timing, Waits,
};
use tidings_edge::capacity::connections_per_consumer;
use tidings_edge::config::{CircuitConfig, Config, DeadLetterLimitConfig, DispatcherConfig};
use tidings_edge::content::ContentStoreError;
use tidings_edge::http::{
    AdminError, AdminServer, PlatformClient, PlatformClientError, PlatformClientSettings,
};
use tidings_edge::kafka::{self, Lane, TopicsError};
use tidings_edge::postgres::{self, Client, Pool, PostgresError};
use tidings_edge::rate_limit::{LimitLog, LimitLogError, Limits as LimitClient, Notices};
use tidings_edge::registry::{RegistryClient, RegistryError, SchemaCache};
use tidings_edge::schemas::{self, SchemasError};
use tidings_edge::targets::TargetStore;
use tidings_edge::telemetry::{MetricsHandle, Traces};
use tidings_envelope::Catalogue;
use tokio::sync::{mpsc, oneshot};
use tracing::{Instrument as _, info, info_span, warn};
use uuid::Uuid;

use crate::calls::Caller;
use crate::claims::{Claims, Identity, Store};
use crate::consumer::{LaneTopic, Lanes, MemberOptions};
use crate::content::Contents;
use crate::dead_letters::DeadLetters;
use crate::decode::Decoder;
use crate::deferral::{DeferralStore, Deferrals};
use crate::engine::{Change, Engine, EngineError, Parts};
use crate::lag::Lag;
use crate::platform::{Platforms, built_in};
use crate::state::{Database, Queues};
use crate::stats::Stats;
use crate::targets::Registry;

/// How often day partitions of the claims are made ahead and dropped behind.
const MAINTENANCE: Duration = Duration::from_secs(3_600);

/// Days whose partitions exist before anybody needs them.
const DAYS_AHEAD: u32 = 2;

/// A worker: a member of the group that brings messages to people's chats.
pub struct Dispatcher {
    config: Config,
    platforms: Platforms,
    metrics: MetricsHandle,
    traces: Traces,
    changes: Option<mpsc::Receiver<Change>>,
}

/// What is known once a worker runs.
#[derive(Debug, Clone, Copy)]
pub struct Started {
    /// Where `/health`, `/ready` and `/metrics` are.
    pub admin: SocketAddr,
    /// This incarnation, as in the claims' `owner` and the attempt ids.
    pub owner: Uuid,
}

/// Why a worker could not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum DispatcherError {
    /// The topics do not fit the configuration.
    #[error("the topics do not fit; `tidings topics apply` creates what is missing")]
    Topics(#[source] TopicsError),
    /// Tidings' own database.
    #[error("the state database can not be used; `tidings migrate` prepares it")]
    State(#[source] PostgresError),
    /// The registry's client.
    #[error("the schema registry's client could not be made")]
    Registry(#[source] RegistryError),
    /// The event types.
    #[error("the event types cannot be used")]
    Schemas(#[from] SchemasError),
    /// A policy for an event type that does not exist.
    #[error(
        "dispatcher.policies: there is no event type {event_type:?}; the known ones are {known}"
    )]
    UnknownEventType {
        /// What is configured.
        event_type: String,
        /// What exists.
        known: String,
    },
    /// The client that calls platforms.
    #[error("the platforms' client could not be made")]
    Client(#[from] PlatformClientError),
    /// The store of contents.
    #[error("the store of claim checks' contents can not be used")]
    Contents(#[from] ContentStoreError),
    /// The shared limit.
    #[error("the shared limit can not be kept; `tidings topics check` names the remedy")]
    Limit(#[from] LimitLogError),
    /// The admin server.
    #[error("the admin server could not start")]
    Admin(#[from] AdminError),
    /// The thread that looks at the lanes.
    #[error("the thread that looks at the lanes' lag could not be started")]
    Lag(#[source] std::io::Error),
    /// The loop ended.
    #[error("the worker can not go on")]
    Engine(#[from] EngineError),
}

impl Dispatcher {
    /// A worker with the built-in platforms.
    #[must_use]
    pub fn new(config: Config, metrics: MetricsHandle) -> Self {
        Self {
            config,
            platforms: built_in(),
            metrics,
            traces: Traces::off(),
            changes: None,
        }
    }

    /// The same, taking over what an operator changes while it runs.
    #[must_use]
    pub fn with_changes(mut self, changes: mpsc::Receiver<Change>) -> Self {
        self.changes = Some(changes);
        self
    }

    /// The same with its messages' spans sent to `traces`.
    #[must_use]
    pub fn with_traces(mut self, traces: Traces) -> Self {
        self.traces = traces;
        self
    }

    /// The same with other platforms; tests bring their own.
    #[must_use]
    pub fn with_platforms(mut self, platforms: Platforms) -> Self {
        self.platforms = platforms;
        self
    }

    /// Runs until `shutdown` ends, then drains. `started` is told once the worker runs.
    ///
    /// # Errors
    /// What it needs is missing, or something broke that waiting does not mend; see [`DispatcherError`].
    pub async fn run(
        self,
        shutdown: impl Future<Output = ()> + Send,
        started: oneshot::Sender<Started>,
    ) -> Result<(), DispatcherError> {
        let owner = Uuid::new_v4();
        kafka::check(&self.config)
            .await
            .map_err(DispatcherError::Topics)?;
        let pool = self.pool()?;
        maintain(&pool, self.config.dispatcher.dedupe_retention_days)
            .instrument(info_span!("maintain claims"))
            .await
            .map_err(DispatcherError::State)?;
        let accounts: Vec<String> = self.config.accounts.keys().cloned().collect();
        let stats = Arc::new(Stats::new(accounts));
        let source = Arc::clone(&stats);
        let admin =
            AdminServer::start(self.config.http.listen, self.metrics.clone(), source).await?;
        let (log, limits, notices) = LimitLog::start(&self.config, Some(pool.clone())).await?;
        let parts = self.parts(owner, pool.clone(), Arc::clone(&stats), (limits, notices))?;
        let engine = Engine::new(parts);
        let listening = self.changes.map(|changes| engine.listen(changes));
        let upkeep = tokio::spawn(keep_maintained(
            pool,
            self.config.dispatcher.dedupe_retention_days,
        ));
        info!(%owner, admin = %admin.address(), group = self.config.dispatcher.group, "dispatcher runs");
        // Whoever started it may not care.
        let _ = started.send(Started {
            admin: admin.address(),
            owner,
        });
        let ended = engine.run(shutdown).await;
        upkeep.abort();
        if let Some(listening) = listening {
            listening.abort();
        }
        if !log.stop(self.config.dispatcher.drain_deadline).await {
            warn!(
                "the client of the rate-limit topic did not close in time; the process' end takes it"
            );
        }
        admin.stop().await;
        Ok(ended?)
    }

    fn pool(&self) -> Result<Pool, DispatcherError> {
        let connections = connections_per_consumer(&self.config);
        postgres::pool(&self.config.state, "tidings-dispatcher", connections)
            .map_err(DispatcherError::State)
    }

    fn parts(
        &self,
        owner: Uuid,
        pool: Pool,
        stats: Arc<Stats>,
        (limits, notices): (LimitClient, Notices),
    ) -> Result<Parts, DispatcherError> {
        let config = &self.config;
        let catalogue = Arc::new(schemas::catalogue(&config.schemas)?);
        check_policies(config, &catalogue)?;
        let sizes = tidings_envelope::Limits {
            payload_bytes: config.relay.payload_bytes,
        };
        let registry = RegistryClient::new(&config.registry).map_err(DispatcherError::Registry)?;
        let schemas = SchemaCache::new(registry, pool.clone(), &config.registry);
        let decoder = Arc::new(Decoder::new(catalogue, sizes));
        let lanes = Arc::new(lanes(config));
        let dispatcher = &config.dispatcher;
        let lag = Lag::start(config, pool.clone(), Arc::clone(&lanes));
        let lag = lag.map_err(DispatcherError::Lag)?;
        // A claim that is answered later than its lease allows a call is worth nothing.
        let targets = Registry::new(TargetStore::new(pool.clone()), &dispatcher.targets);
        let database = Database::new(pool, dispatcher.lease);
        let store = Arc::new(Store::new(database.clone(), identity(config, owner)));
        let deferral_store = Arc::new(DeferralStore::new(
            database,
            (dispatcher.group.clone(), owner),
            Arc::clone(&decoder),
            Arc::clone(&lanes),
            dispatcher.deferred_batch_bytes,
        ));
        let mut queues = Queues::new(
            dispatcher.database_connections,
            dispatcher.claim_batch,
            dispatcher.deferred_batch_bytes,
        );
        let (answered, answers) = mpsc::unbounded_channel();
        let (deferral_answered, deferral_answers) = mpsc::unbounded_channel();
        let claims = Claims::start(&mut queues, &store, &answered);
        let deferrals = Deferrals::start(&mut queues, &deferral_store, &deferral_answered);
        let client = PlatformClient::new(&PlatformClientSettings::default())?;
        Ok(Parts {
            machine: machine(config, owner),
            targets,
            caller: Arc::new(Caller::new(
                config,
                &self.platforms,
                client,
                Contents::open(&config.claim_check)?,
                limits.clone(),
                owner,
            )),
            dead_letters: Arc::new(DeadLetters::new(
                kafka::dead_letter_producer_config(&config.kafka),
                dispatcher.group.clone(),
                config.relay.produce_deadline,
            )),
            dead_letter_topics: dead_letter_topics(config),
            member: member(config, &lanes, &decoder),
            lanes,
            decoder,
            schemas: Arc::new(schemas),
            store,
            claims,
            answers,
            deferral_store,
            deferrals,
            deferral_answers,
            queues,
            stats,
            lag,
            limits,
            notices,
            traces: self.traces.clone(),
            policies: dispatcher.policies.clone(),
            group: dispatcher.group.clone(),
            backlog_after: dispatcher.backlog_after,
            drain_deadline: dispatcher.drain_deadline,
            call_deadline: dispatcher.call_deadline,
            progress_deadline: dispatcher.progress_deadline,
            deferred_poll: dispatcher.deferred_poll,
        })
    }
}

fn check_policies(config: &Config, catalogue: &Catalogue) -> Result<(), DispatcherError> {
    let names = config.dispatcher.policies.keys();
    let mut unknown = names.filter(|name| catalogue.versions(name).next().is_none());
    match unknown.next() {
        None => Ok(()),
        Some(event_type) => {
            let known: BTreeSet<&str> = catalogue.iter().map(|event| event.name()).collect();
            Err(DispatcherError::UnknownEventType {
                event_type: event_type.clone(),
                known: known.into_iter().collect::<Vec<_>>().join(", "),
            })
        }
    }
}

fn member(
    config: &Config,
    lanes: &Arc<Lanes>,
    decoder: &Arc<Decoder>,
) -> Box<dyn Fn() -> MemberOptions + Send> {
    let mut client = kafka::consumer_config(&config.kafka, &config.dispatcher.group);
    let statistics_millis = config.dispatcher.statistics_interval.as_millis();
    client.set("statistics.interval.ms", statistics_millis.to_string());
    let (lanes, decoder) = (Arc::clone(lanes), Arc::clone(decoder));
    // Longer than the engine's own, so that it is the engine that gives up on what is in flight.
    let drain_deadline = config.dispatcher.drain_deadline * 2;
    let progress_deadline = config.dispatcher.progress_deadline;
    let commit_interval = config.dispatcher.commit_interval;
    Box::new(move || MemberOptions {
        commit_interval,
        client: client.clone(),
        lanes: Arc::clone(&lanes),
        decoder: Arc::clone(&decoder),
        drain_deadline,
        progress_deadline,
    })
}

fn lanes(config: &Config) -> Lanes {
    let topics = config.dispatcher.platforms.iter().flat_map(|platform| {
        Lane::ALL.into_iter().map(move |lane| LaneTopic {
            topic: kafka::lane_topic(&config.kafka, platform, lane).into(),
            platform: platform.clone(),
            lane: lane.as_str(),
            class: class(lane),
        })
    });
    Lanes::new(topics.collect())
}

fn class(lane: Lane) -> Class {
    match lane {
        Lane::High => Class::High,
        Lane::Normal => Class::Normal,
        Lane::Replay => Class::Replay,
    }
}

fn dead_letter_topics(config: &Config) -> HashMap<String, Arc<str>> {
    let platforms = config.dispatcher.platforms.iter();
    platforms
        .map(|platform| {
            let topic = kafka::dead_letter_topic(&config.kafka, platform);
            (platform.clone(), topic.into())
        })
        .collect()
}

fn identity(config: &Config, owner: Uuid) -> Identity {
    Identity {
        consumer: config.dispatcher.group.clone(),
        owner,
        lease: config.dispatcher.lease,
    }
}

fn machine(config: &Config, owner: Uuid) -> Machine {
    let mut machine = Machine::new(machine_options(&config.dispatcher, owner));
    for (name, account) in &config.accounts {
        machine.permit_account(&Arc::from(name.as_str()), true);
        if let Some(calls) = account.max_in_flight_calls {
            machine.limit_account(&Arc::from(name.as_str()), calls);
        }
    }
    machine
}

fn machine_options(dispatcher: &DispatcherConfig, owner: Uuid) -> Options {
    let (standard, interactive) = (&dispatcher.retry.standard, &dispatcher.retry.interactive);
    Options {
        limits: Limits {
            records: dispatcher.max_records,
            bytes: dispatcher.max_bytes,
            records_per_chat: dispatcher.max_records_per_chat,
            load_batch: dispatcher.deferred_load_batch,
            loads: dispatcher.deferred_loads,
            deferred_chats: dispatcher.max_deferred_chats,
            calls: dispatcher.max_in_flight_calls,
            calls_per_account: dispatcher.max_in_flight_calls_per_account,
        },
        timing: Timing {
            call_deadline: dispatcher.call_deadline,
            lease: dispatcher.lease,
            lease_margin: dispatcher.lease_margin,
            storage_retry: dispatcher.storage_retry,
            hold_in_memory: dispatcher.hold_in_memory,
        },
        retries: RetryProfiles {
            standard: RetryProfile {
                waits: Waits::Doubling {
                    base: standard.base,
                    cap: standard.cap,
                },
                jitter: standard.jitter,
                max_attempts: standard.attempts,
                max_age: standard.max_age,
            },
            interactive: RetryProfile {
                waits: Waits::Listed(interactive.delays.as_slice().into()),
                jitter: 0.0,
                max_attempts: u32::try_from(interactive.delays.len())
                    .unwrap_or(u32::MAX)
                    .saturating_add(1),
                max_age: interactive.max_age,
            },
            broken_account: dispatcher.broken_account.look,
            refusals_to_stop: dispatcher.broken_account.refusals,
            refused_rest: dispatcher.broken_account.rest,
        },
        circuit: circuit_options(&dispatcher.circuit),
        targets: TargetOptions {
            capacity: dispatcher.targets.cache_entries,
            first_probe: dispatcher.targets.first_probe,
            probe_all: dispatcher.targets.probe_all,
        },
        dead_letter_limit: dead_letter_limit_options(&dispatcher.dead_letter_limit),
        // Jitter only has to differ between workers.
        seed: owner.as_u64_pair().0,
    }
}

fn circuit_options(circuit: &CircuitConfig) -> CircuitOptions {
    CircuitOptions {
        window: circuit.window,
        min_outcomes: circuit.min_outcomes,
        share: circuit.share,
        wait: circuit.wait,
        wait_max: circuit.wait_max,
        probes: circuit.probes,
        ramp_step: circuit.ramp_step,
    }
}

fn dead_letter_limit_options(limit: &DeadLetterLimitConfig) -> DeadLetterLimitOptions {
    DeadLetterLimitOptions {
        window: limit.window,
        min_outcomes: limit.min_outcomes,
        share: limit.share,
        wait: limit.wait,
        wait_max: limit.wait_max,
    }
}

/// Makes the claims' day partitions ahead and drops those whose retention is over.
async fn maintain(pool: &Pool, retention_days: u32) -> Result<(), PostgresError> {
    let connection = pool.get().await.map_err(PostgresError::from)?;
    postgres::ensure_claim_partitions_ahead(&connection, retention_days, DAYS_AHEAD).await?;
    drop_old_claims(&connection, retention_days).await?;
    Ok(())
}

/// By the database's clock, in UTC days.
async fn drop_old_claims(connection: &Client, retention_days: u32) -> Result<(), PostgresError> {
    let sql = "SELECT to_char((now() AT TIME ZONE 'UTC')::date - $1::int, 'YYYY-MM-DD')";
    let days = i32::try_from(retention_days).unwrap_or(i32::MAX);
    let asked = connection.query_one(sql, &[&days]).await;
    let row = asked.map_err(PostgresError::doing("read the database's day"))?;
    let before: String = row.get(0);
    postgres::drop_claim_partitions(connection, &before).await?;
    Ok(())
}

async fn keep_maintained(pool: Pool, retention_days: u32) {
    loop {
        tokio::time::sleep(MAINTENANCE).await;
        let maintained = maintain(&pool, retention_days).instrument(info_span!("maintain claims"));
        if let Err(error) = maintained.await {
            warn!(error = %error, "the claims' day partitions were not maintained; tried again in an hour");
        }
    }
}
