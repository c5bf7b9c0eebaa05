//! The rules of `[relay.tuning]`.

use std::time::Duration;

use super::{Problems, human};
use crate::config::RelayTuning;

pub(super) fn relay(tuning: &RelayTuning, problems: &mut Problems) {
    times(tuning, problems);
    problems.unless(
        tuning.idle_session_timeout >= Duration::from_secs(1)
            && tuning.idle_session_timeout > tuning.membership_interval.saturating_mul(2),
        "relay.tuning.idle_session_timeout",
        human(tuning.idle_session_timeout),
        "use at least 1s and more than 2 x relay.tuning.membership_interval, or Postgres ends sessions that are well",
    );
    problems.unless(
        tuning.backoff_max >= tuning.backoff_min,
        "relay.tuning.backoff_max",
        human(tuning.backoff_max),
        "must be at least relay.tuning.backoff_min",
    );
    problems.positive_size(
        "relay.tuning.max_tracked_transactions",
        tuning.max_tracked_transactions,
    );
    problems.unless(
        (1..=10_000).contains(&tuning.feed_rows),
        "relay.tuning.feed_rows",
        tuning.feed_rows,
        "use 1 to 10000",
    );
}

fn times(tuning: &RelayTuning, problems: &mut Problems) {
    for (key, time) in [
        ("membership_interval", tuning.membership_interval),
        ("statement_deadline", tuning.statement_deadline),
        ("delete_interval", tuning.delete_interval),
        ("backoff_min", tuning.backoff_min),
        ("close_deadline", tuning.close_deadline),
        ("sample_interval", tuning.sample_interval),
    ] {
        problems.positive_time(&format!("relay.tuning.{key}"), time);
    }
}
