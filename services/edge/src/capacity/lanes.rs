//! The ends of the lanes and where the group is in them, by a client that is no member of the group.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::{Offset, TopicPartitionList};

use crate::config::Config;
use crate::kafka::{self, Lane};

/// The pause before a group's coordinator is asked for again.
const COORDINATOR_PAUSE: Duration = Duration::from_millis(100);

/// A partition of a lane.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LanePlace {
    /// The lane's topic.
    pub topic: Arc<str>,
    /// Its partition.
    pub partition: i32,
}

/// What a partition holds and how far the group is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionState {
    /// Which.
    pub place: LanePlace,
    /// The oldest record that is still there.
    pub first: i64,
    /// Where the next record will be.
    pub end: i64,
    /// Where the group goes on; `None` if it never committed here, or if that was of another topic of this name.
    pub committed: Option<i64>,
}

impl PartitionState {
    /// The oldest record that the group has not done with, as long as it lags.
    #[must_use]
    pub fn next(&self) -> i64 {
        self.committed
            .map_or(self.first, |offset| offset.max(self.first))
    }

    /// Records that the group has not done with.
    #[must_use]
    pub fn lag(&self) -> u64 {
        u64::try_from(self.end.saturating_sub(self.next())).unwrap_or(0)
    }

    /// Records that were deleted before the group was done with them (faults, row 44).
    #[must_use]
    pub fn deleted_unread(&self) -> u64 {
        self.committed.map_or(0, |committed| {
            u64::try_from(self.first.saturating_sub(committed)).unwrap_or(0)
        })
    }
}

/// A client that looks. Its calls block, each question for at most `kafka.admin_timeout`.
pub struct LaneLook {
    client: BaseConsumer,
    topics: Vec<String>,
    timeout: Duration,
}

impl LaneLook {
    /// A client for the lanes of every platform that dispatchers read. It does not join the group.
    ///
    /// # Errors
    /// The client's settings are refused.
    pub fn new(config: &Config) -> KafkaResult<Self> {
        let client = kafka::consumer_config(&config.kafka, &config.dispatcher.group);
        let platforms = config.dispatcher.platforms.iter();
        let topics = platforms.flat_map(|platform| {
            Lane::ALL
                .into_iter()
                .map(move |lane| kafka::lane_topic(&config.kafka, platform, lane))
        });
        Ok(Self {
            client: client.create()?,
            topics: topics.collect(),
            timeout: config.kafka.admin_timeout,
        })
    }

