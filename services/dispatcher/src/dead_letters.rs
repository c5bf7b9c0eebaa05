//! A record given up, byte for byte, with why (design §10, reference/conventions.md).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, Headers as _, OwnedHeaders, OwnedMessage};
use rdkafka::producer::{DeliveryFuture, FutureProducer, FutureRecord};
use rdkafka::{ClientConfig, Message as _};
use tidings_delivery::DeadLetterFacts;
use tidings_envelope::Micros;
use tracing::warn;

/// Every header that a dead letter adds begins so; those of an earlier round are replaced, never stacked (D3).
const HEADER_PREFIX: &str = "tidings_dlq_";

/// Requirement B12.
const REASON_CHARS: usize = 2_000;

/// Appends dead letters. A client that can not go on is replaced by a new one at the next record.
pub(crate) struct DeadLetters {
    config: ClientConfig,
    group: String,
    deadline: Duration,
    producer: Mutex<Option<FutureProducer>>,
}

impl DeadLetters {
    /// `config` is the producer's; `deadline` bounds the wait for one acknowledgement.
    pub(crate) fn new(config: ClientConfig, group: String, deadline: Duration) -> Self {
        Self {
            config,
            group,
            deadline,
            producer: Mutex::new(None),
        }
    }

    /// Appends `record` to `topic`; whether all in-sync replicas have it. `traceparent` names the `process` span that
    /// gave it up.
    pub(crate) async fn append(
        &self,
        topic: &str,
        record: &OwnedMessage,
        facts: &DeadLetterFacts,
        traceparent: Option<String>,
    ) -> bool {
        let appended = match self.enqueue(topic, record, facts, traceparent) {
            Ok(delivery) => self.acknowledged(delivery).await,
            Err(error) => Err(error),
        };
        match appended {
            Ok(()) => true,
            Err(error) => {
                warn!(error = %error, topic, "a dead letter was not acknowledged; it is appended again");
                if is_final(&error) {
                    self.forget();
                }
                false
            }
        }
    }

    fn enqueue(
        &self,
        topic: &str,
        record: &OwnedMessage,
        facts: &DeadLetterFacts,
        traceparent: Option<String>,
    ) -> Result<DeliveryFuture, KafkaError> {
        let headers = headers(record, facts, &self.group, traceparent);
        let mut letter: FutureRecord<'_, [u8], [u8]> = FutureRecord::to(topic).headers(headers);
        letter.key = record.key();
        letter.payload = record.payload();
        self.producer()?
            .send_result(letter)
            .map_err(|(error, _)| error)
    }

    async fn acknowledged(&self, delivery: DeliveryFuture) -> Result<(), KafkaError> {
        match tokio::time::timeout(self.deadline, delivery).await {
            Ok(Ok(Ok(_))) => Ok(()),
            Ok(Ok(Err((error, _)))) => Err(error),
            Ok(Err(_)) => Err(KafkaError::Canceled),
            Err(_) => Err(KafkaError::MessageProduction(
                RDKafkaErrorCode::MessageTimedOut,
            )),
        }
    }

    fn producer(&self) -> Result<FutureProducer, KafkaError> {
        let mut producer = self.producer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(producer) = producer.as_ref() {
            return Ok(producer.clone());
        }
        let fresh: FutureProducer = self.config.create()?;
        *producer = Some(fresh.clone());
        Ok(fresh)
    }

    fn forget(&self) {
        let old = self
            .producer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // Dropping a client can hang (rust-rdkafka #509); nothing may wait for it.
        tokio::task::spawn_blocking(move || drop(old));
    }
}

/// Whether a new client is the remedy.
fn is_final(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(
            RDKafkaErrorCode::Fatal
                | RDKafkaErrorCode::MessageTimedOut
                | RDKafkaErrorCode::PurgeQueue
        )
    ) || matches!(error, KafkaError::Canceled)
}

