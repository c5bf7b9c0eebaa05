//! `[kafka]`: the cluster, the topics' shape and the connection's security.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::Secret;

/// `[kafka]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KafkaConfig {
    /// Bootstrap servers, `host:port`, comma-separated.
    pub brokers: String,
    /// First part of every topic's name.
    pub prefix: String,
    /// Partitions of every lane and stream (design §4); growing them moves keys.
    pub partitions: u32,
    /// Copies of every partition: 1 only for one local broker, 3 in production.
    pub replication_factor: u16,
    /// The protocol of consumer groups.
    pub group_protocol: GroupProtocol,
    /// After this silence a consumer is taken for dead. Only the classic protocol sends it; the new one has it
    /// as a setting of the broker.
    #[serde(with = "humantime_serde")]
    pub session_timeout: Duration,
    /// The largest record of lanes and streams, in bytes; the dead-letter topics take 64 KiB more.
    pub max_message_bytes: u32,
    /// How long lanes and streams keep records.
    #[serde(with = "humantime_serde")]
    pub lane_retention: Duration,
    /// How long dead-letter topics keep records.
    #[serde(with = "humantime_serde")]
    pub dead_letter_retention: Duration,
    /// The longest one administrative request (metadata, topics) may take.
    #[serde(with = "humantime_serde")]
    pub admin_timeout: Duration,
    /// Encryption and authentication of the connection; absent: plain text, for loopback.
    #[serde(default)]
    pub security: SecurityConfig,
}

/// The protocol of consumer groups. `classic` is the default because librdkafka before 2.15 stalls
/// silently with the new one (reference/libraries.md, librdkafka #5541).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupProtocol {
    /// Rebalancing by the clients, cooperative-sticky.
    Classic,
    /// KIP-848: rebalancing by the broker.
    Consumer,
}

/// `[kafka.security]` (requirement B29).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecurityConfig {
    /// How the connection is protected.
    #[serde(default)]
    pub protocol: SecurityProtocol,
    /// PEM file with the brokers' certificate authority; absent: the system's.
    pub ca_file: Option<PathBuf>,
    /// PEM file with the client's certificate, for mutual TLS.
    pub certificate_file: Option<PathBuf>,
    /// PEM file with the client's private key, for mutual TLS.
    pub key_file: Option<PathBuf>,
    /// `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`.
    pub sasl_mechanism: Option<String>,
    /// The user of SASL.
    pub sasl_username: Option<String>,
    /// The password of SASL. Filled from the two keys below when the configuration is loaded; a literal is refused.
    pub sasl_password: Option<Secret>,
    /// A file that holds the password of SASL.
    pub sasl_password_file: Option<PathBuf>,
    /// The name of the environment variable that holds the password of SASL.
    pub sasl_password_env: Option<String>,
}

/// How the connection to Kafka is protected; the names are Kafka's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecurityProtocol {
    /// Neither encrypted nor authenticated: for loopback only.
    #[default]
    Plaintext,
    /// TLS.
    Ssl,
    /// SASL without encryption: the password crosses the network in the open with `PLAIN`.
    SaslPlaintext,
    /// SASL over TLS.
    SaslSsl,
}
