//! How old the oldest record is that the group has not done with.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaResult;
use rdkafka::message::Message as _;
use rdkafka::{Offset, TopicPartitionList};

use super::{LanePlace, PartitionState};
use crate::config::Config;
use crate::kafka;

/// One record a partition is wanted; brokers send the batch that it is in, whatever its size.
const FETCH_BYTES: &str = "4096";

/// How long one poll waits.
const POLL: Duration = Duration::from_millis(100);

/// When the oldest record that the group has not done with was written, for each of the partitions that lag; blocks for
/// at most `kafka.admin_timeout`, and leaves out what was not read by then, or has no time.
///
/// # Errors
/// The client's settings are refused.
pub fn oldest_unread(
    config: &Config,
    states: &[PartitionState],
) -> KafkaResult<HashMap<LanePlace, SystemTime>> {
    let mut wanted: BTreeMap<(String, i32), &PartitionState> = states
        .iter()
        .filter(|state| state.lag() > 0)
        .map(|state| {
            (
                (state.place.topic.to_string(), state.place.partition),
                state,
            )
        })
        .collect();
    let mut found = HashMap::with_capacity(wanted.len());
    if wanted.is_empty() {
        return Ok(found);
    }
    let client = client(config, wanted.values().copied())?;
    let until = Instant::now() + config.kafka.admin_timeout;
    while !wanted.is_empty() && Instant::now() < until {
        // What fails is tried again by the client, until the time is up.
        let Some(Ok(record)) = client.poll(POLL) else {
            continue;
        };
        let key = (record.topic().to_owned(), record.partition());
        if let Some(state) = wanted.remove(&key) {
            if let Some(time) = written(record.timestamp().to_millis()) {
                found.insert(state.place.clone(), time);
            }
            pause(&client, &state.place)?;
        }
    }
    Ok(found)
}

fn client<'a>(
    config: &Config,
    states: impl Iterator<Item = &'a PartitionState>,
) -> KafkaResult<BaseConsumer> {
    let mut settings = kafka::consumer_config(&config.kafka, &config.dispatcher.group);
    settings
        .set("queued.min.messages", "1")
        .set("fetch.message.max.bytes", FETCH_BYTES);
    let client: BaseConsumer = settings.create()?;
    let mut list = TopicPartitionList::new();
    for state in states {
        let from = Offset::Offset(state.next());
        list.add_partition_offset(&state.place.topic, state.place.partition, from)?;
    }
    client.assign(&list)?;
    Ok(client)
}

/// So that nothing more is read of a partition that has told its age.
fn pause(client: &BaseConsumer, place: &LanePlace) -> KafkaResult<()> {
    let mut list = TopicPartitionList::with_capacity(1);
    list.add_partition(&place.topic, place.partition);
    client.pause(&list)
}

/// Kafka's -1 is "no time".
fn written(millis: Option<i64>) -> Option<SystemTime> {
    let millis = u64::try_from(millis?).ok()?;
    UNIX_EPOCH.checked_add(Duration::from_millis(millis))
}
