//! The rules of `[relay]` and `[dispatcher]`.

use std::time::Duration;

use super::{Problems, failure, human, is_name, tuning};
use crate::config::{Config, DispatcherConfig, RelayConfig};

pub(super) fn relay(config: &Config, problems: &mut Problems) {
    let relay = &config.relay;
    relay_bounds(relay, problems);
    let room = config.kafka.max_message_bytes as usize;
    problems.unless(
        relay.payload_bytes > 0 && relay.payload_bytes <= room.saturating_sub(16 * 1024),
        "relay.payload_bytes",
        relay.payload_bytes,
        format!("use 1 to kafka.max_message_bytes - 16 KiB for the envelope ({room} now)"),
    );
    for stream in &relay.streams {
        problems.unless(
            is_name(stream, 100),
            "relay.streams",
            stream,
            "use 1 to 100 letters, digits, '-', '_' or '.'",
        );
    }
}

fn relay_bounds(relay: &RelayConfig, problems: &mut Problems) {
    problems.unless(
        (1..=100_000).contains(&relay.batch_rows),
        "relay.batch_rows",
        relay.batch_rows,
        "use 1 to 100000",
    );
    problems.positive_size("relay.batch_bytes", relay.batch_bytes);
    problems.unless(
        relay.max_in_flight_rows >= relay.batch_rows,
        "relay.max_in_flight_rows",
        relay.max_in_flight_rows,
        "must be at least relay.batch_rows",
    );
    problems.positive_time("relay.poll_min", relay.poll_min);
    problems.unless(
        relay.poll_max >= relay.poll_min,
        "relay.poll_max",
        human(relay.poll_max),
        "must be at least relay.poll_min",
    );
    problems.positive_time("relay.safety_pass_min", relay.safety_pass_min);
    problems.positive_time("relay.produce_deadline", relay.produce_deadline);
    problems.positive_time("relay.drain_deadline", relay.drain_deadline);
    problems.positive_time("relay.progress_deadline", relay.progress_deadline);
    tuning::relay(&relay.tuning, problems);
}

pub(super) fn dispatcher(config: &Config, problems: &mut Problems) {
    dispatcher_times(&config.dispatcher, problems);
    dispatcher_bounds(&config.dispatcher, problems);
    deferral(&config.dispatcher, problems);
    retention(config, problems);
    retry(&config.dispatcher, problems);
    failure::circuit(&config.dispatcher.circuit, problems);
    failure::dead_letter_limit(&config.dispatcher.dead_letter_limit, problems);
    failure::broken_account(&config.dispatcher.broken_account, problems);
    failure::targets(&config.dispatcher.targets, problems);
}

fn dispatcher_times(dispatcher: &DispatcherConfig, problems: &mut Problems) {
    problems.positive_time("dispatcher.call_deadline", dispatcher.call_deadline);
    problems.positive_time("dispatcher.lease_margin", dispatcher.lease_margin);
    let least = dispatcher
        .call_deadline
        .saturating_add(dispatcher.lease_margin);
    problems.unless(
        dispatcher.lease > least,
        "dispatcher.lease",
        human(dispatcher.lease),
        format!(
            "must be longer than dispatcher.call_deadline + dispatcher.lease_margin ({}), or no call could start",
            human(least)
        ),
    );
    problems.positive_time("dispatcher.drain_deadline", dispatcher.drain_deadline);
    problems.unless(
        dispatcher.progress_deadline > dispatcher.call_deadline,
        "dispatcher.progress_deadline",
        human(dispatcher.progress_deadline),
        "must be longer than dispatcher.call_deadline, or one slow call looks like a stuck worker",
    );
    problems.positive_time("dispatcher.commit_interval", dispatcher.commit_interval);
    problems.positive_time("dispatcher.backlog_after", dispatcher.backlog_after);
    problems.positive_time("dispatcher.storage_retry", dispatcher.storage_retry);
    problems.unless(
        dispatcher.statistics_interval >= Duration::from_millis(100)
            && dispatcher.statistics_interval <= Duration::from_secs(3_600),
        "dispatcher.statistics_interval",
        human(dispatcher.statistics_interval),
        "use 100ms to 1h",
    );
}