    /// Every partition of the lanes that exist.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub fn places(&self) -> KafkaResult<Vec<LanePlace>> {
        let mut places = Vec::new();
        for topic in &self.topics {
            let name: Arc<str> = topic.as_str().into();
            let metadata = self.client.fetch_metadata(Some(topic), self.timeout)?;
            let found = metadata
                .topics()
                .iter()
                .flat_map(|found| found.partitions());
            places.extend(found.map(|partition| LanePlace {
                topic: Arc::clone(&name),
                partition: partition.id(),
            }));
        }
        places.sort();
        Ok(places)
    }

    /// The state of these partitions; one that the cluster says nothing about is left out.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub fn states(&self, places: &[LanePlace]) -> KafkaResult<Vec<PartitionState>> {
        if places.is_empty() {
            return Ok(Vec::new());
        }
        // The committed ones first: an end that is asked for later is never behind them.
        let committed = self.committed(places)?;
        // Kafka's two special times: the log's first offset, and its end.
        let first = self.at(places, Offset::Beginning)?;
        let end = self.at(places, Offset::End)?;
        let states = places.iter().filter_map(|place| {
            let (first, end) = (number(&first, place)?, number(&end, place)?);
            let committed = number(&committed, place);
            Some(PartitionState {
                place: place.clone(),
                first,
                end,
                committed: committed.filter(|committed| *committed <= end),
            })
        });
        Ok(states.collect())
    }

    /// Of these partitions, those whose next record for the group is older than a time.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub fn behind<'a>(
        &self,
        states: impl IntoIterator<Item = &'a PartitionState>,
        time: SystemTime,
    ) -> KafkaResult<Vec<LanePlace>> {
        let lagging = states.into_iter().filter(|state| state.lag() > 0);
        let lagging: Vec<&PartitionState> = lagging.collect();
        let places: Vec<LanePlace> = lagging.iter().map(|state| state.place.clone()).collect();
        let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let millis = i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX);
        let newer = self.at(&places, Offset::Offset(millis))?;
        let behind = lagging
            .into_iter()
            .filter(|state| match newer.get(&state.place) {
                Some(Offset::Offset(first_newer)) => state.next() < *first_newer,
                // Kafka's word for "no record is that new".
                Some(_) => true,
                None => false,
            });
        Ok(behind.map(|state| state.place.clone()).collect())
    }

    /// Asked again while the group's coordinator is on its way, as it is after the brokers' start.
    fn committed(&self, places: &[LanePlace]) -> KafkaResult<HashMap<LanePlace, Offset>> {
        let until = Instant::now() + self.timeout;
        loop {
            let asked = list(places, Offset::Invalid)?;
            match self.client.committed_offsets(asked, self.timeout) {
                Ok(committed) => return Ok(answers(&committed)),
                Err(error) if passes(&error) && Instant::now() < until => {
                    std::thread::sleep(COORDINATOR_PAUSE);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The offsets of a time, which goes in the offset's place.
    fn at(&self, places: &[LanePlace], time: Offset) -> KafkaResult<HashMap<LanePlace, Offset>> {
        if places.is_empty() {
            return Ok(HashMap::new());
        }
        let asked = list(places, time)?;
        Ok(answers(
            &self.client.offsets_for_times(asked, self.timeout)?,
        ))
    }
}

fn passes(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(
            RDKafkaErrorCode::NotCoordinator
                | RDKafkaErrorCode::CoordinatorNotAvailable
                | RDKafkaErrorCode::CoordinatorLoadInProgress
        )
    )
}

fn list(places: &[LanePlace], offset: Offset) -> KafkaResult<TopicPartitionList> {
    let mut list = TopicPartitionList::with_capacity(places.len());
    for place in places {
        list.add_partition_offset(&place.topic, place.partition, offset)?;
    }
    Ok(list)
}

/// What was answered without an error.
fn answers(answered: &TopicPartitionList) -> HashMap<LanePlace, Offset> {
    let elements = answered.elements();
    let found = elements.iter().filter_map(|element| {
        element.error().ok()?;
        let place = LanePlace {
            topic: element.topic().into(),
            partition: element.partition(),
        };
        Some((place, element.offset()))
    });
    found.collect()
}

/// An offset that is a number, and none of the words for "none".
fn number(answers: &HashMap<LanePlace, Offset>, place: &LanePlace) -> Option<i64> {
    match answers.get(place)? {
        Offset::Offset(offset) => Some(*offset),
        Offset::Beginning
        | Offset::End
        | Offset::Stored
        | Offset::Invalid
        | Offset::OffsetTail(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(first: i64, end: i64, committed: Option<i64>) -> PartitionState {
        let place = LanePlace {
            topic: "tidings.telegram.high".into(),
            partition: 0,
        };
        PartitionState {
            place,
            first,
            end,
            committed,
        }
    }

    #[test]
    fn lag_counts_what_is_there_and_not_done() {
        assert_eq!(state(0, 10, None).lag(), 10);
        assert_eq!(state(4, 10, None).lag(), 6);
        assert_eq!(state(0, 10, Some(7)).lag(), 3);
        assert_eq!(state(10, 10, Some(10)).lag(), 0);
    }

    #[test]
    fn what_was_deleted_unread_is_counted() {
        let lost = state(9, 10, Some(7));
        assert_eq!((lost.lag(), lost.next(), lost.deleted_unread()), (1, 9, 2));
        assert_eq!(state(0, 10, Some(7)).deleted_unread(), 0);
        // Whoever never committed missed nothing that was meant for it.
        assert_eq!(state(9, 10, None).deleted_unread(), 0);
    }
}
