use std::time::Duration;

/// Pauses that double, from a least to a greatest.
#[derive(Debug, Clone)]
pub(super) struct Backoff {
    least: Duration,
    greatest: Duration,
    next: Duration,
}

impl Backoff {
    pub(super) fn new(least: Duration, greatest: Duration) -> Self {
        Self {
            least,
            greatest,
            next: least,
        }
    }

    /// The pause to make now.
    pub(super) fn next(&mut self) -> Duration {
        let pause = self.next;
        self.next = pause.saturating_mul(2).min(self.greatest);
        pause
    }

    /// After success the pauses begin anew.
    pub(super) fn reset(&mut self) {
        self.next = self.least;
    }
}
