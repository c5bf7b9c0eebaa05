//! The topics Tidings needs and their settings (design §4).

use std::time::Duration;

use super::DEAD_LETTER_HEADER_BYTES;
use super::names::{
    Lane, audit_topic, dead_letter_topic, event_stream_topic, lane_topic, rate_limit_topic,
    receipts_topic, relay_dead_letter_topic,
};
use crate::config::{Config, KafkaConfig};

/// One topic as it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicSpec {
    /// The whole name.
    pub name: String,
    /// How many partitions it has; keys are placed by it.
    pub partitions: u32,
    /// Copies of each partition.
    pub replication_factor: u16,
    /// Settings by Kafka's names, in the order they are shown.
    pub config: Vec<(&'static str, String)>,
}

impl TopicSpec {
    /// A setting's value.
    pub fn setting(&self, key: &str) -> Option<&str> {
        self.config
            .iter()
            .find(|(name, _)| *name == key)
            .map(|(_, value)| value.as_str())
    }
}

/// The largest record of the rate-limit topic: a part of a snapshot (design §9), whatever events may take.
const RATE_LIMIT_RECORD_BYTES: u32 = 1_048_576;

const DAY: Duration = Duration::from_secs(86_400);

/// Every topic, in the order of design §4's table.
pub fn specs(config: &Config) -> Vec<TopicSpec> {
    let kafka = &config.kafka;
    let mut specs = Vec::new();
    for platform in &config.dispatcher.platforms {
        let lanes = Lane::ALL.map(|lane| lane_topic(kafka, platform, lane));
        specs.extend(lanes.map(|name| many(kafka, name, kafka.lane_retention)));
        specs.push(dead_letters(kafka, platform));
    }
    for stream in &config.relay.streams {
        let name = event_stream_topic(kafka, stream);
        specs.push(many(kafka, name, kafka.lane_retention));
    }
    specs.push(one(
        kafka,
        relay_dead_letter_topic(kafka),
        kafka.dead_letter_retention,
    ));
    specs.push(rate_limit(kafka));
    specs.push(many(kafka, receipts_topic(kafka), 7 * DAY));
    specs.push(one(kafka, audit_topic(kafka), 365 * DAY));
    specs
}

fn dead_letters(kafka: &KafkaConfig, platform: &str) -> TopicSpec {
    let name = dead_letter_topic(kafka, platform);
    let mut spec = many(kafka, name, kafka.dead_letter_retention);
    let largest = u64::from(kafka.max_message_bytes) + u64::from(DEAD_LETTER_HEADER_BYTES);
    replace(&mut spec, "max.message.bytes", largest.to_string());
    spec
}

/// One partition, because its order is the lock; the log's own time, because workers' clocks differ (design §9).
fn rate_limit(kafka: &KafkaConfig) -> TopicSpec {
    let mut spec = one(kafka, rate_limit_topic(kafka), 2 * DAY);
    replace(&mut spec, "message.timestamp.type", "LogAppendTime".into());
    let largest = kafka.max_message_bytes.max(RATE_LIMIT_RECORD_BYTES);
    replace(&mut spec, "max.message.bytes", largest.to_string());
    spec
}

fn many(kafka: &KafkaConfig, name: String, retention: Duration) -> TopicSpec {
    TopicSpec {
        partitions: kafka.partitions,
        ..one(kafka, name, retention)
    }
}

fn one(kafka: &KafkaConfig, name: String, retention: Duration) -> TopicSpec {
    // Two of three copies acknowledge each record; with fewer brokers the only one does.
    let in_sync = if kafka.replication_factor >= 3 {
        "2"
    } else {
        "1"
    };
    TopicSpec {
        name,
        partitions: 1,
        replication_factor: kafka.replication_factor,
        config: vec![
            ("cleanup.policy", "delete".into()),
            ("retention.ms", retention.as_millis().to_string()),
            ("max.message.bytes", kafka.max_message_bytes.to_string()),
            ("message.timestamp.type", "CreateTime".into()),
            ("min.insync.replicas", in_sync.into()),
            ("unclean.leader.election.enable", "false".into()),
        ],
    }
}

fn replace(spec: &mut TopicSpec, key: &str, value: String) {
    for (name, current) in &mut spec.config {
        if *name == key {
            current.clone_from(&value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str) -> TopicSpec {
        let mut config = Config::defaults().unwrap();
        config.relay.streams = vec!["order".into()];
        let all = specs(&config);
        all.into_iter().find(|spec| spec.name == name).unwrap()
    }

    #[test]
    fn all_lanes_of_a_platform_have_the_same_partition_count() {
        for lane in ["high", "normal", "replay"] {
            let spec = spec(&format!("tidings.telegram.{lane}"));
            assert_eq!(spec.partitions, 12);
            assert_eq!(spec.setting("retention.ms"), Some("604800000"));
        }
        assert_eq!(spec("tidings.events.order").partitions, 12);
    }

    #[test]
    fn a_dead_letter_has_room_for_its_headers_and_a_month() {
        let spec = spec("tidings.telegram.dead-letter");
        assert_eq!(spec.setting("max.message.bytes"), Some("1114112"));
        assert_eq!(spec.setting("retention.ms"), Some("2592000000"));
    }

    #[test]
    fn the_rate_limit_log_is_one_partition_with_the_brokers_time() {
        let spec = spec("tidings.rate-limit");
        assert_eq!(spec.partitions, 1);
        assert_eq!(
            spec.setting("message.timestamp.type"),
            Some("LogAppendTime")
        );
        assert_eq!(spec.setting("cleanup.policy"), Some("delete"));
    }
}
