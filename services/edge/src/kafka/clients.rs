//! The settings of Kafka's clients. A `ClientConfig` may hold a password: it is never logged.

use std::time::Duration;

use rdkafka::ClientConfig;

use crate::config::{GroupProtocol, KafkaConfig, SecurityConfig, SecurityProtocol};

/// What a dead letter may be larger than its original: the headers that say why (design §4).
pub const DEAD_LETTER_HEADER_BYTES: u32 = 64 * 1024;

/// The most bytes of records in a producer's queue.
const PRODUCER_QUEUE_KIB: &str = "32768";
/// The most records in a producer's queue.
const PRODUCER_QUEUE_RECORDS: &str = "100000";
/// librdkafka's default batch, in bytes; smaller where the topic's limit is.
const BATCH_BYTES: u32 = 1_000_000;
/// The most bytes that a consumer fetches ahead, over all its partitions.
const CONSUMER_QUEUE_KIB: &str = "16384";

/// What every client has: where the cluster is, how it is protected, how fast a lost broker is found again.
pub fn client_config(kafka: &KafkaConfig) -> ClientConfig {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", &kafka.brokers)
        .set("client.id", "tidings")
        .set("socket.keepalive.enable", "true")
        .set("socket.connection.setup.timeout.ms", "5000")
        .set("reconnect.backoff.ms", "50")
        // The default of 10 s would be most of a short outage.
        .set("reconnect.backoff.max.ms", "1000");
    protect(&mut config, &kafka.security);
    config
}

fn protect(config: &mut ClientConfig, security: &SecurityConfig) {
    let protocol = match security.protocol {
        SecurityProtocol::Plaintext => "plaintext",
        SecurityProtocol::Ssl => "ssl",
        SecurityProtocol::SaslPlaintext => "sasl_plaintext",
        SecurityProtocol::SaslSsl => "sasl_ssl",
    };
    config.set("security.protocol", protocol);
    for (key, path) in [
        ("ssl.ca.location", &security.ca_file),
        ("ssl.certificate.location", &security.certificate_file),
        ("ssl.key.location", &security.key_file),
    ] {
        if let Some(path) = path {
            config.set(key, path.to_string_lossy());
        }
    }
    if let Some(mechanism) = &security.sasl_mechanism {
        config.set("sasl.mechanism", mechanism);
    }
    if let Some(username) = &security.sasl_username {
        config.set("sasl.username", username);
    }
    if let Some(password) = &security.sasl_password {
        config.set("sasl.password", password.expose());
    }
}

/// An idempotent producer that never gives a record up by itself and never lets a later one overtake: on a
/// failure its owner drops it and reads again from the source (design §6).
pub fn producer_config(kafka: &KafkaConfig) -> ClientConfig {
    producer(kafka, kafka.max_message_bytes)
}

/// The same for dead-letter topics, whose records are larger by their headers.
pub fn dead_letter_producer_config(kafka: &KafkaConfig) -> ClientConfig {
    let largest = kafka
        .max_message_bytes
        .saturating_add(DEAD_LETTER_HEADER_BYTES);
    producer(kafka, largest)
}

fn producer(kafka: &KafkaConfig, max_record_bytes: u32) -> ClientConfig {
    let mut config = client_config(kafka);
    config
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("message.timeout.ms", "0")
        .set("enable.gapless.guarantee", "true")
        // librdkafka's own default is CRC32, which places keys unlike Java's clients.
        .set("partitioner", "murmur2_random")
        .set("compression.type", "lz4")
        // Long enough for a read's rows to share a batch, short against the relay's goal of 6 ms (design §13).
        .set("linger.ms", "1")
        .set(
            "batch.size",
            kafka.max_message_bytes.min(BATCH_BYTES).to_string(),
        )
        .set("message.max.bytes", max_record_bytes.to_string())
        .set("queue.buffering.max.messages", PRODUCER_QUEUE_RECORDS)
        .set(
            "queue.buffering.max.kbytes",
            producer_queue_kib(max_record_bytes),
        )
        .set("retry.backoff.ms", "50");
    config
}

