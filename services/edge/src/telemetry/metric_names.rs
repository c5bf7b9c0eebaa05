//! The metrics' names, as operators graph them (reference/conventions.md, "Metrics"). Ids are never labels.

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

/// Gauge: rows in the outbox.
pub const OUTBOX_PENDING: &str = "tidings_outbox_pending";
/// Gauge: age of the oldest row in the outbox, in seconds.
pub const OUTBOX_OLDEST_AGE_SECONDS: &str = "tidings_outbox_oldest_age_seconds";
/// Counter `{topic}`: records acknowledged by Kafka.
pub const RELAY_PUBLISHED_TOTAL: &str = "tidings_relay_published_total";
/// Counter `{reason}`: rows that cannot be encoded.
pub const RELAY_REJECTED_TOTAL: &str = "tidings_relay_rejected_total";
/// Histogram: from a row's `recorded_at` to its acknowledgement, in seconds.
pub const RELAY_LATENCY_SECONDS: &str = "tidings_relay_latency_seconds";
/// Counter: reads of the outbox that started again at an earlier id, for late commits.
pub const RELAY_REWINDS_TOTAL: &str = "tidings_relay_rewinds_total";
/// Counter: times a shard dropped its producer and read again from the table.
pub const RELAY_RESTARTS_TOTAL: &str = "tidings_relay_restarts_total";
/// Gauge: shards this relay owns.
pub const RELAY_SHARDS: &str = "tidings_relay_shards";
/// Counter `{platform,account,lane,event_type,outcome}`: settled messages and suppressed duplicates.
pub const DELIVERIES_TOTAL: &str = "tidings_deliveries_total";
/// Counter `{platform,account,verdict}`: calls of a platform.
pub const ATTEMPTS_TOTAL: &str = "tidings_attempts_total";
/// Counter `{outcome}`: fetches of claim checks' contents; `fetched`, `cached`, or the word of what failed.
pub const CONTENT_FETCHES_TOTAL: &str = "tidings_content_fetches_total";
/// Histogram `{platform,account}`: one call of a platform, in seconds.
pub const ATTEMPT_DURATION_SECONDS: &str = "tidings_attempt_duration_seconds";
/// Histogram `{platform,lane}`: from `recorded_at` to the platform's acceptance, in seconds.
pub const DELIVERY_LATENCY_SECONDS: &str = "tidings_delivery_latency_seconds";
/// Gauge `{platform,account}`: calls in flight.
pub const IN_FLIGHT: &str = "tidings_in_flight";
/// Gauge: records between intake and settlement.
pub const QUEUE_RECORDS: &str = "tidings_queue_records";
/// Gauge: bytes of them.
pub const QUEUE_BYTES: &str = "tidings_queue_bytes";
/// Gauge: partitions that are paused because a bound is reached.
pub const PAUSED_PARTITIONS: &str = "tidings_paused_partitions";
/// Gauge: chats whose messages wait in Postgres, of the partitions that the worker owns.
pub const DEFERRED_CHATS: &str = "tidings_deferred_chats";
/// Gauge: messages that wait in Postgres, of the partitions that the worker owns.
pub const DEFERRED_MESSAGES: &str = "tidings_deferred_messages";
/// Counter `{platform,lane,step}`: messages that were written to Postgres, read back from it, and removed from it.
pub const DEFERRED_MESSAGES_TOTAL: &str = "tidings_deferred_messages_total";
/// Gauge `{platform,lane}`: age of the oldest unsettled record, in seconds.
pub const LANE_OLDEST_AGE_SECONDS: &str = "tidings_lane_oldest_age_seconds";
/// Histogram `{scope}`: wait for a permit, in seconds.
pub const LIMIT_WAIT_SECONDS: &str = "tidings_limit_wait_seconds";
/// Gauge `{scope}`: permits that could be taken now.
pub const LIMIT_TOKENS: &str = "tidings_limit_tokens";
/// Gauge `{scope}`: what is left of a penalty, in seconds.
pub const LIMIT_PENALTY_SECONDS: &str = "tidings_limit_penalty_seconds";
/// Gauge `{account}`: 1 while its credential is refused.
pub const ACCOUNT_STOPPED: &str = "tidings_account_stopped";
/// Gauge: dead and migrated targets that a worker knows.
pub const TARGETS: &str = "tidings_targets";
/// Gauge `{event_type}`: 1 while would-be dead letters are held back.
pub const DEAD_LETTERS_HELD: &str = "tidings_dead_letters_held";
/// Gauge `{account}`: 0 closed, 1 half open, 2 open.
pub const CIRCUIT_STATE: &str = "tidings_circuit_state";
/// Gauge `{platform,lane,category,event_type,state}`: dead letters in the index.
pub const DEAD_LETTERS: &str = "tidings_dead_letters";
/// Counter: times a worker found that it no longer owns what it worked on.
pub const FENCED_TOTAL: &str = "tidings_fenced_total";
/// Gauge `{platform,lane}`: how much of its lane's retention the oldest unread record of a worker's partitions has used up, 0 to 1.
pub const LANE_LAG_OF_RETENTION: &str = "tidings_lane_lag_of_retention";
/// Gauge: workers that the load asks for, over all; every worker tells the same but for the length of its own calls.
pub const REQUIRED_CONSUMERS: &str = "tidings_required_consumers";
/// Histogram `{statement}`: one statement in Tidings' own database, in seconds.
pub const STATE_STATEMENT_SECONDS: &str = "tidings_state_statement_seconds";
/// Histogram: one message's processing, by OpenTelemetry's name, in seconds.
pub const MESSAGING_PROCESS_DURATION_SECONDS: &str = "messaging_process_duration_seconds";
/// Histogram: one HTTP request to a platform, by OpenTelemetry's name, in seconds.
pub const HTTP_CLIENT_REQUEST_DURATION_SECONDS: &str = "http_client_request_duration_seconds";
/// Gauge `{consumergroup,topic,partition}`: records not yet committed, by the name operators already graph.
pub const CONSUMERGROUP_LAG: &str = "kafka_consumergroup_lag";
/// Counter: batches of spans that the collector did not take.
pub const TRACE_EXPORT_FAILURES_TOTAL: &str = "tidings_trace_export_failures_total";
/// Counter `{reason}`: spans that were lost, because the queue was full or with a failed batch.
pub const TRACE_SPANS_DROPPED_TOTAL: &str = "tidings_trace_spans_dropped_total";

