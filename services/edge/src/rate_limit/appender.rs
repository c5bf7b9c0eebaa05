//! Appends to the rate-limit topic: at once, each once, and a failure is told.

use std::sync::Weak;
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::config::{ClientConfig, FromClientConfigAndContext};
use rdkafka::error::KafkaError;
use rdkafka::producer::{
    BaseRecord, DeliveryResult, Producer as _, ProducerContext, PurgeConfig, ThreadedProducer,
};
use tidings_ratelimit::AppendId;
use tracing::debug;

use super::shared::Shared;

/// The longest that what a closing producer has thrown away is waited for to be told.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The one partition.
pub(super) const PARTITION: i32 = 0;

/// A producer of the topic. Dropping it may take long, and must not happen under the lock that its answers take.
pub(super) struct Appender {
    producer: ThreadedProducer<Deliveries>,
    topic: String,
}

impl Appender {
    pub(super) fn new(
        config: &ClientConfig,
        topic: &str,
        shared: Weak<Shared>,
    ) -> Result<Self, KafkaError> {
        let producer = ThreadedProducer::from_config_and_context(config, Deliveries { shared })?;
        Ok(Self {
            producer,
            topic: topic.to_owned(),
        })
    }

    /// Hands a record to the client, which sends it without waiting for others. Never blocks.
    pub(super) fn append(&self, id: AppendId, key: &str, value: &[u8]) -> Result<(), KafkaError> {
        let record = BaseRecord::with_opaque_to(&self.topic, Box::new(id))
            .partition(PARTITION)
            .key(key)
            .payload(value);
        self.producer.send(record).map_err(|(error, _)| error)
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        self.producer
            .purge(PurgeConfig::default().queue().inflight());
        // What is still not told is told by the log, or never.
        let _ = self.producer.flush(LAST_WORDS);
    }
}

/// Success is told by reading the record, so only failures are.
struct Deliveries {
    shared: Weak<Shared>,
}

impl ClientContext for Deliveries {
    fn error(&self, error: KafkaError, reason: &str) {
        debug!(%error, reason, "rate-limit producer");
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = Box<AppendId>;

    fn delivery(&self, result: &DeliveryResult<'_>, id: Box<AppendId>) {
        let Err((error, _)) = result else {
            return;
        };
        debug!(%error, "a record was not appended to the rate-limit topic");
        if let Some(shared) = self.shared.upgrade() {
            shared.not_appended(*id);
        }
    }
}
