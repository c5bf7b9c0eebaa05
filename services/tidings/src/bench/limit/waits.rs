//! How long each permit was waited for, from the dispatchers' logs. They are exact where a histogram has steps.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use serde_json::Value;

use super::calls::Kind;

/// The dispatchers' settings that make them log what is read here.
pub(super) const LOG: &str =
    "[log]\nformat = \"json\"\nlevel = \"warn,tidings_dispatcher::permits_used=debug\"\n";

const TARGET: &str = "tidings_dispatcher::permits_used";

/// The waits for permits of one kind of message, in milliseconds.
pub(super) fn of(kind: Kind, logs: &[&Path]) -> io::Result<Vec<f64>> {
    let mut waits = Vec::new();
    for log in logs {
        for line in BufReader::new(File::open(log)?).lines() {
            waits.extend(wait(&line?, kind));
        }
    }
    Ok(waits)
}

/// A line that was cut short by a kill is none.
fn wait(line: &str, kind: Kind) -> Option<f64> {
    if !line.contains(TARGET) {
        return None;
    }
    let line: Value = serde_json::from_str(line).ok()?;
    // Whether fields lie in an object of their own is the log format's business.
    let fields = line.get("fields").unwrap_or(&line);
    let of = Kind::of(fields.get("chat")?.as_str()?)?;
    let seconds = fields.get("seconds")?.as_f64()?;
    (of == kind).then_some(seconds * 1_000.0)
}

/// The value that `share` of all are not above.
pub(super) fn percentile(values: &mut [f64], share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let mut values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(percentile(&mut values, 0.5), Some(50.0));
        assert_eq!(percentile(&mut values, 0.99), Some(99.0));
        assert_eq!(percentile(&mut [], 0.5), None);
    }

    #[test]
    fn a_line_of_the_log_is_read() {
        let line = r#"{"target":"tidings_dispatcher::permits_used","fields":{"chat":"3000000001","seconds":0.0031}}"#;
        assert_eq!(wait(line, Kind::Lone), Some(3.1));
        assert_eq!(wait(line, Kind::High), None);
        assert_eq!(wait(&line[..60], Kind::Lone), None);
    }
}
