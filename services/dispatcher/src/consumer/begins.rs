use std::sync::Arc;
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use tidings_delivery::PartitionId;
use tracing::warn;

use super::Lanes;

/// The longest that one question to a broker may take.
const LOOK: Duration = Duration::from_secs(5);

/// The wait before brokers that did not answer are asked again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A partition, and the first offset that is fetched of it.
pub(crate) type Begins = (PartitionId, i64);

/// Looks up where the group goes on in partitions, on a thread and with a client of its own: the member's must not wait
/// for it. Asks until `tell` was called, or `wanted` says that it is not any more.
pub(crate) fn look_up(
    client: ClientConfig,
    lanes: Arc<Lanes>,
    ids: Vec<PartitionId>,
    wanted: impl Fn() -> bool + Send + 'static,
    tell: impl FnOnce(Vec<Begins>) + Send + 'static,
) -> std::io::Result<()> {
    let look = move || {
        while wanted() {
            match begins(&client, &lanes, &ids) {
                Ok(begins) => return tell(begins),
                Err(error) => {
                    warn!(error = %error, "where partitions with deferred chats begin is not known yet; asked again");
                    std::thread::sleep(LOOK_AGAIN);
                }
            }
        }
    };
    let thread = std::thread::Builder::new().name("kafka-begins".into());
    thread.spawn(look).map(drop)
}

fn begins(
    client: &ClientConfig,
    lanes: &Lanes,
    ids: &[PartitionId],
) -> Result<Vec<Begins>, KafkaError> {
    let consumer: BaseConsumer = client.create()?;
    let mut asked = TopicPartitionList::with_capacity(ids.len());
    for id in ids {
        asked.add_partition(&lanes.get(*id).topic, id.partition);
    }
    let committed = consumer.committed_offsets(asked, LOOK)?;
    let mut begins = Vec::with_capacity(ids.len());
    for element in committed.elements() {
        element.error()?;
        let Some(id) = lanes.id(element.topic(), element.partition()) else {
            continue;
        };
        let (first, _) = consumer.fetch_watermarks(element.topic(), id.partition, LOOK)?;
        begins.push((id, begin(element.offset(), first)));
    }
    Ok(begins)
}

/// What retention took is not fetched, and without a commit everything is.
fn begin(committed: Offset, first: i64) -> i64 {
    match committed {
        Offset::Offset(committed) => committed.max(first),
        Offset::Beginning
        | Offset::End
        | Offset::Stored
        | Offset::Invalid
        | Offset::OffsetTail(_) => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_committed_begins_with_the_log() {
        assert_eq!(begin(Offset::Invalid, 7), 7);
        assert_eq!(begin(Offset::Offset(9), 7), 9);
        assert_eq!(begin(Offset::Offset(5), 7), 7);
    }
}