fn dispatcher_bounds(dispatcher: &DispatcherConfig, problems: &mut Problems) {
    problems.unless(
        is_name(&dispatcher.group, 200),
        "dispatcher.group",
        &dispatcher.group,
        "use 1 to 200 letters, digits, '-', '_' or '.'",
    );
    problems.unless(
        !dispatcher.platforms.is_empty(),
        "dispatcher.platforms",
        "[]",
        "name at least one platform",
    );
    for platform in &dispatcher.platforms {
        problems.unless(
            platform == "telegram",
            "dispatcher.platforms",
            platform,
            "only telegram can be sent to so far",
        );
    }
    for (key, value) in [
        ("dispatcher.max_records", dispatcher.max_records),
        ("dispatcher.max_bytes", dispatcher.max_bytes),
        (
            "dispatcher.max_records_per_chat",
            dispatcher.max_records_per_chat,
        ),
        (
            "dispatcher.max_in_flight_calls",
            dispatcher.max_in_flight_calls,
        ),
        (
            "dispatcher.max_in_flight_calls_per_account",
            dispatcher.max_in_flight_calls_per_account,
        ),
        (
            "dispatcher.database_connections",
            dispatcher.database_connections,
        ),
        ("dispatcher.claim_batch", dispatcher.claim_batch),
    ] {
        problems.positive_size(key, value);
    }
}

/// The most that one value of Postgres holds.
const GIB: usize = 1 << 30;

/// Design §8. A worker keeps its house four times a second, so that it polls no more often.
fn deferral(dispatcher: &DispatcherConfig, problems: &mut Problems) {
    problems.positive_time("dispatcher.hold_in_memory", dispatcher.hold_in_memory);
    problems.unless(
        dispatcher.deferred_poll >= Duration::from_millis(250)
            && dispatcher.deferred_poll <= Duration::from_secs(3_600),
        "dispatcher.deferred_poll",
        human(dispatcher.deferred_poll),
        "use 250ms to 1h",
    );
    for (key, value, most) in [
        (
            "dispatcher.deferred_load_batch",
            dispatcher.deferred_load_batch,
            10_000,
        ),
        ("dispatcher.deferred_loads", dispatcher.deferred_loads, 100),
        (
            "dispatcher.deferred_batch_bytes",
            dispatcher.deferred_batch_bytes,
            GIB,
        ),
        (
            "dispatcher.max_deferred_chats",
            dispatcher.max_deferred_chats,
            10_000_000,
        ),
    ] {
        let fits = (1..=most).contains(&value);
        problems.unless(fits, key, value, format!("use 1 to {most}"));
    }
}

const SECONDS_PER_DAY: u64 = 86_400;

/// Claims outlive the topics by a day (design §7), or a record read late would be sent again.
fn retention(config: &Config, problems: &mut Problems) {
    let longest = config
        .kafka
        .lane_retention
        .max(config.kafka.dead_letter_retention);
    let least_days = longest.as_secs().div_ceil(SECONDS_PER_DAY) + 1;
    let days = config.dispatcher.dedupe_retention_days;
    problems.unless(
        u64::from(days) >= least_days && days <= 3_650,
        "dispatcher.dedupe_retention_days",
        days,
        format!(
            "use {least_days} (the longest retention of lanes and dead letters + 1 day) to 3650"
        ),
    );
}

fn retry(dispatcher: &DispatcherConfig, problems: &mut Problems) {
    let standard = &dispatcher.retry.standard;
    problems.positive_time("dispatcher.retry.standard.base", standard.base);
    problems.unless(
        standard.cap >= standard.base,
        "dispatcher.retry.standard.cap",
        human(standard.cap),
        "must be at least dispatcher.retry.standard.base",
    );
    problems.unless(
        (0.0..1.0).contains(&standard.jitter),
        "dispatcher.retry.standard.jitter",
        standard.jitter,
        "use 0 or more, below 1",
    );
    problems.positive("dispatcher.retry.standard.attempts", standard.attempts);
    let interactive = &dispatcher.retry.interactive;
    problems.unless(
        interactive.delays.len() <= 20,
        "dispatcher.retry.interactive.delays",
        interactive.delays.len(),
        "use at most 20 waits",
    );
    for (key, age) in [
        ("dispatcher.retry.standard.max_age", standard.max_age),
        ("dispatcher.retry.interactive.max_age", interactive.max_age),
    ] {
        problems.positive_time(key, age);
    }
}
