//! The rules of `[limits]`.

use std::time::Duration;

use super::{Problems, human};
use crate::config::LimitsConfig;

pub(super) fn limits(limits: &LimitsConfig, problems: &mut Problems) {
    for (key, time) in [
        ("append_timeout", limits.append_timeout),
        ("fetch_wait", limits.fetch_wait),
        ("backoff_min", limits.backoff_min),
        ("close_deadline", limits.close_deadline),
    ] {
        problems.positive_time(&format!("limits.{key}"), time);
    }
    problems.unless(
        limits.append_timeout >= Duration::from_secs(1),
        "limits.append_timeout",
        human(limits.append_timeout),
        "use at least 1s: a broker's restart must not lose every append",
    );
    problems.unless(
        limits.stall_deadline > limits.append_timeout,
        "limits.stall_deadline",
        human(limits.stall_deadline),
        "must be longer than limits.append_timeout, so that an append has failed by itself before the clients are made anew",
    );
    problems.unless(
        limits.backoff_max >= limits.backoff_min,
        "limits.backoff_max",
        human(limits.backoff_max),
        "must be at least limits.backoff_min",
    );
    problems.positive_size("limits.max_pending_penalties", limits.max_pending_penalties);
}
