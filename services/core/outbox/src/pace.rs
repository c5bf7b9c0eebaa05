//! When to read again, and when from the start.

use std::time::Duration;

/// How many times its own duration passes between two safety passes, so that they cost at most a twentieth of the
/// time however many dead rows they scan (design §6).
const SAFETY_PASS_SHARE: u32 = 20;

/// The pause between reads: the least one while there is work, then doubling up to the greatest.
#[derive(Debug, Clone)]
pub struct Pace {
    least: Duration,
    greatest: Duration,
    pause: Duration,
}

impl Pace {
    /// A pace between two pauses; a `greatest` below `least` counts as `least`, a pause of zero as 1 ms.
    #[must_use]
    pub fn new(least: Duration, greatest: Duration) -> Self {
        let least = least.max(Duration::from_millis(1));
        Self {
            least,
            greatest: greatest.max(least),
            pause: least,
        }
    }

    /// The pause after a read: `found` tells whether it returned rows.
    pub fn after_read(&mut self, found: bool) -> Duration {
        if found {
            self.pause = self.least;
            return self.pause;
        }
        let pause = self.pause;
        self.pause = self.pause.saturating_mul(2).min(self.greatest);
        pause
    }
}

/// When the next safety pass is due: a read from the table's start, for rows that were not written through
/// `tidings.publish` and so may lie anywhere.
#[derive(Debug, Clone)]
pub struct SafetyPass {
    least: Duration,
    due_at: Duration,
}

impl SafetyPass {
    /// Passes at most every `least`; the first one is due that long after `now`. Times are on any monotonic clock.
    #[must_use]
    pub fn new(least: Duration, now: Duration) -> Self {
        Self {
            least,
            due_at: now.saturating_add(least),
        }
    }

    /// Whether one is due.
    #[must_use]
    pub fn due(&self, now: Duration) -> bool {
        now >= self.due_at
    }

    /// One ended at `now` after `took`: the next is due after max(least, 20 × that).
    pub fn passed(&mut self, now: Duration, took: Duration) {
        self.due_at = now.saturating_add(self.least.max(took.saturating_mul(SAFETY_PASS_SHARE)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn idle_pauses_double_up_to_the_greatest_and_work_ends_them() {
        let mut pace = Pace::new(ms(5), ms(30));
        let idle: Vec<_> = (0..5).map(|_| pace.after_read(false)).collect();
        assert_eq!(idle, [ms(5), ms(10), ms(20), ms(30), ms(30)]);
        assert_eq!(pace.after_read(true), ms(5));
        assert_eq!(pace.after_read(false), ms(5));
    }

    #[test]
    fn a_pace_never_spins() {
        let mut pace = Pace::new(Duration::ZERO, Duration::ZERO);
        assert_eq!(pace.after_read(true), ms(1));
        assert_eq!(pace.after_read(false), ms(1));
    }

    #[test]
    fn a_slow_safety_pass_is_repeated_less_often() {
        let mut safety = SafetyPass::new(ms(5_000), ms(100));
        assert!(!safety.due(ms(5_099)) && safety.due(ms(5_100)));
        safety.passed(ms(6_000), ms(10));
        assert!(!safety.due(ms(10_999)) && safety.due(ms(11_000)));
        safety.passed(ms(12_000), ms(1_000));
        assert!(!safety.due(ms(31_999)) && safety.due(ms(32_000)));
    }
}
