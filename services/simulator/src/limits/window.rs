//! How much has arrived of late. Pure: `now` is an argument, and never goes back.

use std::collections::VecDeque;
use std::time::Duration;

use super::settings::{SpacingLimit, WindowLimit};

/// Arrivals of one period, oldest first.
#[derive(Debug, Default)]
pub(super) struct Window {
    arrivals: VecDeque<Duration>,
    most: usize,
}

impl Window {
    /// How long until one more would not be too much; none if it is not now.
    pub(super) fn wait(&self, limit: WindowLimit, now: Duration) -> Option<Duration> {
        let count = usize::try_from(limit.count).unwrap_or(usize::MAX);
        let oldest = self.arrivals.len().checked_sub(count)?;
        let free_at = self.arrivals.get(oldest)?.saturating_add(limit.period());
        positive(free_at.saturating_sub(now))
    }

    /// Counts an arrival. The newest `keep` are remembered, which must be no fewer than the limit's count.
    pub(super) fn take(&mut self, limit: WindowLimit, now: Duration, keep: usize) {
        let old = |arrival: &Duration| arrival.saturating_add(limit.period()) <= now;
        while self.arrivals.len() >= keep || self.arrivals.front().is_some_and(old) {
            self.arrivals.pop_front();
        }
        self.arrivals.push_back(now);
        self.most = self.most.max(self.arrivals.len());
    }

    /// The most arrivals that were ever in one period; not more than what was kept.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// When nothing of it will be left.
    pub(super) fn ends_at(&self, limit: Option<WindowLimit>) -> Duration {
        match (self.arrivals.back(), limit) {
            (Some(newest), Some(limit)) => newest.saturating_add(limit.period()),
            (None, _) | (_, None) => Duration::ZERO,
        }
    }
}

impl WindowLimit {
    fn period(self) -> Duration {
        Duration::from_millis(self.period_ms)
    }
}

/// Arrivals at a distance, with a burst after a pause.
#[derive(Debug, Default)]
pub(super) struct Spacing {
    /// When the whole burst is there again.
    full_at: Duration,
}

impl Spacing {
    /// How long until one more would not be too much; none if it is not now.
    pub(super) fn wait(&self, limit: SpacingLimit, now: Duration) -> Option<Duration> {
        let tolerated = limit
            .spacing()
            .saturating_mul(limit.burst.saturating_sub(1));
        let free_at = self.full_at.saturating_sub(tolerated);
        positive(free_at.saturating_sub(now))
    }

    /// Counts an arrival. One that was too much leaves no debt: after it, the burst is used up.
    pub(super) fn take(&mut self, limit: SpacingLimit, now: Duration) {
        let used_up = now.saturating_add(limit.spacing().saturating_mul(limit.burst));
        let one_more = self.full_at.max(now).saturating_add(limit.spacing());
        self.full_at = one_more.min(used_up);
    }

    /// When nothing of it will be left.
    pub(super) fn ends_at(&self) -> Duration {
        self.full_at
    }
}

impl SpacingLimit {
    fn spacing(self) -> Duration {
        Duration::from_millis(self.spacing_ms)
    }
}

fn positive(wait: Duration) -> Option<Duration> {
    (!wait.is_zero()).then_some(wait)
}
