//! Posts beyond the first of a message, and which of them a fault excuses.

use std::collections::HashSet;

use crate::evidence::Faults;
use crate::report::{Counts, Findings};

use super::cases::{Attempt, Case, Cases};

pub(super) fn judge(
    cases: &Cases<'_>,
    faults: &Faults,
    counts: &mut Counts,
    findings: &mut Findings,
) {
    for case in &cases.all {
        let excuses = Excuses::of(case, faults);
        counts.in_flight_at_kill += excuses.in_flight.len() as u64;
        counts.unknown_answers += excuses.unknown.len() as u64;
        let extra = (case.posts().count() as u64).saturating_sub(1);
        counts.duplicated += extra;
        let unexplained = extra.saturating_sub(excuses.accepted());
        counts.unexplained_duplicates += unexplained;
        if extra > 0 {
            let kind = if unexplained > 0 {
                "unexplained_duplicates"
            } else {
                "duplicated"
            };
            findings.add(kind, || format!("{}: {}", case.label(), posts(case)));
        }
    }
}

/// The attempts of one message after which nobody could know whether it was posted.
struct Excuses<'c> {
    /// Of killed or fenced workers, without `sent` recorded (design §7, *K*).
    in_flight: Vec<&'c Attempt<'c>>,
    /// Others without a usable answer; empty unless these are allowed.
    unknown: Vec<&'c Attempt<'c>>,
}

impl<'c> Excuses<'c> {
    fn of(case: &'c Case<'c>, faults: &Faults) -> Self {
        let mut seen = HashSet::new();
        let mut excuses = Self {
            in_flight: Vec::new(),
            unknown: Vec::new(),
        };
        for attempt in &case.attempts {
            if !seen.insert(&attempt.id) {
                continue;
            }
            if was_in_flight(case, attempt, faults) {
                excuses.in_flight.push(attempt);
            } else if faults.unknown_allowance && attempt.call.answer.is_unknown() {
                excuses.unknown.push(attempt);
            }
        }
        excuses
    }

    /// Only what was accepted can have made a later post an extra one.
    fn accepted(&self) -> u64 {
        let all = self.in_flight.iter().chain(&self.unknown);
        all.filter(|attempt| attempt.call.accepted).count() as u64
    }
}

fn was_in_flight(case: &Case<'_>, attempt: &Attempt<'_>, faults: &Faults) -> bool {
    let maybe_posted = attempt.call.accepted || attempt.call.answer.never_arrived();
    let unrecorded = !case.recorded(&attempt.id);
    let killed = faults.killed.contains(&attempt.id.owner) && unrecorded;
    // A fenced worker lives on, and records its `sent` after another one has sent.
    let fenced =
        faults.fenced.contains(&attempt.id.owner) && (unrecorded || was_superseded(case, attempt));
    maybe_posted && (killed || fenced)
}

fn was_superseded(case: &Case<'_>, attempt: &Attempt<'_>) -> bool {
    case.attempts
        .iter()
        .any(|other| other.id.fence > attempt.id.fence)
}

fn posts(case: &Case<'_>) -> String {
    let words: Vec<String> = case
        .posts()
        .map(|post| {
            let recorded = if case.recorded(&post.id) {
                ", recorded as sent"
            } else {
                ""
            };
            format!(
                "call {} by {} fence {} attempt {} answered {:?}{recorded}",
                post.call.seq, post.id.owner, post.id.fence, post.id.attempt, post.call.answer
            )
        })
        .collect();
    words.join("; ")
}