/// The queue takes at least two of the largest records.
fn producer_queue_kib(max_record_bytes: u32) -> String {
    let least = u64::from(max_record_bytes).div_ceil(1_024) * 2;
    let usual = PRODUCER_QUEUE_KIB.parse::<u64>().unwrap_or(least);
    usual.max(least).to_string()
}

/// A group member that commits only what it is told to, and fetches a bounded amount ahead.
pub fn consumer_config(kafka: &KafkaConfig, group: &str) -> ClientConfig {
    let mut config = client_config(kafka);
    config
        .set("group.id", group)
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("auto.offset.reset", "earliest")
        .set("allow.auto.create.topics", "false")
        .set("enable.partition.eof", "false")
        .set("queued.min.messages", "10000")
        .set("queued.max.messages.kbytes", CONSUMER_QUEUE_KIB)
        .set("fetch.wait.max.ms", "100")
        // The default of 1 s would be a pause whenever the queue was full for a moment.
        .set("fetch.queue.backoff.ms", "20")
        .set("fetch.error.backoff.ms", "100");
    match kafka.group_protocol {
        GroupProtocol::Classic => classic(&mut config, kafka.session_timeout),
        // With this protocol the three settings of the classic one are refused: the broker decides.
        GroupProtocol::Consumer => config.set("group.protocol", "consumer"),
    };
    config
}

fn classic(config: &mut ClientConfig, session_timeout: Duration) -> &mut ClientConfig {
    let session_ms = session_timeout.as_millis();
    // Kafka wants at most a third of the session; a fifth survives a lost heartbeat or two.
    let heartbeat_ms = (session_ms / 5).clamp(100, 3_000);
    config
        .set("group.protocol", "classic")
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("session.timeout.ms", session_ms.to_string())
        .set("heartbeat.interval.ms", heartbeat_ms.to_string())
}

/// A client for topics and metadata.
pub fn admin_config(kafka: &KafkaConfig) -> ClientConfig {
    client_config(kafka)
}

#[cfg(test)]
mod tests {
    use rdkafka::producer::BaseProducer;

    use super::*;
    use crate::config::{Config, Secret};

    fn kafka() -> KafkaConfig {
        Config::defaults().unwrap().kafka
    }

    /// librdkafka checks names, values and their combinations when a client is made.
    #[test]
    fn librdkafka_accepts_the_producers() {
        for config in [
            producer_config(&kafka()),
            dead_letter_producer_config(&kafka()),
        ] {
            let created = config.create::<BaseProducer>();
            assert!(created.is_ok(), "{:?}", created.err());
        }
    }

    #[test]
    fn librdkafka_accepts_the_consumers_of_both_protocols() {
        let mut kafka = kafka();
        for protocol in [GroupProtocol::Classic, GroupProtocol::Consumer] {
            for session_timeout in [Duration::from_secs(6), Duration::from_secs(45)] {
                kafka.group_protocol = protocol;
                kafka.session_timeout = session_timeout;
                let created =
                    consumer_config(&kafka, "group").create::<rdkafka::consumer::BaseConsumer>();
                assert!(created.is_ok(), "{protocol:?} {:?}", created.err());
            }
        }
    }

    #[test]
    fn librdkafka_accepts_sasl_over_tls() {
        let mut kafka = kafka();
        kafka.security = SecurityConfig {
            protocol: SecurityProtocol::SaslSsl,
            sasl_mechanism: Some("SCRAM-SHA-512".into()),
            sasl_username: Some("relay".into()),
            sasl_password: Some(Secret::new("canary")),
            ..SecurityConfig::default()
        };
        let config = producer_config(&kafka);
        assert_eq!(config.get("sasl.password"), Some("canary"));
        config.create::<BaseProducer>().unwrap();
        assert!(!format!("{kafka:?}").contains("canary"));
    }
}
