//! How long a platform asks us to wait.
//!
//! One total parser for everything listed in reference/platforms.md, "Retry-After: values that a parser meets": it
//! never panics, never gives an instant retry and never an endless hold. Of several hints the longest counts.

mod body;
mod header;
mod http_date;
mod seconds;

use std::time::Duration;

/// The bounds of a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HintLimits {
    /// The least wait: what zero, negative numbers and past dates become (default 1 s, design §8).
    pub floor: Duration,
    /// The greatest wait: what longer ones become (default 14 days, Telegram's longest, reference/platforms.md).
    pub cap: Duration,
}

impl Default for HintLimits {
    fn default() -> Self {
        Self {
            floor: Duration::from_secs(1),
            cap: Duration::from_secs(14 * 24 * 60 * 60),
        }
    }
}

/// The longest wait that an answer names: in its `Retry-After` and `X-RateLimit-Reset-After` headers, in its body's
/// `retry_after` or `parameters.retry_after`, or in its words ("retry after 3"). `None` when it names none that is a
/// number or an HTTP-date.
///
/// `now_micros` (since the Unix epoch) turns an HTTP-date into a wait only if the answer has no readable `Date` header:
/// two times of the server's own clock do not depend on ours (requirement L12).
pub fn longest(
    headers: &[(String, String)],
    body: &str,
    now_micros: i64,
    limits: HintLimits,
) -> Option<Duration> {
    let longest_seconds = header::seconds(headers, now_micros)
        .into_iter()
        .chain(body::seconds(body))
        .reduce(f64::max)?;
    Some(bounded(longest_seconds, limits))
}

/// `seconds` as a wait inside `limits`, whatever number it is (`Duration::from_secs_f64` would panic on some).
fn bounded(seconds: f64, limits: HintLimits) -> Duration {
    if seconds <= limits.floor.as_secs_f64() {
        return limits.floor;
    }
    Duration::try_from_secs_f64(seconds)
        .unwrap_or(limits.cap)
        .min(limits.cap)
        .max(limits.floor)
}
