//! Events a second, over all workers.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

/// Gives slots at even distances; nobody catches up on slots that were missed.
pub(crate) struct Pace {
    gap: Duration,
    next: Mutex<Instant>,
}

impl Pace {
    /// `None` for a rate means no limit.
    pub(crate) fn new(rate_per_second: Option<f64>) -> Self {
        let gap = rate_per_second.map(f64::recip).unwrap_or_default();
        Self {
            gap: Duration::try_from_secs_f64(gap).unwrap_or(Duration::MAX),
            next: Mutex::new(Instant::now()),
        }
    }

    /// Waits for the slots of `events` events.
    pub(crate) async fn wait(&self, events: usize) {
        if self.gap.is_zero() {
            return;
        }
        let events = u32::try_from(events).unwrap_or(u32::MAX);
        let slot = {
            let mut next = self.next.lock().await;
            let slot = (*next).max(Instant::now());
            // A year ahead stands for never.
            let width = self
                .gap
                .saturating_mul(events)
                .min(Duration::from_secs(31_536_000));
            *next = slot + width;
            slot
        };
        tokio::time::sleep_until(slot).await;
    }
}
