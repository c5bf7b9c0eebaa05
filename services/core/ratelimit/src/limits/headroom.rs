use std::time::Duration;

use super::{ARRIVAL_MARGIN, Limit, MINUTE_SLACK, Rule, SLACK};
use crate::time::micros;

/// Windows and spacings are used whole.
pub const EXACT_HEADROOM_PERMILLE: u32 = 1_000;
/// Of a token bucket's rate three quarters are used (requirement Q1).
pub const TOKEN_BUCKET_HEADROOM_PERMILLE: u32 = 750;

/// A rule as it is enforced: headroom and slack applied, in whole microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Enforced {
    /// At most `count` in any half-open `period_micros`.
    Window { count: usize, period_micros: i64 },
    /// The generic cell rate algorithm: each message moves the theoretical arrival by `interval_micros`, and may come
    /// up to `tolerance_micros` before it.
    Bucket {
        interval_micros: i64,
        tolerance_micros: i64,
    },
}

impl Rule {
    /// What the machine keeps to, so that the platform sees the limit kept although a call arrives up to
    /// [`SLACK`] + [`ARRIVAL_MARGIN`] after its grant.
    pub(crate) fn enforced(&self) -> Enforced {
        match self.limit {
            Limit::Window { count, period } => Enforced::Window {
                count: self.share_of(count),
                period_micros: micros(period + slack_of(period)),
            },
            Limit::Spacing { delay } => Enforced::Window {
                count: 1,
                period_micros: divided(micros(delay), self.headroom_permille)
                    .saturating_add(micros(slack_of(delay))),
            },
            Limit::TokenBucket {
                micro_tokens_per_second,
                burst,
                cost,
            } => self.enforced_bucket(micro_tokens_per_second, burst, cost),
        }
    }

    fn share_of(&self, count: u32) -> usize {
        let share = u64::from(count) * u64::from(self.headroom_permille) / 1_000;
        usize::try_from(share).unwrap_or(usize::MAX).max(1)
    }

    /// Arrivals shifted by at most `shift` keep interval I and tolerance τ if the grants keep I and τ − shift, or, when
    /// τ is smaller than that, if they are `shift − τ` further apart.
    fn enforced_bucket(&self, micro_tokens_per_second: u64, burst: u32, cost: u32) -> Enforced {
        let per_token = micros_per_token(micro_tokens_per_second);
        let interval = divided(
            per_token.saturating_mul(i64::from(cost)),
            self.headroom_permille,
        );
        let tolerance = per_token.saturating_mul(i64::from(burst.saturating_sub(cost)));
        let shift = micros(SLACK + ARRIVAL_MARGIN);
        Enforced::Bucket {
            interval_micros: interval.saturating_add((shift - tolerance).max(0)),
            tolerance_micros: (tolerance - shift).max(0),
        }
    }

    /// How far apart messages are when the rule is saturated, in microseconds.
    pub(crate) fn pace_micros(&self) -> i64 {
        match self.enforced() {
            Enforced::Window {
                count,
                period_micros,
            } => ceiling(period_micros, i64::try_from(count).unwrap_or(i64::MAX)),
            Enforced::Bucket {
                interval_micros, ..
            } => interval_micros,
        }
    }
}

fn slack_of(period: Duration) -> Duration {
    let slack = if period >= Duration::from_secs(60) {
        MINUTE_SLACK
    } else {
        SLACK
    };
    slack + ARRIVAL_MARGIN
}

fn micros_per_token(micro_tokens_per_second: u64) -> i64 {
    let rate = micro_tokens_per_second.max(1);
    i64::try_from(1_000_000_000_000_u64.div_ceil(rate)).unwrap_or(i64::MAX)
}

/// `value` divided by a share in thousandths, rounded up.
fn divided(value: i64, permille: u32) -> i64 {
    ceiling(value.saturating_mul(1_000), i64::from(permille.max(1)))
}

fn ceiling(value: i64, divisor: i64) -> i64 {
    let divisor = divisor.max(1);
    value / divisor + i64::from(value % divisor > 0)
}
