//! How late beyond slack a worker may start what it is granted: nothing, unless its round trips to the log are longer.
//!
//! A grant is of use while its time was surely reached and slack is surely not over (`clock`), and what a worker knows of
//! the log's time is as vague as its round trips are long. Past slack nothing is left, and every grant would be void.

use std::time::Duration;

use crate::record::MAX_LEEWAY;

/// Round trips of this, half of slack, need none.
const SHORT: Duration = Duration::from_millis(10);
/// Less is of no use.
const LEAST: Duration = Duration::from_millis(5);

#[derive(Debug, Default)]
pub(super) struct Leeway(Duration);

impl Leeway {
    /// What to ask for.
    pub(super) fn current(&self) -> Duration {
        self.0
    }

    /// An ask was answered; `late`: what was granted was void at once. The next ask gets twice the round trip, so that
    /// one as long leaves time to start; short ones take it away again, half of it each.
    pub(super) fn answered(&mut self, round_trip: Duration, late: bool) {
        let needed = if round_trip <= SHORT {
            Duration::ZERO
        } else {
            round_trip.saturating_mul(2).min(MAX_LEEWAY)
        };
        if late {
            self.0 = self.0.max(needed);
        } else if needed < self.0 {
            self.0 = (self.0 + needed) / 2;
        }
        if self.0 < LEAST {
            self.0 = Duration::ZERO;
        }
    }
}