/// Counters and what `# HELP` says of them.
const COUNTERS: &[(&str, &str)] = &[
    (RELAY_PUBLISHED_TOTAL, "Records acknowledged by Kafka"),
    (RELAY_REJECTED_TOTAL, "Outbox rows that cannot be encoded"),
    (
        RELAY_REWINDS_TOTAL,
        "Outbox reads that started again at an earlier id",
    ),
    (
        RELAY_RESTARTS_TOTAL,
        "Shards that dropped their producer and read again",
    ),
    (
        DELIVERIES_TOTAL,
        "Settled messages and suppressed duplicates",
    ),
    (ATTEMPTS_TOTAL, "Calls of a platform, by verdict"),
    (
        CONTENT_FETCHES_TOTAL,
        "Fetches of claim checks' contents, by outcome",
    ),
    (
        DEFERRED_MESSAGES_TOTAL,
        "Messages of deferred chats: written, loaded, removed",
    ),
    (
        FENCED_TOTAL,
        "Work abandoned because another worker owns it",
    ),
    (
        TRACE_EXPORT_FAILURES_TOTAL,
        "Batches of spans that the collector did not take",
    ),
    (
        TRACE_SPANS_DROPPED_TOTAL,
        "Spans lost: queue full, or their batch failed",
    ),
];

/// Gauges and what `# HELP` says of them.
const GAUGES: &[(&str, &str)] = &[
    (OUTBOX_PENDING, "Rows in the outbox"),
    (OUTBOX_OLDEST_AGE_SECONDS, "Age of the oldest outbox row"),
    (RELAY_SHARDS, "Outbox shards this relay owns"),
    (IN_FLIGHT, "Calls of a platform in flight"),
    (QUEUE_RECORDS, "Records between intake and settlement"),
    (
        QUEUE_BYTES,
        "Bytes of records between intake and settlement",
    ),
    (
        PAUSED_PARTITIONS,
        "Partitions paused because a bound is reached",
    ),
    (DEFERRED_CHATS, "Chats whose messages wait in Postgres"),
    (DEFERRED_MESSAGES, "Messages that wait in Postgres"),
    (
        LANE_OLDEST_AGE_SECONDS,
        "Age of a lane's oldest unsettled record",
    ),
    (
        LANE_LAG_OF_RETENTION,
        "Age of a lane's oldest unread record as a part of its retention",
    ),
    (LIMIT_TOKENS, "Permits that could be taken now"),
    (LIMIT_PENALTY_SECONDS, "What is left of a penalty"),
    (
        CIRCUIT_STATE,
        "Circuit of an account: 0 closed, 1 half open, 2 open",
    ),
    (DEAD_LETTERS, "Dead letters in the index"),
    (
        ACCOUNT_STOPPED,
        "1 while an account is stopped because its credential is refused",
    ),
    (TARGETS, "Dead and migrated targets that the worker knows"),
    (
        DEAD_LETTERS_HELD,
        "1 while an event type's would-be dead letters are held back",
    ),
    (REQUIRED_CONSUMERS, "Workers that the load asks for"),
    (CONSUMERGROUP_LAG, "Records not yet committed"),
];

/// Histograms, all in seconds, and what `# HELP` says of them.
const HISTOGRAMS: &[(&str, &str)] = &[
    (
        RELAY_LATENCY_SECONDS,
        "From recorded_at to Kafka's acknowledgement",
    ),
    (ATTEMPT_DURATION_SECONDS, "One call of a platform"),
    (
        DELIVERY_LATENCY_SECONDS,
        "From recorded_at to the platform's acceptance",
    ),
    (LIMIT_WAIT_SECONDS, "Wait for a permit"),
    (
        STATE_STATEMENT_SECONDS,
        "One statement in Tidings' own database",
    ),
    (
        MESSAGING_PROCESS_DURATION_SECONDS,
        "Processing of one message",
    ),
    (
        HTTP_CLIENT_REQUEST_DURATION_SECONDS,
        "One HTTP request to a platform",
    ),
];

/// Tells the installed recorder what each metric means.
pub(super) fn describe_all() {
    for &(name, help) in COUNTERS {
        describe_counter!(name, help);
    }
    for &(name, help) in GAUGES {
        describe_gauge!(name, help);
    }
    for &(name, help) in HISTOGRAMS {
        describe_histogram!(name, Unit::Seconds, help);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_the_conventions() {
        for (name, _) in COUNTERS {
            assert!(name.ends_with("_total"), "{name}");
        }
        for (name, _) in HISTOGRAMS {
            assert!(name.ends_with("_seconds"), "{name}");
        }
        let all = COUNTERS.iter().chain(GAUGES).chain(HISTOGRAMS);
        for (name, help) in all {
            assert!(
                [
                    "tidings_",
                    "messaging_",
                    "http_client_",
                    "kafka_consumergroup_"
                ]
                .iter()
                .any(|prefix| name.starts_with(prefix)),
                "{name}"
            );
            assert!(!help.is_empty(), "{name}");
        }
    }
}
