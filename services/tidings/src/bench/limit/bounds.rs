//! What was not kept.

use super::figures::Figures;
use super::options::Chaos;
use super::plan::Plan;

/// The least share of its limit that an account uses while one of its chats is held.
const OTHERS_SHARE: f64 = 0.9;

/// The longest that what was held may take to go on after its penalty.
const RESUME_MS: f64 = 3_000.0;

/// The promises that were not kept, each with what was seen.
pub(super) fn broken(figures: &Figures, plan: &Plan) -> Vec<String> {
    let bounds = plan.bounds;
    let mut broken = Vec::new();
    if figures.over_limit > 0 && !bounds.over_limit_is_shown {
        broken.push(format!("over_limit {} > 0", figures.over_limit));
    }
    if figures.in_penalty_calls > 0 {
        broken.push(format!("in_penalty_calls {} > 0", figures.in_penalty_calls));
    }
    if figures.accepted == 0 && plan.chaos != Some(Chaos::LongPenalty) {
        broken.push("nothing was accepted".into());
    }
    let least = |name, seen: Option<f64>, bound: Option<f64>| breach(name, seen, bound, true);
    let most = |name, seen: Option<f64>, bound: Option<f64>| breach(name, seen, bound, false);
    broken.extend(least("used_share", figures.used_share, bounds.used_share));
    broken.extend(most(
        "lone_wait_p50_ms",
        figures.lone_wait_p50_ms,
        bounds.lone_wait_p50_ms,
    ));
    broken.extend(most(
        "high_wait_p99_ms",
        figures.high_wait_p99_ms,
        bounds.high_wait_p99_ms,
    ));
    broken.extend(most(
        "records_per_message",
        figures.records_per_message,
        bounds.records_per_message,
    ));
    broken.extend(least(
        "group_share",
        figures.group_share,
        bounds.group_share,
    ));
    broken.extend(most(
        "normal_pause_ms",
        figures.normal_pause_ms,
        bounds.normal_pause_ms,
    ));
    broken.extend(broken_around_penalty(figures, plan));
    broken
}

fn broken_around_penalty(figures: &Figures, plan: &Plan) -> Vec<String> {
    let held = figures.held.as_ref();
    let (share, resumed) = (
        held.map(|held| held.share_meanwhile),
        held.and_then(|held| held.resumed_after_ms),
    );
    let resumes = || breach("resumed_after_ms", resumed, Some(RESUME_MS), false);
    match plan.chaos {
        Some(Chaos::Penalty) => {
            let others = breach("share_in_penalty", share, Some(OTHERS_SHARE), true);
            others.into_iter().chain(resumes()).collect()
        }
        Some(Chaos::AccountPenalty) => {
            let none = breach("share_in_penalty", share, Some(0.0), false);
            none.into_iter().chain(resumes()).collect()
        }
        Some(Chaos::LongPenalty) => breach("share_in_penalty", share, Some(0.0), false)
            .into_iter()
            .collect(),
        Some(
            Chaos::Kill
            | Chaos::RestartAll
            | Chaos::Clock
            | Chaos::Truncate
            | Chaos::Delete
            | Chaos::Broker,
        )
        | None => Vec::new(),
    }
}

/// What is missing breaks a bound as well.
fn breach(name: &str, seen: Option<f64>, bound: Option<f64>, at_least: bool) -> Option<String> {
    let bound = bound?;
    match seen {
        None => Some(format!("{name} was not seen")),
        Some(seen) if at_least && seen < bound => Some(format!("{name} {seen:.4} < {bound}")),
        Some(seen) if !at_least && seen > bound => Some(format!("{name} {seen:.4} > {bound}")),
        Some(_) => None,
    }
}