/// The record's own headers as they were, then why it is here. Its `traceparent` stays.
fn headers(
    record: &OwnedMessage,
    facts: &DeadLetterFacts,
    group: &str,
    traceparent: Option<String>,
) -> OwnedHeaders {
    let mut headers = OwnedHeaders::new();
    if let Some(original) = record.headers() {
        for header in original
            .iter()
            .filter(|h| !h.key.starts_with(HEADER_PREFIX))
        {
            headers = headers.insert(Header {
                key: header.key,
                value: header.value,
            });
        }
    }
    let reason: String = facts.reason.chars().take(REASON_CHARS).collect();
    let timestamp = record
        .timestamp()
        .to_millis()
        .map(|millis| millis.to_string());
    let own: [(&str, Option<String>); 11] = [
        ("topic", Some(record.topic().to_owned())),
        ("partition", Some(record.partition().to_string())),
        ("offset", Some(record.offset().to_string())),
        ("timestamp", timestamp),
        ("group", Some(group.to_owned())),
        ("attempts", Some(facts.attempts.to_string())),
        (
            "first_failed_at",
            Some(Micros(facts.first_failed_at_micros).to_string()),
        ),
        (
            "last_failed_at",
            Some(Micros(facts.last_failed_at_micros).to_string()),
        ),
        ("category", Some(facts.category.word().to_owned())),
        ("reason", Some(reason)),
        ("traceparent", traceparent),
    ];
    for (name, value) in own {
        if let Some(value) = value {
            headers = headers.insert(Header {
                key: &format!("{HEADER_PREFIX}{name}"),
                value: Some(value.as_bytes()),
            });
        }
    }
    headers
}

/// Shared by the calls that append.
pub(crate) type SharedDeadLetters = Arc<DeadLetters>;

#[cfg(test)]
mod tests {
    use rdkafka::Timestamp;
    use tidings_delivery::Category;

    use super::*;

    fn facts() -> DeadLetterFacts {
        DeadLetterFacts {
            category: Category::Poison,
            reason: "x".repeat(3_000).into(),
            attempts: 0,
            first_failed_at_micros: 0,
            last_failed_at_micros: 0,
        }
    }

    fn text(headers: &OwnedHeaders, key: &str) -> Vec<Option<Vec<u8>>> {
        headers
            .iter()
            .filter(|h| h.key == key)
            .map(|h| h.value.map(<[u8]>::to_vec))
            .collect()
    }

    #[test]
    fn d3_headers_of_an_earlier_round_are_replaced_and_others_kept_with_repeats_and_nulls() {
        let original = OwnedHeaders::new()
            .insert(Header {
                key: "a",
                value: Some(&b"\xff\x00"[..]),
            })
            .insert(Header {
                key: "a",
                value: None::<&[u8]>,
            })
            .insert(Header {
                key: "traceparent",
                value: Some(&b"00-x"[..]),
            })
            .insert(Header {
                key: "tidings_dlq_reason",
                value: Some(&b"old"[..]),
            });
        let record = OwnedMessage::new(
            None,
            None,
            "lane".into(),
            Timestamp::CreateTime(7),
            3,
            9,
            Some(original),
        );
        let headers = headers(&record, &facts(), "group", Some("00-p".into()));
        assert_eq!(text(&headers, "a"), [Some(b"\xff\x00".to_vec()), None]);
        assert_eq!(text(&headers, "traceparent"), [Some(b"00-x".to_vec())]);
        assert_eq!(
            text(&headers, "tidings_dlq_traceparent"),
            [Some(b"00-p".to_vec())]
        );
        assert_eq!(
            text(&headers, "tidings_dlq_reason"),
            [Some(vec![b'x'; 2_000])]
        );
        assert_eq!(text(&headers, "tidings_dlq_offset"), [Some(b"9".to_vec())]);
        assert_eq!(
            text(&headers, "tidings_dlq_timestamp"),
            [Some(b"7".to_vec())]
        );
    }
}
