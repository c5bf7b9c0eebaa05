//! How far the group is behind its lanes, how near that is to what retention deletes, and how many workers the load asks
//! for (requirement B26; faults, row 44).

mod means;
mod retention;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use metrics::gauge;
use rdkafka::message::OwnedMessage;
use tidings_delivery::{Caps, Demand, PartitionId, UTILISATION, required_consumers};
use tidings_edge::capacity::{
    PartitionState, concurrency_per_consumer, connections_per_consumer, quota_per_second,
};
use tidings_edge::config::Config;
use tidings_edge::postgres::Pool;
use tidings_edge::rate_limit::View;
use tidings_edge::telemetry::metric_names;
use tracing::{error, info, warn};

use crate::consumer::Lanes;
use means::Means;
use retention::{ALARM, CLEAR, age, oldest_unread, part};
use watch::{Seen, Settings, Watch};

/// What a worker tells of the lanes as a whole.
pub(crate) struct Lag {
    lanes: Arc<Lanes>,
    watch: Watch,
    means: Means,
    group: String,
    accounts: BTreeSet<String>,
    concurrency: usize,
    connections_per_consumer: usize,
    /// Lanes that alarm.
    alarmed: BTreeSet<u16>,
    /// Partitions whose lag is told here.
    told: BTreeSet<PartitionId>,
    /// The offset up to which deleted records were told.
    deleted: BTreeMap<PartitionId, i64>,
}

impl Lag {
    /// Starts to look at the lanes; dropping it ends that.
    pub(crate) fn start(config: &Config, pool: Pool, lanes: Arc<Lanes>) -> std::io::Result<Self> {
        Ok(Self {
            watch: Watch::start(config, pool, Arc::clone(&lanes))?,
            lanes,
            means: Means::default(),
            group: config.dispatcher.group.clone(),
            accounts: config.accounts.keys().cloned().collect(),
            concurrency: concurrency_per_consumer(config),
            connections_per_consumer: connections_per_consumer(config),
            alarmed: BTreeSet::new(),
            told: BTreeSet::new(),
            deleted: BTreeMap::new(),
        })
    }

    /// One call of a platform was answered.
    pub(crate) fn called(&mut self, took: Duration) {
        self.means.called(took);
    }

    /// Sets the gauges and raises the alarms, from the newest look, the limits in force, the partitions that are owned and
    /// the records that are held here.
    pub(crate) fn tell<'a>(
        &mut self,
        limits: &View,
        owns: impl Fn(PartitionId) -> bool,
        held: impl Iterator<Item = (PartitionId, &'a OwnedMessage)>,
    ) {
        let now = Instant::now();
        self.means.tick(now);
        let (Some(seen), settings) = (self.watch.seen(), self.watch.settings()) else {
            return;
        };
        let ends = seen.partitions.values().map(|state| state.end);
        self.means.ends(seen.at, seen.partitions.len(), ends.sum());
        self.tell_required(limits, &seen, &settings);
        let owned = seen.partitions.iter().filter(|(id, _)| owns(**id));
        let owned: BTreeMap<PartitionId, &PartitionState> =
            owned.map(|(id, state)| (*id, state)).collect();
        self.tell_lag(&owned);
        self.tell_deleted(&owned);
        let written = oldest_unread(&owned, held);
        self.tell_retention(&owned, &seen, &settings, &written);
    }

    /// Once the arrival is known; the same in every worker but for how long its own calls take.
    fn tell_required(&self, limits: &View, seen: &Seen, settings: &Settings) {
        let Some(arrival_per_second) = self.means.arrival_per_second() else {
            return;
        };
        let demand = Demand {
            arrival_per_second,
            // A worker that never called knows nothing that speaks for more than one.
            mean_processing: self.means.processing().unwrap_or_default(),
            concurrency_per_consumer: self.concurrency,
            utilisation: UTILISATION,
        };
        let caps = Caps {
            quota_per_second: self.quota(limits),
            partitions: u64::try_from(seen.partitions.len()).ok(),
            connections: settings.connections,
            connections_per_consumer: self.connections_per_consumer,
        };
        let capacity = required_consumers(&demand, &caps);
        #[allow(clippy::cast_precision_loss)]
        gauge!(metric_names::REQUIRED_CONSUMERS).set(capacity.required as f64);
    }

