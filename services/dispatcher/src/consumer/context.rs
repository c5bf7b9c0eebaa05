use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc as blocking;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::statistics::{self, Statistics};
use rdkafka::{ClientContext, Offset, TopicPartitionList};
use tidings_delivery::{Class, PartitionId};
use tokio::sync::mpsc;
use tracing::{debug, warn};

use super::commits::Commits;
use super::{FromKafka, Heartbeat, ToKafka};

/// The topics that a worker reads, by the number that the machine knows them by.
#[derive(Debug)]
pub(crate) struct Lanes {
    topics: Vec<LaneTopic>,
}

/// One topic of a platform.
#[derive(Debug)]
pub(crate) struct LaneTopic {
    pub(crate) topic: Arc<str>,
    pub(crate) platform: String,
    pub(crate) lane: &'static str,
    /// In whose turn its live messages get their permits.
    pub(crate) class: Class,
}

impl Lanes {
    pub(crate) fn new(topics: Vec<LaneTopic>) -> Self {
        Self { topics }
    }

    pub(crate) fn get(&self, id: PartitionId) -> &LaneTopic {
        &self.topics[usize::from(id.lane)]
    }

    /// Every lane with its number.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u16, &LaneTopic)> {
        (0..).zip(&self.topics)
    }

    pub(crate) fn topic_names(&self) -> Vec<&str> {
        self.topics.iter().map(|lane| &*lane.topic).collect()
    }

    pub(crate) fn id(&self, topic: &str, partition: i32) -> Option<PartitionId> {
        let lane = self.topics.iter().position(|lane| *lane.topic == *topic)?;
        Some(PartitionId {
            lane: u16::try_from(lane).ok()?,
            partition,
        })
    }

    fn ids(&self, list: &TopicPartitionList) -> Vec<PartitionId> {
        list.elements()
            .iter()
            .filter_map(|element| self.id(element.topic(), element.partition()))
            .collect()
    }
}

/// What happens inside a rebalance, on the member's own thread.
pub(super) struct Context {
    pub(super) lanes: Arc<Lanes>,
    pub(super) to_engine: mpsc::Sender<FromKafka>,
    pub(super) commands: Mutex<blocking::Receiver<ToKafka>>,
    pub(super) commits: Mutex<Commits>,
    pub(super) assigned: Mutex<BTreeSet<PartitionId>>,
    /// Assigned, and not begun.
    pub(super) awaited: Mutex<BTreeSet<PartitionId>>,
    /// What does not fetch, for the stall watch.
    pub(super) paused: Mutex<BTreeSet<PartitionId>>,
    pub(super) drain_deadline: Duration,
    /// A close that came in the middle of a rebalance.
    pub(super) closing: AtomicBool,
    pub(super) heartbeat: Arc<Heartbeat>,
}

type Member = BaseConsumer<Context>;

impl Context {
    /// Carries out what the engine asked for until nothing is left or `stop` is seen; returns the stop.
    pub(super) fn obey(&self, member: &Member) -> Option<ToKafka> {
        loop {
            let command = lock(&self.commands).try_recv().ok()?;
            if let Some(stop) = self.carry_out(member, command) {
                return Some(stop);
            }
        }
    }

    fn carry_out(&self, member: &Member, command: ToKafka) -> Option<ToKafka> {
        match command {
            ToKafka::Pause(id) => {
                lock(&self.paused).insert(id);
                self.report(member.pause(&self.list(id)), "pause");
            }
            ToKafka::Begin(id) => {
                lock(&self.awaited).remove(&id);
                self.resume(member, id);
            }
            // Meant for an earlier assignment of the partition: a record fetched now would come before its epoch.
            ToKafka::Resume(id) if lock(&self.awaited).contains(&id) => {}
            ToKafka::Resume(id) => self.resume(member, id),
            ToKafka::Commit { partition, offset } => {
                if lock(&self.assigned).contains(&partition) {
                    lock(&self.commits).moved(partition, offset);
                }
            }
            ToKafka::Drained => return Some(ToKafka::Drained),
            ToKafka::Close => return Some(ToKafka::Close),
        }
        None
    }

    fn resume(&self, member: &Member, id: PartitionId) {
        lock(&self.paused).remove(&id);
        self.report(member.resume(&self.list(id)), "resume");
    }

