//! Kafka: what lies behind the group's committed offsets, and the dead-letter topics.
//!
//! The consumer only assigns and never commits, so it neither joins the group nor moves it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use uuid::Uuid;

use crate::evidence::KafkaEvidence;

use super::{GatherError, KafkaInputs};

/// The longest wait for one answer of Kafka.
const DEADLINE: Duration = Duration::from_secs(30);

/// The lanes of a platform (design §4).
const LANES: [&str; 3] = ["high", "normal", "replay"];

/// A client of one deployment's topics.
pub(super) struct Kafka {
    consumer: Arc<BaseConsumer>,
    lanes: Vec<String>,
    dead_letters: Vec<String>,
}

/// A stretch of a partition: from the first offset up to, not including, the end.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stretch {
    topic: String,
    partition: i32,
    from: i64,
    end: i64,
}

impl Stretch {
    fn len(&self) -> u64 {
        u64::try_from(self.end.saturating_sub(self.from)).unwrap_or(0)
    }
}

impl Kafka {
    pub(super) fn connect(inputs: &KafkaInputs) -> Result<Self, GatherError> {
        let consumer = ClientConfig::new()
            .set("bootstrap.servers", &inputs.brokers)
            .set("group.id", &inputs.group)
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("enable.partition.eof", "true")
            .create()
            .map_err(failed("make a Kafka client"))?;
        let topics = |kind: &str| {
            let name = |platform: &String| format!("{}.{platform}.{kind}", inputs.prefix);
            inputs.platforms.iter().map(name).collect::<Vec<_>>()
        };
        Ok(Self {
            consumer: Arc::new(consumer),
            lanes: LANES.iter().flat_map(|lane| topics(lane)).collect(),
            dead_letters: topics("dead-letter"),
        })
    }

    /// Records behind the group's committed offsets, over all lanes.
    pub(super) async fn lag(&self) -> Result<u64, GatherError> {
        let (consumer, lanes) = (Arc::clone(&self.consumer), self.lanes.clone());
        tokio::task::spawn_blocking(move || {
            let unread = unread(&consumer, &lanes).map_err(failed("read the group's lag"))?;
            Ok(unread.iter().map(Stretch::len).sum())
        })
        .await?
    }

    pub(super) async fn read(&self) -> Result<KafkaEvidence, GatherError> {
        let consumer = Arc::clone(&self.consumer);
        let (lanes, dead_letters) = (self.lanes.clone(), self.dead_letters.clone());
        tokio::task::spawn_blocking(move || {
            let unread = unread(&consumer, &lanes).map_err(failed("read the group's lag"))?;
            let letters = whole(&consumer, &dead_letters).map_err(failed("list dead letters"))?;
            let lane_records = Records::read(&consumer, &unread)?;
            let letter_records = Records::read(&consumer, &letters)?;
            Ok(KafkaEvidence {
                lag: unread.iter().map(Stretch::len).sum(),
                unread: lane_records.ids,
                dead_letters: letter_records.ids,
                dead_letter_records: letter_records.total,
            })
        })
        .await?
    }
}

/// All that is kept of `topics`; a topic that does not exist keeps nothing.
fn whole(consumer: &BaseConsumer, topics: &[String]) -> KafkaResult<Vec<Stretch>> {
    let mut stretches = Vec::new();
    for topic in topics {
        let metadata = consumer.fetch_metadata(Some(topic), DEADLINE)?;
        let partitions = metadata
            .topics()
            .iter()
            .flat_map(|topic| topic.partitions());
        for partition in partitions {
            let (from, end) = consumer.fetch_watermarks(topic, partition.id(), DEADLINE)?;
            stretches.push(Stretch {
                topic: topic.clone(),
                partition: partition.id(),
                from,
                end,
            });
        }
    }
    Ok(stretches)
}

