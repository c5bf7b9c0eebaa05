use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc as blocking;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::{ClientContext, Offset, TopicPartitionList};
use tidings_delivery::PartitionId;
use tokio::sync::mpsc;
use tracing::{debug, warn};

use super::{FromKafka, ToKafka};

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
}

impl Lanes {
    pub(crate) fn new(topics: Vec<LaneTopic>) -> Self {
        Self { topics }
    }

    pub(crate) fn get(&self, id: PartitionId) -> &LaneTopic {
        &self.topics[usize::from(id.lane)]
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
    pub(super) commits: Mutex<BTreeMap<PartitionId, i64>>,
    pub(super) assigned: Mutex<BTreeSet<PartitionId>>,
    /// What does not fetch, for the stall watch.
    pub(super) paused: Mutex<BTreeSet<PartitionId>>,
    pub(super) drain_deadline: Duration,
    /// A close that came in the middle of a rebalance.
    pub(super) closing: AtomicBool,
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
            ToKafka::Resume(id) => {
                lock(&self.paused).remove(&id);
                self.report(member.resume(&self.list(id)), "resume");
            }
            ToKafka::Commit { partition, offset } => {
                lock(&self.commits).insert(partition, offset);
            }
            ToKafka::Drained => return Some(ToKafka::Drained),
            ToKafka::Close => return Some(ToKafka::Close),
        }
        None
    }

    /// Sends the newest watermark of each partition. One that is refused, as it is in the middle of a rebalance, is
    /// sent again; one that comes too late for that costs suppressed duplicates.
    pub(super) fn commit(&self, member: &Member, mode: CommitMode) {
        let commits = std::mem::take(&mut *lock(&self.commits));
        if commits.is_empty() {
            return;
        }
        let mut list = TopicPartitionList::with_capacity(commits.len());
        for (id, offset) in commits {
            let topic = &self.lanes.get(id).topic;
            let added = list.add_partition_offset(topic, id.partition, Offset::Offset(offset));
            self.report(added, "build a commit");
        }
        if let Err(error) = member.commit(&list, mode) {
            self.refused(&error, &list);
        }
    }

    fn refused(&self, error: &KafkaError, list: &TopicPartitionList) {
        debug!(error = %error, "a commit was refused; it is sent again");
        let assigned = lock(&self.assigned);
        let mut commits = lock(&self.commits);
        for element in list.elements() {
            let id = self.lanes.id(element.topic(), element.partition());
            let Some(id) = id.filter(|id| assigned.contains(id)) else {
                continue;
            };
            if let Offset::Offset(offset) = element.offset() {
                let newest = commits.entry(id).or_insert(offset);
                *newest = (*newest).max(offset);
            }
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
        let mut commits = lock(&self.commits);
        for id in &ids {
            assigned.remove(id);
            commits.remove(id);
        }
    }

    fn post_rebalance(&self, member: &Member, rebalance: &Rebalance<'_>) {
        match rebalance {
            Rebalance::Assign(list) => {
                let ids = self.lanes.ids(list);
                if !ids.is_empty() {
                    // Nothing is fetched before the epoch is bumped.
                    lock(&self.assigned).extend(ids.iter().copied());
                    lock(&self.paused).extend(ids.iter().copied());
                    self.report(member.pause(list), "pause what was assigned");
                    self.tell(FromKafka::Assigned(ids));
                }
            }
            Rebalance::Revoke(_) => {}
            Rebalance::Error(error) => warn!(error = %error, "rebalance"),
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, offsets: &TopicPartitionList) {
        match result {
            Ok(()) | Err(KafkaError::ConsumerCommit(RDKafkaErrorCode::NoOffset)) => {}
            Err(error) => self.refused(&error, offsets),
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
