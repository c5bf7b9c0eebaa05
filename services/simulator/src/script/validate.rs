//! What a script may not ask for.

use axum::http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};
use thiserror::Error;

use super::{Answer, LatencyMs, Rule, Script};

/// The most rules of a script: every call walks them.
pub const MAX_RULES: usize = 1_000;
/// The longest latency, in milliseconds (ten minutes): beyond it `"hang"` says what is meant.
pub const MAX_LATENCY_MS: u64 = 600_000;
/// The largest body of a raw answer, in bytes (1 MiB).
pub const MAX_RAW_BODY_BYTES: usize = 1024 * 1024;

/// Why a script is refused; the one before stays in force.
#[derive(Debug, Error)]
pub enum ScriptError {
    /// It is not JSON of the documented shape.
    #[error("the script is not the JSON that is documented: {0}")]
    Json(#[from] serde_json::Error),
    /// It has too many rules.
    #[error("rules: {count} are too many; at most {MAX_RULES} are walked for every call")]
    TooManyRules {
        /// How many it has.
        count: usize,
    },
    /// A value is out of its range.
    #[error("{place}: {problem}")]
    Value {
        /// Which rule (counted from 0) or field.
        place: String,
        /// What is wrong, and what would be right.
        problem: &'static str,
    },
}

impl Script {
    /// Reads a script from JSON.
    ///
    /// # Errors
    /// [`ScriptError`] if it is not of the documented shape, or holds a value out of range.
    pub fn from_json(json: &[u8]) -> Result<Self, ScriptError> {
        // An array is no script, although serde would take its items for fields.
        let object: Map<String, Value> = serde_json::from_slice(json)?;
        let script: Self = serde_json::from_value(Value::Object(object))?;
        script.validate()?;
        Ok(script)
    }

    /// Checks every value.
    ///
    /// # Errors
    /// [`ScriptError`] for the first value out of range.
    pub(crate) fn validate(&self) -> Result<(), ScriptError> {
        if self.rules.len() > MAX_RULES {
            return Err(ScriptError::TooManyRules {
                count: self.rules.len(),
            });
        }
        check(
            "default_latency_ms",
            latency_problem(self.default_latency_ms),
        )?;
        self.rules.iter().enumerate().try_for_each(|(index, rule)| {
            let place = format!("rules[{index}]");
            check(&place, rule_problem(rule))
        })
    }
}

fn check(place: &str, problem: Option<&'static str>) -> Result<(), ScriptError> {
    match problem {
        None => Ok(()),
        Some(problem) => Err(ScriptError::Value {
            place: place.to_owned(),
            problem,
        }),
    }
}

fn rule_problem(rule: &Rule) -> Option<&'static str> {
    let probability = rule.matcher.probability.unwrap_or(1.0);
    if !(0.0..=1.0).contains(&probability) {
        return Some("match.probability must be between 0 and 1");
    }
    rule.action
        .latency_ms
        .and_then(latency_problem)
        .or_else(|| answer_problem(&rule.action.answer))
}

fn latency_problem(latency: LatencyMs) -> Option<&'static str> {
    let (mean, jitter) = match latency {
        LatencyMs::Fixed(fixed) => (fixed, 0),
        LatencyMs::Spread { mean, jitter } => (mean, jitter),
    };
    if mean > MAX_LATENCY_MS {
        Some("a latency is at most 600000 ms; \"hang\" never answers")
    } else if jitter > mean {
        Some("a jitter is at most its mean")
    } else {
        None
    }
}

fn answer_problem(answer: &Answer) -> Option<&'static str> {
    match answer {
        Answer::ServerError { status, .. } if !(500..=599).contains(status) => {
            Some("server_error.status must be 500 to 599")
        }
        Answer::Raw { status, .. } if !(200..=599).contains(status) => {
            Some("raw.status must be 200 to 599")
        }
        Answer::Raw { body, .. } if body.len() > MAX_RAW_BODY_BYTES => {
            Some("raw.body must be at most 1 MiB")
        }
        Answer::Raw { headers, .. } if !headers.iter().all(is_header) => {
            Some("raw.headers must be names and values that HTTP can carry")
        }
        Answer::Ok
        | Answer::Hang
        | Answer::HangAccepted
        | Answer::Lost
        | Answer::Reset
        | Answer::Throttle { .. }
        | Answer::ServerError { .. }
        | Answer::Blocked
        | Answer::ChatNotFound
        | Answer::Migrated { .. }
        | Answer::Unauthorized
        | Answer::Raw { .. } => None,
    }
}

fn is_header((name, value): (&String, &String)) -> bool {
    HeaderName::try_from(name).is_ok() && HeaderValue::try_from(value).is_ok()
}
