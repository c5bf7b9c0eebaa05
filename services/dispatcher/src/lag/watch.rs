//! Looks at the lanes on a thread and with a client of its own, because the engine and the group member must not wait for
//! it; and asks for what changes seldom.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rdkafka::error::KafkaResult;
use tidings_delivery::PartitionId;
use tidings_edge::capacity::{LaneLook, LanePlace, PartitionState, connection_room};
use tidings_edge::config::Config;
use tidings_edge::kafka;
use tidings_edge::postgres::Pool;
use tokio::task::AbortHandle;
use tracing::{debug, error, warn};

use crate::consumer::Lanes;

/// How often retention and the database's bounds are asked for: they change by hand only.
const SETTINGS: Duration = Duration::from_secs(60);

/// How often the brokers are asked which records are older than half of a lane's retention, which is hours.
const HALVES: Duration = Duration::from_secs(10);

/// What one look saw.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) at: Instant,
    /// Of every lane, owned or not.
    pub(super) partitions: BTreeMap<PartitionId, PartitionState>,
    /// Partitions whose next record is older than half of their lane's retention.
    pub(super) past_half: BTreeSet<PartitionId>,
}

/// What changes by hand only.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    /// How long each lane keeps records, by its number; a lane that keeps them for ever has none.
    pub(super) retention: BTreeMap<u16, Duration>,
    /// Connections that the state database has for consumers.
    pub(super) connections: Option<u64>,
}

/// The newest look, and what makes the next one. Dropping it ends both.
pub(super) struct Watch {
    shared: Arc<Shared>,
    /// Closes with this.
    _running: Sender<()>,
    settings: AbortHandle,
}

#[derive(Default)]
struct Shared {
    seen: Mutex<Option<Arc<Seen>>>,
    settings: Mutex<Settings>,
}

impl Watch {
    /// Looks every `dispatcher.statistics_interval`.
    pub(super) fn start(config: &Config, pool: Pool, lanes: Arc<Lanes>) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (running, stopped) = channel();
        let looks = Looks {
            lanes: Arc::clone(&lanes),
            shared: Arc::clone(&shared),
            stopped,
            every: config.dispatcher.statistics_interval,
            halves_at: None,
        };
        let (of_thread, of_task) = (config.clone(), config.clone());
        let thread = std::thread::Builder::new().name("lane-lag".into());
        thread.spawn(move || looks.run(&of_thread))?;
        let task = ask_for_settings(of_task, pool, lanes, Arc::clone(&shared));
        Ok(Self {
            shared,
            _running: running,
            settings: tokio::spawn(task).abort_handle(),
        })
    }

    pub(super) fn seen(&self) -> Option<Arc<Seen>> {
        lock(&self.shared.seen).clone()
    }

    pub(super) fn settings(&self) -> Settings {
        lock(&self.shared.settings).clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.settings.abort();
    }
}

/// The thread.
struct Looks {
    lanes: Arc<Lanes>,
    shared: Arc<Shared>,
    stopped: Receiver<()>,
    every: Duration,
    halves_at: Option<Instant>,
}

impl Looks {
    fn run(mut self, config: &Config) {
        let look = match LaneLook::new(config) {
            Ok(look) => look,
            Err(error) => {
                error!(error = %error, "no client to look at the lanes: their lag is not told");
                return;
            }
        };
        let mut places = Vec::new();
        let mut away = false;
        loop {
            match self.once(&look, &mut places) {
                Ok(seen) => {
                    away = false;
                    *lock(&self.shared.seen) = Some(Arc::new(seen));
                }
                Err(error) if away => debug!(error = %error, "the lanes' ends are not known"),
                Err(error) => {
                    away = true;
                    warn!(error = %error, "the lanes' ends are not known; their lag is told again when they are");
                }
            }
            let Err(RecvTimeoutError::Timeout) = self.stopped.recv_timeout(self.every) else {
                return;
            };
        }
    }

    fn once(&mut self, look: &LaneLook, places: &mut Vec<LanePlace>) -> KafkaResult<Seen> {
        if places.is_empty() {
            // The count does not change while a role runs (design §4).
            *places = look.places()?;
        }
        let at = Instant::now();
        let states = look.states(places)?.into_iter();
        let known = states.filter_map(|state| Some((self.id(&state.place)?, state)));
        let partitions = known.collect();
        let past_half = self.past_half(look, &partitions)?;
        Ok(Seen {
            at,
            partitions,
            past_half,
        })
    }

    /// Newly asked for, or what the last look saw.
    fn past_half(
        &mut self,
        look: &LaneLook,
        partitions: &BTreeMap<PartitionId, PartitionState>,
    ) -> KafkaResult<BTreeSet<PartitionId>> {
        if self.halves_at.is_some_and(|at| at.elapsed() < HALVES) {
            let last = lock(&self.shared.seen).clone();
            return Ok(last.map(|last| last.past_half.clone()).unwrap_or_default());
        }
        let settings = lock(&self.shared.settings).clone();
        let mut past = BTreeSet::new();
        for (lane, retention) in settings.retention {
            let half = SystemTime::now().checked_sub(retention / 2);
            let of_lane = partitions.iter().filter(|(id, _)| id.lane == lane);
            let states = of_lane.map(|(_, state)| state);
            if let Some(half) = half {
                let behind = look.behind(states, half)?;
                past.extend(behind.iter().filter_map(|place| self.id(place)));
            }
            self.halves_at = Some(Instant::now());
        }
        Ok(past)
    }

    fn id(&self, place: &LanePlace) -> Option<PartitionId> {
        self.lanes.id(&place.topic, place.partition)
    }
}

async fn ask_for_settings(config: Config, pool: Pool, lanes: Arc<Lanes>, shared: Arc<Shared>) {
    let mut looks = tokio::time::interval(SETTINGS);
    loop {
        looks.tick().await;
        match kafka::inspect(&config).await {
            Ok(views) => {
                let found = lanes.numbered().filter_map(|(id, lane)| {
                    let view = views.iter().find(|view| *view.spec.name == *lane.topic)?;
                    Some((id, view.retention()?))
                });
                lock(&shared.settings).retention = found.collect();
            }
            Err(error) => debug!(error = %error, "the lanes' retention is not known anew"),
        }
        match connections(&pool).await {
            Ok(usable) => lock(&shared.settings).connections = Some(usable),
            Err(error) => debug!(error = %error, "the database's bounds are not known anew"),
        }
    }
}

async fn connections(pool: &Pool) -> Result<u64, tidings_edge::postgres::PostgresError> {
    let client = pool.get().await?;
    Ok(connection_room(&client).await?.usable())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
