//! Stretches of time, by the wall clock in microseconds since the Unix epoch.

use std::time::{SystemTime, UNIX_EPOCH};

/// From the first moment to before the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: i64,
    pub(super) to: i64,
}

/// Microseconds of a second.
pub(super) const SECOND: i64 = 1_000_000;

/// Now.
pub(super) fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

impl Span {
    pub(super) fn has(self, moment: i64) -> bool {
        (self.from..self.to).contains(&moment)
    }

    fn meets(self, other: Self) -> bool {
        self.from < other.to && other.from < self.to
    }

    /// Its whole seconds that none of `left_out` touches.
    pub(super) fn seconds_without(self, left_out: &[Self]) -> Vec<Self> {
        let starts = (self.from..self.to).step_by(SECOND.unsigned_abs() as usize);
        let seconds = starts.map(|from| Self {
            from,
            to: from + SECOND,
        });
        let kept = seconds.filter(|second| second.to <= self.to);
        kept.filter(|second| left_out.iter().all(|out| !second.meets(*out)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_that_something_touches_are_left_out() {
        let span = Span {
            from: 0,
            to: 5 * SECOND + 1,
        };
        let out = Span {
            from: SECOND + 1,
            to: 2 * SECOND + 1,
        };
        let starts: Vec<i64> = span
            .seconds_without(&[out])
            .iter()
            .map(|second| second.from)
            .collect();
        assert_eq!(starts, [0, 3 * SECOND, 4 * SECOND]);
    }
}
