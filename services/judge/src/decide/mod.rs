//! The verdict: evidence in, report out. Pure.

mod cases;
mod duplicates;
mod fate;
mod letters;
mod order;
mod posts;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod tests;

use crate::evidence::{Evidence, Scope};
use crate::report::{Counts, Findings, Report};

use cases::Cases;

/// Judges `evidence` by the definitions of design §7; each count documents its own in [`Counts`].
///
/// Takes time and memory in proportion to the evidence.
pub fn decide(evidence: &Evidence) -> Report {
    let cases = Cases::of(evidence);
    let mut counts = Counts {
        committed: evidence.ledger.len() as u64,
        rolled_back: evidence.rolled_back.len() as u64,
        ..Counts::default()
    };
    let mut findings = Findings::default();
    fate::judge(&cases, evidence, &mut counts, &mut findings);
    duplicates::judge(&cases, &evidence.faults, &mut counts, &mut findings);
    order::judge(&cases, &mut counts, &mut findings);
    posts::judge(&cases, evidence, &mut counts, &mut findings);
    letters::judge(&cases, evidence, &mut counts, &mut findings);
    Report {
        run: match &evidence.scope {
            Scope::EveryRun => None,
            Scope::Run(run) => Some(run.clone()),
        },
        counts,
        findings,
        rest: evidence.rest,
        unknown_allowance: evidence.faults.unknown_allowance,
        require_delivery: evidence.require_delivery,
    }
}
