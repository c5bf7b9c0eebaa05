//! The topics' names (design §4); the prefix is configuration.

use crate::config::KafkaConfig;

/// A lane: one topic of a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Before `normal` where both wait for a permit.
    High,
    /// What most events use.
    Normal,
    /// What operators send again.
    Replay,
}

impl Lane {
    /// Every lane, most urgent first.
    pub const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Replay];

    /// The lane's part of a topic's name, also its label in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
            Self::Replay => "replay",
        }
    }
}

/// `<prefix>.<platform>.<lane>`.
pub fn lane_topic(kafka: &KafkaConfig, platform: &str, lane: Lane) -> String {
    format!("{}.{platform}.{}", kafka.prefix, lane.as_str())
}

/// `<prefix>.<platform>.dead-letter`.
pub fn dead_letter_topic(kafka: &KafkaConfig, platform: &str) -> String {
    format!("{}.{platform}.dead-letter", kafka.prefix)
}

/// `<prefix>.relay.dead-letter`.
pub fn relay_dead_letter_topic(kafka: &KafkaConfig) -> String {
    format!("{}.relay.dead-letter", kafka.prefix)
}

/// `<prefix>.events.<stream>`.
pub fn event_stream_topic(kafka: &KafkaConfig, stream: &str) -> String {
    format!("{}.events.{stream}", kafka.prefix)
}

/// `<prefix>.rate-limit`.
pub fn rate_limit_topic(kafka: &KafkaConfig) -> String {
    format!("{}.rate-limit", kafka.prefix)
}

/// `<prefix>.receipts`.
pub fn receipts_topic(kafka: &KafkaConfig) -> String {
    format!("{}.receipts", kafka.prefix)
}

/// `<prefix>.audit`.
pub fn audit_topic(kafka: &KafkaConfig) -> String {
    format!("{}.audit", kafka.prefix)
}