    /// Sends the watermarks that moved, and those that Kafka does not seem to have.
    pub(super) fn commit(&self, member: &Member, mode: CommitMode) {
        let unsent = lock(&self.commits).take_unsent();
        if unsent.is_empty() {
            return;
        }
        let mut list = TopicPartitionList::with_capacity(unsent.len());
        for (id, offset) in &unsent {
            let topic = &self.lanes.get(*id).topic;
            let added = list.add_partition_offset(topic, id.partition, Offset::Offset(*offset));
            self.report(added, "build a commit");
        }
        if let Err(error) = member.commit(&list, mode) {
            debug!(error = %error, "a commit was refused; it is sent again");
            let mut commits = lock(&self.commits);
            unsent.iter().for_each(|(id, _)| commits.refused(*id));
        }
    }

    fn list(&self, id: PartitionId) -> TopicPartitionList {
        let mut list = TopicPartitionList::with_capacity(1);
        list.add_partition(&self.lanes.get(id).topic, id.partition);
        list
    }

    fn report(&self, result: KafkaResult<()>, doing: &str) {
        if let Err(error) = result {
            warn!(error = %error, "kafka member could not {doing}");
        }
    }

    /// Compares what the client holds for committed with what was sent; its lag is not told, because it stands still while a
    /// partition is paused (`lag.rs` tells it).
    fn observe(&self, topic: &str, partition: &statistics::Partition) {
        let id = self.lanes.id(topic, partition.partition);
        let owned = id.is_some_and(|id| lock(&self.assigned).contains(&id));
        if let Some(id) = id.filter(|_| owned) {
            lock(&self.commits).compare(id, partition.committed_offset);
        }
    }

    fn tell(&self, news: FromKafka) {
        // A closed channel means that the engine is gone, and this thread follows it.
        let _ = self.to_engine.blocking_send(news);
    }

    /// Lets the engine finish what is in flight, committing as it goes (design §7, revocation).
    fn drain(&self, member: &Member) {
        let until = Instant::now() + self.drain_deadline;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let received = lock(&self.commands).recv_timeout(left);
            let Ok(command) = received else {
                warn!(
                    "revoked partitions were not drained in time: what is in flight is recorded by its claims"
                );
                break;
            };
            match self.carry_out(member, command) {
                None => {}
                Some(ToKafka::Close) => self.closing.store(true, Ordering::Relaxed),
                Some(_) => break,
            }
        }
        self.commit(member, CommitMode::Sync);
    }
}

impl ClientContext for Context {
    fn stats(&self, statistics: Statistics) {
        let seen = statistics
            .brokers
            .values()
            .any(|broker| broker.state == "UP");
        self.heartbeat.broker_seen.store(seen, Ordering::Relaxed);
        for topic in statistics.topics.values() {
            for partition in topic.partitions.values() {
                self.observe(&topic.topic, partition);
            }
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        warn!(error = %error, reason, "kafka member");
    }
}

impl ConsumerContext for Context {
    fn pre_rebalance(&self, member: &Member, rebalance: &Rebalance<'_>) {
        let Rebalance::Revoke(list) = rebalance else {
            return;
        };
        let ids = self.lanes.ids(list);
        if ids.is_empty() {
            return;
        }
        if member.assignment_lost() {
            self.tell(FromKafka::Lost(ids.clone()));
        } else {
            self.tell(FromKafka::Revoked(ids.clone()));
            self.drain(member);
        }
        let mut assigned = lock(&self.assigned);
        let mut awaited = lock(&self.awaited);
        let mut commits = lock(&self.commits);
        for id in &ids {
            assigned.remove(id);
            awaited.remove(id);
            commits.forget(*id);
        }
    }

    fn post_rebalance(&self, member: &Member, rebalance: &Rebalance<'_>) {
        match rebalance {
            Rebalance::Assign(list) => {
                let ids = self.lanes.ids(list);
                if !ids.is_empty() {
                    // Nothing is fetched before the epoch is bumped.
                    lock(&self.assigned).extend(ids.iter().copied());
                    lock(&self.awaited).extend(ids.iter().copied());
                    lock(&self.paused).extend(ids.iter().copied());
                    self.report(member.pause(list), "pause what was assigned");
                    self.tell(FromKafka::Assigned(ids));
                }
            }
            Rebalance::Revoke(_) => {}
            Rebalance::Error(error) => warn!(error = %error, "rebalance"),
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
