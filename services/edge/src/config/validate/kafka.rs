//! The rules of `[kafka]`.

use std::time::Duration;

use super::{Problems, human, is_name};
use crate::config::{KafkaConfig, SecurityConfig, SecurityProtocol};

pub(super) fn kafka(kafka: &KafkaConfig, problems: &mut Problems) {
    cluster(kafka, problems);
    topics(kafka, problems);
    security(&kafka.security, problems);
}

fn cluster(kafka: &KafkaConfig, problems: &mut Problems) {
    problems.unless(
        !kafka.brokers.trim().is_empty(),
        "kafka.brokers",
        "\"\"",
        "name at least one broker as host:port",
    );
    problems.unless(
        is_name(&kafka.prefix, 64),
        "kafka.prefix",
        &kafka.prefix,
        "use 1 to 64 letters, digits, '-', '_' or '.'",
    );
    problems.unless(
        kafka.session_timeout >= Duration::from_secs(1)
            && kafka.session_timeout <= Duration::from_secs(3_600),
        "kafka.session_timeout",
        human(kafka.session_timeout),
        "use 1s to 1h, inside the brokers' group.min and group.max.session.timeout.ms (6s, 30m by default)",
    );
    problems.positive_time("kafka.admin_timeout", kafka.admin_timeout);
}

fn topics(kafka: &KafkaConfig, problems: &mut Problems) {
    problems.positive("kafka.partitions", kafka.partitions);
    problems.unless(
        kafka.partitions <= 10_000,
        "kafka.partitions",
        kafka.partitions,
        "use at most 10,000",
    );
    problems.positive("kafka.replication_factor", kafka.replication_factor);
    problems.unless(
        kafka.max_message_bytes >= 64 * 1024 && kafka.max_message_bytes <= 256 * 1024 * 1024,
        "kafka.max_message_bytes",
        kafka.max_message_bytes,
        "use 65536 (64 KiB) to 268435456 (256 MiB)",
    );
    problems.positive_time("kafka.lane_retention", kafka.lane_retention);
    problems.positive_time("kafka.dead_letter_retention", kafka.dead_letter_retention);
}

fn security(security: &SecurityConfig, problems: &mut Problems) {
    let sasl = matches!(
        security.protocol,
        SecurityProtocol::SaslPlaintext | SecurityProtocol::SaslSsl
    );
    let complete = security.sasl_mechanism.is_some()
        && security.sasl_username.is_some()
        && security.sasl_password.is_some();
    problems.unless(
        !sasl || complete,
        "kafka.security.protocol",
        "sasl",
        "set sasl_mechanism, sasl_username and sasl_password_file (or sasl_password_env) as well",
    );
    if let Some(mechanism) = &security.sasl_mechanism {
        problems.unless(
            matches!(
                mechanism.as_str(),
                "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512"
            ),
            "kafka.security.sasl_mechanism",
            mechanism,
            "use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512",
        );
    }
    problems.unless(
        security.certificate_file.is_some() == security.key_file.is_some(),
        "kafka.security.certificate_file",
        "without key_file, or the other way round",
        "set both for mutual TLS, or neither",
    );
}
