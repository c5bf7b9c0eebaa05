//! What a worker knows of the load by its own measurements of the last minute.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How far back the means reach.
const WINDOW: Duration = Duration::from_secs(60);

/// Two looks that are nearer to each other tell no rate.
const LEAST_SPAN: Duration = Duration::from_secs(1);

/// The arrival of records over all lanes, and how long calls took here.
#[derive(Debug, Default)]
pub(super) struct Means {
    ends: VecDeque<Ends>,
    calls: VecDeque<Calls>,
    current: Calls,
    /// The newest mean that there was: a quiet minute does not make calls faster.
    processing: Option<Duration>,
}

/// The lanes' ends as one look saw them.
#[derive(Debug, Clone, Copy)]
struct Ends {
    at: Instant,
    partitions: usize,
    sum: i64,
}

/// Calls that were answered until a moment.
#[derive(Debug, Clone, Copy, Default)]
struct Calls {
    until: Option<Instant>,
    busy: Duration,
    count: u32,
}

impl Means {
    /// One call of a platform was answered.
    pub(super) fn called(&mut self, took: Duration) {
        self.current.busy = self.current.busy.saturating_add(took);
        self.current.count = self.current.count.saturating_add(1);
    }

    /// A look saw the ends of so many partitions; another look than the last one.
    pub(super) fn ends(&mut self, at: Instant, partitions: usize, sum: i64) {
        let seen = Ends {
            at,
            partitions,
            sum,
        };
        match self.ends.back() {
            Some(last) if last.at == at => return,
            // A topic was made anew, or a look was not whole: what came before can not be compared.
            Some(last) if last.partitions != partitions || last.sum > sum => self.ends.clear(),
            Some(_) | None => {}
        }
        self.ends.push_back(seen);
        let old = |ends: &Ends| at.saturating_duration_since(ends.at) > WINDOW;
        while self.ends.front().is_some_and(old) {
            self.ends.pop_front();
        }
    }

    /// Takes in what was answered since the last time.
    pub(super) fn tick(&mut self, now: Instant) {
        let mut current = std::mem::take(&mut self.current);
        current.until = Some(now);
        if current.count > 0 {
            self.calls.push_back(current);
        }
        let old = |calls: &Calls| {
            calls
                .until
                .is_none_or(|until| now.saturating_duration_since(until) > WINDOW)
        };
        while self.calls.front().is_some_and(old) {
            self.calls.pop_front();
        }
        let busy: Duration = self.calls.iter().map(|calls| calls.busy).sum();
        let count = self.calls.iter().map(|calls| calls.count).sum();
        self.processing = busy.checked_div(count).or(self.processing);
    }

    /// Records a second, once two looks are far enough apart.
    pub(super) fn arrival_per_second(&self) -> Option<f64> {
        let (first, last) = (self.ends.front()?, self.ends.back()?);
        let span = last.at.saturating_duration_since(first.at);
        if span < LEAST_SPAN {
            return None;
        }
        #[allow(clippy::cast_precision_loss)] // a minute's records are far below 2^53
        let records = last.sum.saturating_sub(first.sum) as f64;
        Some(records / span.as_secs_f64())
    }

    /// The mean length of a call; of an earlier minute if the last one had none.
    pub(super) fn processing(&self) -> Option<Duration> {
        self.processing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn arrival_is_what_the_ends_moved_by_within_the_window() {
        let (began, mut means) = (Instant::now(), Means::default());
        assert_eq!(means.arrival_per_second(), None);
        means.ends(began, 36, 1_000);
        means.ends(began, 36, 1_000);
        assert_eq!(means.arrival_per_second(), None, "one look tells no rate");
        means.ends(began + seconds(10), 36, 1_500);
        assert_eq!(means.arrival_per_second(), Some(50.0));
        for second in 11..=100 {
            means.ends(began + seconds(second), 36, 1_500);
        }
        assert_eq!(means.arrival_per_second(), Some(0.0));
    }

    #[test]
    fn ends_that_can_not_be_compared_are_not() {
        let (began, mut means) = (Instant::now(), Means::default());
        means.ends(began, 36, 1_000);
        means.ends(began + seconds(5), 35, 900);
        assert_eq!(means.arrival_per_second(), None);
        means.ends(began + seconds(10), 35, 0);
        means.ends(began + seconds(12), 35, 20);
        assert_eq!(means.arrival_per_second(), Some(10.0));
    }

    #[test]
    fn processing_is_the_last_minutes_mean_and_outlives_a_quiet_one() {
        let (began, mut means) = (Instant::now(), Means::default());
        means.tick(began);
        assert_eq!(means.processing(), None);
        means.called(Duration::from_millis(100));
        means.called(Duration::from_millis(300));
        means.tick(began + seconds(1));
        assert_eq!(means.processing(), Some(Duration::from_millis(200)));
        means.tick(began + seconds(300));
        assert_eq!(means.processing(), Some(Duration::from_millis(200)));
        means.called(Duration::from_millis(20));
        means.tick(began + seconds(301));
        assert_eq!(means.processing(), Some(Duration::from_millis(20)));
    }
}
