//! One shard's Kafka producer: records in, acknowledgements out.
//!
//! The producer is idempotent, never gives a record up by itself and never lets a later one overtake. When it fails
//! all the same, it is dropped as a whole and the rows are read again: no tail is ever queued by hand.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::Message as _;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{
    BaseRecord, DeliveryResult, Producer as _, ProducerContext, PurgeConfig, ThreadedProducer,
};
use tidings_edge::config::KafkaConfig;
use tidings_edge::kafka::producer_config;
use tokio::sync::{Notify, oneshot};

use crate::encoder::Record;

/// One shard's producer.
pub(crate) struct Publisher {
    producer: ThreadedProducer<Deliveries>,
    deliveries: Deliveries,
}

/// What became of a record that was handed over.
#[derive(Debug)]
pub(crate) enum Sent {
    /// It is queued.
    Queued,
    /// The queue is full: again after acknowledgements.
    Full,
}

/// What was acknowledged since the last look.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    /// The rows' ids.
    pub(crate) ids: Vec<i64>,
    /// How many, by topic.
    pub(crate) by_topic: BTreeMap<String, u64>,
    failure: Option<KafkaError>,
}

impl Publisher {
    /// A producer of its own.
    pub(crate) fn new(kafka: &KafkaConfig) -> Result<Self, KafkaError> {
        let deliveries = Deliveries::default();
        let producer = producer_config(kafka).create_with_context(deliveries.clone())?;
        Ok(Self {
            producer,
            deliveries,
        })
    }

    /// Queues a row's record behind all that were queued before. Only the shard's own task calls it.
    pub(crate) fn send(&self, id: i64, record: Record<'_>) -> Result<Sent, KafkaError> {
        // Ids come from a sequence, so they are positive.
        let opaque = usize::try_from(id).unwrap_or_default();
        let base = BaseRecord::with_opaque_to(record.topic, opaque)
            .partition(record.partition)
            .key(record.key)
            .payload(record.value)
            .headers(record.headers);
        match self.producer.send(base) {
            Ok(()) => Ok(Sent::Queued),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => Ok(Sent::Full),
            Err((error, _)) => Err(error),
        }
    }

    /// Takes what was acknowledged since the last call.
    ///
    /// # Errors
    /// The first failure of a record or of the client: the producer is of no use any more.
    pub(crate) fn take(&self) -> Result<Acknowledged, KafkaError> {
        let mut taken = std::mem::take(&mut *self.deliveries.lock());
        match taken.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(taken),
        }
    }

    /// Waits until there may be something to take.
    pub(crate) async fn delivered(&self) {
        self.deliveries.notify.notified().await;
    }

    /// Asks the cluster for a topic, blocking up to `deadline`: whether it can be produced to now.
    pub(crate) fn probe(&self, topic: &str, deadline: Duration) -> Result<(), KafkaError> {
        self.producer
            .client()
            .fetch_metadata(Some(topic), deadline)
            .map(|_| ())
    }

    /// Drops the producer with all that it still holds, on a thread of its own, and waits for that up to `deadline`.
    /// Whether it ended; until it does it counts in `abandoned`.
    pub(crate) async fn close(self, deadline: Duration, abandoned: &Arc<AtomicUsize>) -> bool {
        let (ended, end) = oneshot::channel();
        let counted = Arc::clone(abandoned);
        abandoned.fetch_add(1, Ordering::Relaxed);
        self.deliveries.closing.store(true, Ordering::Relaxed);
        let dropping = move || {
            self.producer
                .purge(PurgeConfig::default().queue().inflight());
            drop(self);
            counted.fetch_sub(1, Ordering::Relaxed);
            // Nobody may be waiting any more.
            let _ = ended.send(());
        };
        let thread = std::thread::Builder::new()
            .name("producer-drop".into())
            .spawn(dropping);
        thread.is_ok() && tokio::time::timeout(deadline, end).await.is_ok()
    }
}

/// The deliveries' mailbox: filled by the producer's polling thread, emptied by the shard's task.
#[derive(Clone, Default)]
pub(crate) struct Deliveries {
    acknowledged: Arc<Mutex<Acknowledged>>,
    notify: Arc<Notify>,
    /// The producer is being dropped: what it reports of what it held is no news.
    closing: Arc<AtomicBool>,
    /// An error was logged, and nothing was acknowledged since.
    told: Arc<AtomicBool>,
}

impl Deliveries {
    fn lock(&self) -> std::sync::MutexGuard<'_, Acknowledged> {
        // Nothing panics while it is held; and if, the lists are whole.
        self.acknowledged
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, error: KafkaError) {
        self.lock().failure.get_or_insert(error);
        self.notify.notify_one();
    }
}

impl ClientContext for Deliveries {
    /// The client's own log; what matters in it comes as an error too.
    fn log(&self, level: RDKafkaLogLevel, fac: &str, message: &str) {
        tracing::debug!(?level, facility = fac, "kafka: {message}");
    }

    /// Errors that are not fatal repeat many times a second in an outage: only the first one is news.
    fn error(&self, error: KafkaError, reason: &str) {
        let fatal = matches!(error.rdkafka_error_code(), Some(RDKafkaErrorCode::Fatal));
        let news = fatal || !self.told.swap(true, Ordering::Relaxed);
        if news && !self.closing.load(Ordering::Relaxed) {
            tracing::warn!(%error, fatal, "kafka client: {reason}");
        } else {
            tracing::debug!(%error, fatal, "kafka client: {reason}");
        }
        if fatal {
            self.fail(error);
        }
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, opaque: usize) {
        match result {
            Ok(message) => {
                self.told.store(false, Ordering::Relaxed);
                let mut acknowledged = self.lock();
                acknowledged
                    .ids
                    .push(i64::try_from(opaque).unwrap_or_default());
                match acknowledged.by_topic.get_mut(message.topic()) {
                    Some(count) => *count += 1,
                    None => drop(acknowledged.by_topic.insert(message.topic().to_owned(), 1)),
                }
            }
            Err((error, _)) => self.fail(error.clone()),
        }
        self.notify.notify_one();
    }
}