/// What the group has not committed yet; where it never committed, all that is kept.
fn unread(consumer: &BaseConsumer, lanes: &[String]) -> KafkaResult<Vec<Stretch>> {
    let mut stretches = whole(consumer, lanes)?;
    let mut asked = TopicPartitionList::new();
    for stretch in &stretches {
        asked.add_partition(&stretch.topic, stretch.partition);
    }
    let committed = consumer.committed_offsets(asked, DEADLINE)?;
    for stretch in &mut stretches {
        let place = committed.find_partition(&stretch.topic, stretch.partition);
        if let Some(Offset::Offset(offset)) = place.map(|place| place.offset()) {
            stretch.from = stretch.from.max(offset);
        }
    }
    Ok(stretches)
}

/// The message ids of records.
#[derive(Default)]
struct Records {
    ids: HashSet<Uuid>,
    total: u64,
}

impl Records {
    fn read(consumer: &BaseConsumer, stretches: &[Stretch]) -> Result<Self, GatherError> {
        let mut open: Vec<&Stretch> = stretches.iter().filter(|s| s.len() > 0).collect();
        let mut records = Self::default();
        let mut assignment = TopicPartitionList::new();
        for stretch in &open {
            assignment
                .add_partition_offset(
                    &stretch.topic,
                    stretch.partition,
                    Offset::Offset(stretch.from),
                )
                .map_err(failed("choose where to read"))?;
        }
        consumer
            .assign(&assignment)
            .map_err(failed("read topics"))?;
        let mut last_record = Instant::now();
        while !open.is_empty() {
            match consumer.poll(Duration::from_millis(200)) {
                Some(Ok(message)) => {
                    last_record = Instant::now();
                    records.take(&message, &mut open);
                }
                Some(Err(KafkaError::PartitionEOF(_))) | None => {
                    close_ended(consumer, &mut open)?;
                }
                // Such errors are reports; the client reconnects by itself.
                Some(Err(_)) => {}
            }
            if last_record.elapsed() > DEADLINE {
                return Err(stalled(&open));
            }
        }
        consumer.unassign().map_err(failed("stop reading"))?;
        Ok(records)
    }

    fn take(&mut self, message: &BorrowedMessage<'_>, open: &mut Vec<&Stretch>) {
        let place = open
            .iter()
            .position(|s| s.topic == message.topic() && s.partition == message.partition());
        let Some((place, stretch)) = place.and_then(|at| open.get(at).map(|s| (at, *s))) else {
            return;
        };
        if message.offset() < stretch.end {
            self.total += 1;
            self.ids.extend(message_id(message));
        }
        if message.offset() + 1 >= stretch.end {
            open.swap_remove(place);
        }
    }
}

/// Ends the stretches whose last offsets are no records (aborted or removed).
fn close_ended(consumer: &BaseConsumer, open: &mut Vec<&Stretch>) -> Result<(), GatherError> {
    let positions = consumer
        .position()
        .map_err(failed("ask for the position"))?;
    open.retain(|stretch| {
        let place = positions.find_partition(&stretch.topic, stretch.partition);
        let offset = place.and_then(|place| place.offset().to_raw());
        offset.is_none_or(|offset| offset < stretch.end)
    });
    Ok(())
}

fn message_id(message: &BorrowedMessage<'_>) -> Option<Uuid> {
    let headers = message.headers()?;
    let header = headers.iter().find(|header| header.key == "ce_id")?;
    std::str::from_utf8(header.value?).ok()?.parse().ok()
}

fn failed(what: &'static str) -> impl Fn(KafkaError) -> GatherError {
    move |source| GatherError::Kafka { what, source }
}

fn stalled(open: &[&Stretch]) -> GatherError {
    let names: Vec<String> = open
        .iter()
        .map(|stretch| format!("{}[{}]", stretch.topic, stretch.partition))
        .collect();
    GatherError::KafkaStalled {
        seconds: DEADLINE.as_secs(),
        topics: names.join(", "),
    }
}
