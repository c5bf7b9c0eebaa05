//! `[dispatcher.circuit]` and its neighbours: what a worker does about platforms, event types and targets that fail
//! (design §8).

use std::time::Duration;

use serde::Deserialize;

/// `[dispatcher.circuit]`: the circuit breaker of each account.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CircuitConfig {
    /// The newest outcomes that are looked at.
    pub window: usize,
    /// Outcomes that must have been seen before it may open.
    pub min_outcomes: usize,
    /// The share of transient and unknown outcomes at which it opens, above 0 and up to 1.
    pub share: f64,
    /// How long it stays open at first; twice as long after each failed probe.
    #[serde(with = "humantime_serde")]
    pub wait: Duration,
    /// The longest that it stays open before the next probe.
    #[serde(with = "humantime_serde")]
    pub wait_max: Duration,
    /// The most probes at once.
    pub probes: usize,
    /// How long a step lasts after which twice as many calls may be out, once it has closed.
    #[serde(with = "humantime_serde")]
    pub ramp_step: Duration,
}

/// `[dispatcher.dead_letter_limit]`: when an event type's would-be dead letters are held back.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeadLetterLimitConfig {
    /// The newest settlements of a type that are looked at.
    pub window: usize,
    /// Settlements that must have been seen before anything is held back.
    pub min_outcomes: usize,
    /// The share of them for one cause at which they are held back, above 0 and up to 1.
    pub share: f64,
    /// How long until one of the messages is tried again; twice as long after each that fails.
    #[serde(with = "humantime_serde")]
    pub wait: Duration,
    /// The longest of these waits.
    #[serde(with = "humantime_serde")]
    pub wait_max: Duration,
}

/// `[dispatcher.targets]`: what is known of dead and migrated targets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetsConfig {
    /// The most targets that one worker knows.
    pub cache_entries: usize,
    /// How often a worker looks for changes, at most 1 s.
    #[serde(with = "humantime_serde")]
    pub poll: Duration,
    /// How long after its death a target is probed that may come back by itself.
    #[serde(with = "humantime_serde")]
    pub first_probe: Duration,
    /// The longest wait between two probes; it doubles from the first.
    #[serde(with = "humantime_serde")]
    pub longest_probe_wait: Duration,
    /// Whether those are probed too that do not come back by themselves (blocked, kicked, not found).
    pub probe_all: bool,
}

/// `[dispatcher.broken_account]`: when an account stops because its credential is refused.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrokenAccountConfig {
    /// Refusals in a row with which it stops.
    pub refusals: u32,
    /// How long it rests after each of them.
    #[serde(with = "humantime_serde")]
    pub rest: Duration,
    /// How often a message looks whether it is accepted again, once it has stopped.
    #[serde(with = "humantime_serde")]
    pub look: Duration,
}
