//! What the judge says.

mod counts;
mod findings;
mod table;

use serde_json::{Value, json};

use crate::evidence::Rest;

pub use counts::{Count, Counts};
pub use findings::{Finding, Findings, MAX_EXAMPLES};

/// The judge's answer about one body of evidence.
#[derive(Debug, Clone)]
pub struct Report {
    /// The judged run; `None` for every run.
    pub run: Option<String>,
    /// All numbers.
    pub counts: Counts,
    /// Examples of what was found.
    pub findings: Findings,
    /// Whether the system had come to rest.
    pub rest: Rest,
    /// Whether lost answers excused extra posts.
    pub unknown_allowance: bool,
    /// Whether a message that was given up breaks the run.
    pub require_delivery: bool,
}

impl Report {
    /// Whether the promise of design §7 was kept.
    pub fn passed(&self) -> bool {
        self.failures().is_empty()
    }

    /// Names of the counts that break the promise; empty if it was kept.
    pub fn failures(&self) -> Vec<&'static str> {
        let mut failures: Vec<&'static str> = self
            .counts
            .list()
            .into_iter()
            .filter(|count| count.must_be_zero && count.value > 0)
            .map(|count| count.name)
            .collect();
        if self.counts.duplicated > self.counts.in_flight_at_kill + self.counts.unknown_answers {
            failures.push("duplicated");
        }
        if self.require_delivery && self.counts.given_up > 0 {
            failures.push("given_up");
        }
        if self.counts.committed == 0 {
            failures.push("committed");
        }
        if !self.came_to_rest() {
            failures.push("rest");
        }
        failures
    }

    /// Whether everything had its end and the lanes were read to theirs: a watermark that stands still behind settled
    /// messages is a defect as well.
    fn came_to_rest(&self) -> bool {
        match self.rest {
            Rest::NotAwaited | Rest::Reached => true,
            Rest::Stalled => self.counts.lag == 0,
            Rest::StillMoving => false,
        }
    }

    /// One JSON object: `ok`, `failures`, `run`, `rest`, `unknown_allowance` and every count.
    pub fn json(&self) -> Value {
        let mut object = json!({
            "ok": self.passed(),
            "failures": self.failures(),
            "run": self.run,
            "rest": rest_word(self.rest),
            "unknown_allowance": self.unknown_allowance,
        });
        if let Some(fields) = object.as_object_mut() {
            for count in self.counts.list() {
                fields.insert(count.name.to_owned(), json!(count.value));
            }
        }
        object
    }

    /// The counts with their definitions, and up to [`MAX_EXAMPLES`] examples of each finding, for
    /// people. Several lines, each ended.
    pub fn table(&self) -> String {
        table::render(self)
    }
}

fn rest_word(rest: Rest) -> &'static str {
    match rest {
        Rest::NotAwaited => "not_awaited",
        Rest::Reached => "reached",
        Rest::Stalled => "stalled",
        Rest::StillMoving => "still_moving",
    }
}