    /// What all accounts together may send; unknown unless each one's limits are known and there.
    fn quota(&self, limits: &View) -> Option<f64> {
        let known = limits
            .scopes
            .iter()
            .filter(|scope| self.accounts.contains(&scope.scope));
        let quotas: Vec<Option<f64>> = known.map(|scope| quota_per_second(&scope.limits)).collect();
        if quotas.is_empty() || quotas.len() < self.accounts.len() {
            return None;
        }
        quotas.into_iter().sum()
    }

    fn tell_lag(&mut self, owned: &BTreeMap<PartitionId, &PartitionState>) {
        for (id, state) in owned {
            // Where nothing was ever written or committed there is nothing to tell.
            if state.committed.is_some() || state.lag() > 0 {
                self.set_lag(*id, state.lag());
                self.told.insert(*id);
            }
        }
        let gone: Vec<PartitionId> = self
            .told
            .iter()
            .filter(|id| !owned.contains_key(id))
            .copied()
            .collect();
        for id in gone {
            // Its new owner tells it now; twice would count twice.
            self.set_lag(id, 0);
            self.told.remove(&id);
        }
    }

    fn set_lag(&self, id: PartitionId, lag: u64) {
        #[allow(clippy::cast_precision_loss)]
        gauge!(
            metric_names::CONSUMERGROUP_LAG,
            "consumergroup" => self.group.clone(), "topic" => self.lanes.get(id).topic.to_string(),
            "partition" => id.partition.to_string()
        )
        .set(lag as f64);
    }

    /// Nothing may be lost to retention silently (design §4).
    fn tell_deleted(&mut self, owned: &BTreeMap<PartitionId, &PartitionState>) {
        for (id, state) in owned {
            let told = self.deleted.get(id).copied().unwrap_or(-1);
            if state.deleted_unread() == 0 || state.first <= told {
                continue;
            }
            self.deleted.insert(*id, state.first);
            error!(
                topic = %self.lanes.get(*id).topic,
                partition = id.partition,
                committed = state.committed,
                first = state.first,
                records = state.deleted_unread(),
                "records were deleted before the group was done with them: by the topic's retention, or by hand; their \
                 messages are not in the lane any more"
            );
        }
    }

    fn tell_retention(
        &mut self,
        owned: &BTreeMap<PartitionId, &PartitionState>,
        seen: &Seen,
        settings: &Settings,
        written: &BTreeMap<PartitionId, i64>,
    ) {
        let lanes = Arc::clone(&self.lanes);
        for (number, lane) in lanes.numbered() {
            let retention = settings.retention.get(&number).copied();
            let of_lane = owned.iter().filter(|(id, _)| id.lane == number);
            let parts = of_lane.map(|(id, state)| {
                let age = written.get(id).map(|millis| age(*millis));
                part(state, seen.past_half.contains(id), age, retention)
            });
            let part = parts.fold(0.0, f64::max);
            gauge!(
                metric_names::LANE_LAG_OF_RETENTION,
                "platform" => lane.platform.clone(), "lane" => lane.lane
            )
            .set(part);
            self.alarm(number, &lane.topic, part, retention);
        }
    }

    fn alarm(&mut self, number: u16, topic: &str, part: f64, retention: Option<Duration>) {
        let retention_seconds = retention.map(|retention| retention.as_secs());
        if part >= ALARM && self.alarmed.insert(number) {
            warn!(
                topic,
                lag_of_retention = part,
                retention_seconds,
                "records of this lane have waited for half of its retention or more, and are deleted unread at the whole: \
                 `tidings capacity` says what lacks; a longer retention (kafka.lane_retention and the topic's retention.ms) \
                 wins time"
            );
        } else if part < CLEAR && self.alarmed.remove(&number) {
            info!(
                topic,
                lag_of_retention = part,
                "records of this lane are well within its retention again"
            );
        }
    }
}
