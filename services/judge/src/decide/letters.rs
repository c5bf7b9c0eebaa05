//! Whether what was given up really lies in a dead-letter topic (design §1: Rejected, DeadLettered
//! and Parked are also dead letters).

use crate::evidence::{Evidence, State};
use crate::report::{Counts, Findings};

use super::cases::Cases;

pub(super) fn judge(
    cases: &Cases<'_>,
    evidence: &Evidence,
    counts: &mut Counts,
    findings: &mut Findings,
) {
    let Some(kafka) = &evidence.kafka else {
        return;
    };
    counts.lag = kafka.lag;
    counts.dead_letter_records = kafka.dead_letter_records;
    for case in &cases.all {
        let given_up = case.settlement().is_some_and(State::is_dead_letter);
        if given_up && !kafka.dead_letters.contains(&case.row.message_id) {
            counts.missing_dead_letters += 1;
            findings.add("missing_dead_letters", || case.label());
        }
    }
}
