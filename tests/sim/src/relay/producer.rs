//! One idempotent producer a shard's attempt: a stream a partition, one batch of it on the wire, retried until it is
//! acknowledged. What a dropped or killed producer had on the wire may still arrive, once and late.

use std::collections::{BTreeMap, VecDeque};

use tidings_delivery::PartitionId;

use super::{RelayNews, ShardRef};
use crate::happening::Happening;
use crate::kafka::Record;
use crate::times::{MILLI, SECOND};
use crate::trace::note;
use crate::world::World;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProducerId(pub(crate) u64);

#[derive(Debug)]
pub(crate) struct Producer {
    owner: ShardRef,
    closed: bool,
    streams: BTreeMap<PartitionId, Stream>,
}

#[derive(Debug, Default)]
struct Stream {
    queue: VecDeque<usize>,
    batch: Option<Batch>,
}

#[derive(Debug)]
struct Batch {
    messages: Vec<usize>,
    appended: bool,
}

/// What happens between a producer and the broker.
#[derive(Debug)]
pub(crate) enum ProducerStep {
    /// A batch arrives at the broker.
    Request(ProducerId, PartitionId),
}

impl World {
    pub(super) fn new_producer(&mut self, owner: ShardRef) -> ProducerId {
        let id = ProducerId(self.producers.len() as u64);
        self.producers.insert(
            id,
            Producer {
                owner,
                closed: false,
                streams: BTreeMap::new(),
            },
        );
        id
    }

    pub(super) fn close_producer(&mut self, id: ProducerId) {
        if let Some(producer) = self.producers.get_mut(&id) {
            producer.closed = true;
            for stream in producer.streams.values_mut() {
                stream.queue.clear();
            }
        }
    }

    pub(super) fn queue_record(&mut self, id: ProducerId, message: usize) {
        let partition = self.partition_of(message);
        if let Some(producer) = self.producers.get_mut(&id) {
            let stream = producer.streams.entry(partition).or_default();
            stream.queue.push_back(message);
        }
        self.send_batch(id, partition);
    }

    fn stream(&mut self, id: ProducerId, partition: PartitionId) -> Option<&mut Stream> {
        self.producers.get_mut(&id)?.streams.get_mut(&partition)
    }

    fn send_batch(&mut self, id: ProducerId, partition: PartitionId) {
        let most = self.random.between(1, 6) as usize;
        let Some(stream) = self.stream(id, partition) else {
            return;
        };
        if stream.batch.is_some() || stream.queue.is_empty() {
            return;
        }
        let count = most.min(stream.queue.len());
        stream.batch = Some(Batch {
            messages: stream.queue.drain(..count).collect(),
            appended: false,
        });
        let slow = self.faults() && self.random.chance(20);
        let most = if slow { 2 * SECOND } else { 3 * MILLI };
        self.request(300, most, id, partition);
    }

    fn request(&mut self, least: u64, most: u64, id: ProducerId, partition: PartitionId) {
        let step = ProducerStep::Request(id, partition);
        self.after(least, most, Happening::Producer(step));
    }

    pub(crate) fn producer_step(&mut self, step: ProducerStep) {
        let ProducerStep::Request(id, partition) = step;
        let Some(producer) = self.producers.get(&id) else {
            return;
        };
        let (owner, closed) = (producer.owner, producer.closed);
        if self.is_lost() {
            // The client tries again, unless it is gone.
            if !closed {
                self.request(50 * MILLI, 400 * MILLI, id, partition);
            }
            return;
        }
        if closed && self.random.chance(500) {
            return;
        }
        if !closed && self.faults() && self.random.chance(5) {
            self.tell_relay(300, 3 * MILLI, owner, RelayNews::ProducerFailed(id));
            return;
        }
        self.append_batch(id, partition, closed);
        if !closed {
            self.answer_batch(id, partition, owner);
        }
    }

    fn is_lost(&mut self) -> bool {
        let permille = self.settings.lost_requests_permille;
        let lost = self.faults() && self.random.chance(permille);
        if lost {
            self.counts.add("produce requests lost");
        }
        lost || self.kafka.is_down(self.now)
    }

    /// A batch that comes again is recognised by its sequence numbers, unless the broker lost them.
    fn append_batch(&mut self, id: ProducerId, partition: PartitionId, closed: bool) {
        let forgotten = self.faults() && self.random.chance(50);
        let Some(batch) = self
            .stream(id, partition)
            .and_then(|stream| stream.batch.as_mut())
        else {
            return;
        };
        if batch.appended && !forgotten {
            return;
        }
        let again = std::mem::replace(&mut batch.appended, true);
        let messages = batch.messages.clone();
        if !closed && self.is_zombie(id) {
            self.counts
                .add("batches of a relay that had lost its shard");
        }
        if closed {
            self.counts.add("appends of a dropped producer");
        }
        if again {
            self.counts.add("batches appended twice");
        }
        note!(
            self,
            "kafka         {partition:?} takes {messages:?} of producer {}",
            id.0
        );
        for message in messages {
            self.append(partition, Record::Message(message));
        }
    }

    fn is_zombie(&self, id: ProducerId) -> bool {
        let owner = self.producers[&id].owner;
        let session = self.session_of(owner.relay, owner.shard);
        session.is_none_or(|session| !self.outbox.sessions.contains_key(&session))
    }

    fn answer_batch(&mut self, id: ProducerId, partition: PartitionId, owner: ShardRef) {
        let permille = self.settings.lost_requests_permille;
        let faults = self.faults();
        if faults && self.random.chance(permille) {
            self.counts.add("acknowledgements lost");
            self.request(50 * MILLI, 400 * MILLI, id, partition);
            return;
        }
        if faults && self.random.chance(5) {
            self.tell_relay(300, 3 * MILLI, owner, RelayNews::ProducerFailed(id));
            return;
        }
        let news = RelayNews::Acknowledged {
            producer: id,
            partition,
        };
        let slow = faults && self.random.chance(20);
        let most = if slow { 2 * SECOND } else { 3 * MILLI };
        self.tell_relay(300, most, owner, news);
    }

    /// The acknowledged batch's row ids; the stream goes on with its next batch.
    pub(super) fn take_acknowledged(&mut self, id: ProducerId, partition: PartitionId) -> Vec<i64> {
        let batch = self
            .stream(id, partition)
            .and_then(|stream| stream.batch.take());
        self.send_batch(id, partition);
        let messages = batch.map(|batch| batch.messages).unwrap_or_default();
        messages.into_iter().map(|m| m as i64 + 1).collect()
    }
}
