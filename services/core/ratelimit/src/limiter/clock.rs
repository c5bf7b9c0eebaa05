//! The log's time as one worker sees it, between two bounds: what it read, and what it sent.

use std::collections::VecDeque;
use std::time::Duration;

use crate::limits::SLACK;
use crate::machine::MAX_ADVANCE;
use crate::{LogTime, Moment, Validity};

/// How long a lower bound is of use: two clocks that differ by 50 ppm drift apart by half a millisecond meanwhile.
const TRUSTED_FOR: Duration = Duration::from_secs(10);
const SECOND: u64 = 1_000_000;

#[derive(Debug, Clone, Default)]
pub(super) struct LogClock {
    time: LogTime,
    received: Moment,
    /// For each of the last seconds the greatest difference between the moment at which an own record was handed over
    /// and the time of the log that it got. The record was appended after that moment, so each is a lower bound.
    sent: VecDeque<(u64, i64)>,
}

impl LogClock {
    /// A record with this time was received.
    pub(super) fn read(&mut self, time: LogTime, now: Moment) {
        self.time = time;
        self.received = now;
    }

    /// An own record that was handed over at `sent` got this time.
    pub(super) fn read_own(&mut self, sent: Moment, time: LogTime, now: Moment) {
        let bound = signed(sent).saturating_sub(time.0);
        let second = now.0 / SECOND;
        let reached = signed(now).saturating_sub(time.0);
        if self.sent.iter().any(|(_, bound)| *bound > reached) {
            // The log's time was ahead of itself: the broker's clock stepped, and what was proved is of no use.
            self.sent.clear();
        }
        match self.sent.back_mut() {
            Some((at, best)) if *at == second => *best = (*best).max(bound),
            Some(_) | None => self.sent.push_back((second, bound)),
        }
        let oldest = second.saturating_sub(TRUSTED_FOR.as_secs());
        while self.sent.front().is_some_and(|(at, _)| *at < oldest) {
            self.sent.pop_front();
        }
    }

    /// Forgets everything: another log has another time.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// About what time a record appended now would get.
    pub(super) fn estimate(&self, now: Moment) -> LogTime {
        self.time.after(self.received.until(now).min(MAX_ADVANCE))
    }

    /// How long it takes until a record gets the time `at`, if others keep the log's time going.
    pub(super) fn wait_for(&self, at: LogTime, now: Moment) -> Duration {
        self.estimate(now).until(at)
    }

    /// When the log's time surely was `at`, or will be.
    pub(super) fn moment_of(&self, at: LogTime) -> Moment {
        let ahead = at.0.saturating_sub(self.time.0);
        if ahead >= 0 {
            self.received.after(self.time.until(at))
        } else {
            Moment(self.received.0.saturating_sub(ahead.unsigned_abs()))
        }
    }

    /// When a grant that was just received may be used. Not before it was surely reached: the record was appended
    /// before it was received. Not later than slack after it was surely not yet reached: own records were appended after
    /// they were sent. A grant whose record came too late is therefore void from the beginning: it would meet the
    /// grants after it. One that counts as used at `charged` may start that much later.
    pub(super) fn validity(&self, at: LogTime, charged: LogTime) -> Validity {
        let from = self.moment_of(at);
        let proven = self.sent.iter().map(|(_, bound)| *bound).max();
        let proven = proven.map_or(from, |bound| unsigned(at.0.saturating_add(bound)));
        Validity {
            at,
            from,
            until: from.min(proven).after(SLACK + at.until(charged)),
        }
    }
}

fn signed(moment: Moment) -> i64 {
    i64::try_from(moment.0).unwrap_or(i64::MAX)
}

fn unsigned(micros: i64) -> Moment {
    Moment(u64::try_from(micros).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(count: u64) -> Moment {
        Moment(count * 1_000)
    }

    fn at(millis: i64) -> LogTime {
        LogTime(millis * 1_000)
    }

    #[test]
    fn a_grant_is_valid_from_when_it_was_surely_reached_until_slack_after_it_was_surely_not() {
        let mut clock = LogClock::default();
        clock.read(at(500), millis(1_004));
        clock.read_own(millis(1_001), at(500), millis(1_004));
        let validity = clock.validity(at(600), at(600));
        assert_eq!(
            (validity.from, validity.until),
            (millis(1_104), millis(1_121))
        );
    }

    #[test]
    fn a_grant_that_came_too_late_is_void() {
        let mut clock = LogClock::default();
        clock.read(at(500), millis(1_001));
        clock.read_own(millis(1_000), at(500), millis(1_001));
        clock.read(at(1_500), millis(2_050));
        clock.read_own(millis(1_990), at(1_500), millis(2_050));
        let validity = clock.validity(at(1_500), at(1_500));
        assert!(validity.until < validity.from, "{validity:?}");
    }
}
