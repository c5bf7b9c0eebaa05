//! The rules of `[dispatcher.circuit]` and its neighbours.

use std::time::Duration;

use super::{Problems, human};
use crate::config::{BrokenAccountConfig, CircuitConfig, DeadLetterLimitConfig, TargetsConfig};

/// The largest window of outcomes: each outcome looks at all of it.
const MAX_WINDOW: usize = 10_000;

pub(super) fn circuit(circuit: &CircuitConfig, problems: &mut Problems) {
    window(
        "dispatcher.circuit",
        (circuit.window, circuit.min_outcomes, circuit.share),
        problems,
    );
    problems.positive_time("dispatcher.circuit.wait", circuit.wait);
    problems.unless(
        circuit.wait_max >= circuit.wait,
        "dispatcher.circuit.wait_max",
        human(circuit.wait_max),
        "must be at least dispatcher.circuit.wait",
    );
    problems.positive_size("dispatcher.circuit.probes", circuit.probes);
    problems.positive_time("dispatcher.circuit.ramp_step", circuit.ramp_step);
}

pub(super) fn dead_letter_limit(limit: &DeadLetterLimitConfig, problems: &mut Problems) {
    window(
        "dispatcher.dead_letter_limit",
        (limit.window, limit.min_outcomes, limit.share),
        problems,
    );
    problems.positive_time("dispatcher.dead_letter_limit.wait", limit.wait);
    problems.unless(
        limit.wait_max >= limit.wait,
        "dispatcher.dead_letter_limit.wait_max",
        human(limit.wait_max),
        "must be at least dispatcher.dead_letter_limit.wait",
    );
}

pub(super) fn broken_account(broken: &BrokenAccountConfig, problems: &mut Problems) {
    problems.positive("dispatcher.broken_account.refusals", broken.refusals);
    problems.positive_time("dispatcher.broken_account.rest", broken.rest);
    problems.unless(
        broken.look >= broken.rest,
        "dispatcher.broken_account.look",
        human(broken.look),
        "must be at least dispatcher.broken_account.rest",
    );
}

pub(super) fn targets(targets: &TargetsConfig, problems: &mut Problems) {
    problems.unless(
        (1..=10_000_000).contains(&targets.cache_entries),
        "dispatcher.targets.cache_entries",
        targets.cache_entries,
        "use 1 to 10000000",
    );
    problems.unless(
        !targets.poll.is_zero() && targets.poll <= Duration::from_secs(1),
        "dispatcher.targets.poll",
        human(targets.poll),
        "use more than nothing, up to 1s: a change is to be known everywhere within 2 s",
    );
    problems.positive_time("dispatcher.targets.first_probe", targets.first_probe);
    problems.unless(
        targets.longest_probe_wait >= targets.first_probe,
        "dispatcher.targets.longest_probe_wait",
        human(targets.longest_probe_wait),
        "must be at least dispatcher.targets.first_probe",
    );
}

fn window(section: &str, (window, least, share): (usize, usize, f64), problems: &mut Problems) {
    problems.unless(
        (1..=MAX_WINDOW).contains(&window),
        &format!("{section}.window"),
        window,
        format!("use 1 to {MAX_WINDOW}"),
    );
    problems.unless(
        (1..=window).contains(&least),
        &format!("{section}.min_outcomes"),
        least,
        format!("use 1 to {section}.window ({window} now)"),
    );
    problems.unless(
        share > 0.0 && share <= 1.0,
        &format!("{section}.share"),
        share,
        "use more than 0, up to 1",
    );
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    /// Each of these alone is one problem, of that key.
    #[test]
    fn values_out_of_range_are_named() {
        type Change = fn(&mut Config);
        let cases: [(&str, Change); 13] = [
            ("circuit.window", |c| c.dispatcher.circuit.window = 10_001),
            ("circuit.min_outcomes", |c| {
                c.dispatcher.circuit.min_outcomes = 201;
            }),
            ("circuit.share", |c| c.dispatcher.circuit.share = f64::NAN),
            ("circuit.wait_max", |c| {
                c.dispatcher.circuit.wait *= 20;
            }),
            ("circuit.probes", |c| c.dispatcher.circuit.probes = 0),
            ("circuit.ramp_step", |c| {
                c.dispatcher.circuit.ramp_step *= 0;
            }),
            ("dead_letter_limit.share", |c| {
                c.dispatcher.dead_letter_limit.share = 0.0;
            }),
            ("dead_letter_limit.wait_max", |c| {
                c.dispatcher.dead_letter_limit.wait_max /= 100;
            }),
            ("broken_account.refusals", |c| {
                c.dispatcher.broken_account.refusals = 0;
            }),
            ("broken_account.look", |c| {
                c.dispatcher.broken_account.look /= 100;
            }),
            ("targets.cache_entries", |c| {
                c.dispatcher.targets.cache_entries = 0;
            }),
            ("targets.poll", |c| c.dispatcher.targets.poll *= 2),
            ("targets.longest_probe_wait", |c| {
                c.dispatcher.targets.longest_probe_wait /= 100;
            }),
        ];
        for (key, change) in cases {
            let mut config = Config::defaults().unwrap();
            change(&mut config);
            let found = config.validate().unwrap_err();
            let keys: Vec<&str> = found.iter().map(|problem| problem.key.as_str()).collect();
            assert_eq!(keys, [format!("dispatcher.{key}")]);
        }
    }
}
