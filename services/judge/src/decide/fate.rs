//! What became of each committed message.

use crate::evidence::{Evidence, Expectation, State};
use crate::report::{Counts, Findings};

use super::cases::{Case, Cases};

/// Where a message ended, or is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Settled(State),
    RejectedByRelay,
    Unresolved(&'static str),
    /// A person saw it, and Tidings knows nothing of it.
    PostedOnly,
    Lost,
}

pub(super) fn judge(
    cases: &Cases<'_>,
    evidence: &Evidence,
    counts: &mut Counts,
    findings: &mut Findings,
) {
    for case in &cases.all {
        let fate = fate(case, evidence);
        let posted = case.posts().next().is_some();
        counts.posted += u64::from(posted);
        tally(fate, counts);
        report_end(case, fate, counts, findings);
        compare_with_posts(case, fate, posted, counts, findings);
        compare_with_expectation(case, fate, posted, counts, findings);
    }
}

fn fate(case: &Case<'_>, evidence: &Evidence) -> Fate {
    if let Some(state) = case.settlement() {
        return Fate::Settled(state);
    }
    let id = &case.row.message_id;
    let unread = || {
        evidence
            .kafka
            .as_ref()
            .is_some_and(|k| k.unread.contains(id))
    };
    if evidence.rejected_by_relay.contains_key(id) {
        Fate::RejectedByRelay
    } else if evidence.deferred.contains(id) {
        Fate::Unresolved("deferred")
    } else if !case.claims.is_empty() {
        Fate::Unresolved("claimed")
    } else if evidence.held.contains(id) {
        Fate::Unresolved("held in outbox_held")
    } else if evidence.outbox.contains(id) {
        Fate::Unresolved("in the outbox")
    } else if unread() {
        Fate::Unresolved("in a lane")
    } else if case.posts().next().is_some() {
        Fate::PostedOnly
    } else {
        Fate::Lost
    }
}

fn tally(fate: Fate, counts: &mut Counts) {
    let counter = match fate {
        Fate::Settled(State::Delivered) => &mut counts.delivered,
        Fate::Settled(State::Undeliverable) => &mut counts.undeliverable,
        Fate::Settled(State::Rejected) => &mut counts.rejected,
        Fate::Settled(State::Expired) => &mut counts.expired,
        Fate::Settled(State::DeadLettered) => &mut counts.dead_lettered,
        Fate::Settled(State::Parked) => &mut counts.parked,
        Fate::Settled(State::Discarded) => &mut counts.discarded,
        Fate::Settled(State::Claimed | State::Started) | Fate::Unresolved(_) => {
            &mut counts.unresolved
        }
        Fate::RejectedByRelay => {
            counts.rejected_by_relay += 1;
            &mut counts.rejected
        }
        Fate::PostedOnly => return,
        Fate::Lost => &mut counts.lost,
    };
    *counter += 1;
}

fn report_end(case: &Case<'_>, fate: Fate, counts: &mut Counts, findings: &mut Findings) {
    match fate {
        Fate::Lost => findings.add("lost", || case.label()),
        Fate::Unresolved(place) => {
            findings.add("unresolved", || format!("{}: {place}", case.label()));
        }
        Fate::Settled(State::Delivered) | Fate::RejectedByRelay | Fate::PostedOnly => {}
        Fate::Settled(_) if case.row.expect == Expectation::Posted => {
            counts.given_up += 1;
            findings.add("given_up", || {
                format!("{}: {}", case.label(), reasons(case))
            });
        }
        Fate::Settled(_) => {}
    }
}

fn compare_with_posts(
    case: &Case<'_>,
    fate: Fate,
    posted: bool,
    counts: &mut Counts,
    findings: &mut Findings,
) {
    if fate == Fate::Settled(State::Delivered) && !posted {
        counts.settled_without_post += 1;
        findings.add("settled_without_post", || case.label());
    }
    let open = matches!(fate, Fate::PostedOnly | Fate::Unresolved(_));
    if open && posted {
        counts.posted_without_settlement += 1;
        findings.add("posted_without_settlement", || case.label());
    }
}

fn compare_with_expectation(
    case: &Case<'_>,
    fate: Fate,
    posted: bool,
    counts: &mut Counts,
    findings: &mut Findings,
) {
    let what = match (case.row.expect, fate) {
        (Expectation::Posted, Fate::RejectedByRelay) => "valid, but the relay rejected it",
        (Expectation::Rejected, _) if posted => "invalid, but posted",
        (Expectation::Rejected, Fate::Settled(State::Delivered)) => "invalid, but delivered",
        (Expectation::Posted | Expectation::Rejected, _) => return,
    };
    counts.expectation_broken += 1;
    findings.add("expectation_broken", || format!("{}: {what}", case.label()));
}

fn reasons(case: &Case<'_>) -> String {
    let words: Vec<String> = case
        .claims
        .iter()
        .map(|claim| {
            let reason = claim.reason.as_deref().unwrap_or("no reason recorded");
            format!("{:?}, {reason}", claim.state)
        })
        .collect();
    words.join("; ")
}
