//! The cluster: how many brokers, and whether their settings let Tidings' clients in.

use std::time::Duration;

use super::{Finding, words};
use crate::config::{Config, GroupProtocol};
use crate::kafka::{self, Cluster, Settings};

pub(super) const CHECK: &str = "kafka";
const GROUP: &str = "consumer group";

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    match kafka::cluster(&config.kafka).await {
        Ok(cluster) => judge(config, &cluster),
        Err(error) => vec![Finding::problem(
            CHECK,
            "kafka.brokers",
            words(&error),
            "check that the brokers run and that their advertised addresses are reached from here; for TLS and SASL see kafka.security",
        )],
    }
}

fn judge(config: &Config, cluster: &Cluster) -> Vec<Finding> {
    let mut findings = judge_copies(config, cluster);
    findings.extend(judge_api(cluster));
    findings.extend(judge_auto_creation(&cluster.settings));
    if findings.is_empty() {
        findings.push(Finding::ok(
            CHECK,
            format!(
                "{} broker(s), {} copies of each partition",
                cluster.brokers, config.kafka.replication_factor
            ),
        ));
    }
    findings.push(judge_group(config, cluster));
    findings
}

fn judge_copies(config: &Config, cluster: &Cluster) -> Vec<Finding> {
    let copies = usize::from(config.kafka.replication_factor);
    let brokers = cluster.brokers;
    const KEY: &str = "kafka.replication_factor";
    if copies > brokers {
        let found = format!("{copies}, and there are {brokers} broker(s): topics cannot be made");
        let remedy = format!("use at most {brokers}, or add brokers");
        return vec![Finding::problem(CHECK, KEY, found, remedy)];
    }
    if copies == 1 && brokers > 1 {
        let found = format!("1 with {brokers} brokers: losing one broker loses records");
        let remedy =
            "use 3 (and give topics that exist more copies with kafka-reassign-partitions.sh)";
        return vec![Finding::warning(CHECK, KEY, found, remedy)];
    }
    Vec::new()
}

/// Kafka's number of a request, and the version of it without which something of Tidings does not work.
const NEEDED: [(i16, i16, &str); 4] = [
    (0, 3, "Produce with record headers"),
    (1, 4, "Fetch with record headers"),
    (22, 0, "InitProducerId, for idempotent producers"),
    (32, 0, "DescribeConfigs, for the checks of topics"),
];

/// KIP-848's heartbeat.
const CONSUMER_GROUP_HEARTBEAT: i16 = 68;

fn judge_api(cluster: &Cluster) -> Option<Finding> {
    // Not asked through TLS or SASL: the client library does it there, without telling.
    let versions = cluster.api_versions.as_ref()?;
    let lacking: Vec<&str> = NEEDED
        .iter()
        .filter(|(request, version, _)| versions.get(request).is_none_or(|newest| newest < version))
        .map(|(_, _, what)| *what)
        .collect();
    (!lacking.is_empty()).then(|| {
        Finding::problem(
            CHECK,
            "kafka.brokers",
            format!("the broker lacks {}", lacking.join("; ")),
            "use Kafka 1.0 or newer, or a broker with its API",
        )
    })
}

fn judge_auto_creation(settings: &Settings) -> Option<Finding> {
    let on = settings
        .get("auto.create.topics.enable")
        .is_some_and(|value| value == "true");
    on.then(|| {
        Finding::warning(
            CHECK,
            "auto.create.topics.enable",
            "true: a mistyped name makes a topic, with the broker's own partition count and settings",
            "set it to false on the brokers; `tidings topics apply` makes what Tidings needs",
        )
    })
}

fn judge_group(config: &Config, cluster: &Cluster) -> Finding {
    match config.kafka.group_protocol {
        GroupProtocol::Classic => judge_session(config.kafka.session_timeout, &cluster.settings),
        GroupProtocol::Consumer => judge_consumer_protocol(cluster),
    }
}

fn judge_session(timeout: Duration, settings: &Settings) -> Finding {
    let bound = |key: &str| {
        settings
            .get(key)
            .and_then(|value| value.parse().ok())
            .map(Duration::from_millis)
    };
    let least = bound("group.min.session.timeout.ms").unwrap_or_default();
    let most = bound("group.max.session.timeout.ms").unwrap_or(Duration::MAX);
    if (least..=most).contains(&timeout) {
        return Finding::ok(GROUP, format!("classic, session {timeout:?}"));
    }
    Finding::problem(
        GROUP,
        "kafka.session_timeout",
        format!(
            "{timeout:?}, and the brokers take {least:?} to {most:?}: no dispatcher could join its group"
        ),
        "use a time between, or change group.min.session.timeout.ms or group.max.session.timeout.ms of the brokers",
    )
}

fn judge_consumer_protocol(cluster: &Cluster) -> Finding {
    let by_api = cluster
        .api_versions
        .as_ref()
        .map(|versions| versions.contains_key(&CONSUMER_GROUP_HEARTBEAT));
    let by_setting = cluster
        .settings
        .get("group.coordinator.rebalance.protocols")
        .map(|value| {
            value
                .split(',')
                .any(|protocol| protocol.trim() == "consumer")
        });
    match by_api.or(by_setting) {
        Some(true) => Finding::ok(GROUP, "consumer (KIP-848), which the brokers know"),
        Some(false) => Finding::problem(
            GROUP,
            "kafka.group_protocol",
            "\"consumer\", which the brokers do not know",
            "set \"classic\", or use Kafka 4.0 or newer with group.coordinator.rebalance.protocols containing consumer",
        ),
        None => Finding::warning(
            GROUP,
            "kafka.group_protocol",
            "\"consumer\"; the brokers do not show whether they know it",
            "let this user describe the cluster's settings, or use \"classic\"",
        ),
    }
}

#[cfg(test)]
mod tests;
