//! One table from verdict to what happens next (design §8). A new verdict does not compile until it has its row here.

use std::sync::Arc;
use std::time::Duration;

use tidings_platforms::{HoldScope, Verdict};

use crate::{Category, OnUnknown, RetryName, Settlement};

/// Answers that no table knows are retried this often before they are a dead letter (B9: few times).
const UNRECOGNISED_ATTEMPTS: u32 = 3;

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// The waits between attempts, before jitter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waits {
    /// `base`, then twice as long each time, up to `cap`.
    Doubling {
        /// The first wait.
        base: Duration,
        /// The longest wait.
        cap: Duration,
    },
    /// These, in order; the last one again when there are more attempts than waits.
    Listed(Arc<[Duration]>),
}

/// How an event type's failures are retried.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryProfile {
    /// The waits between attempts.
    pub waits: Waits,
    /// The share by which a wait is made longer or shorter, `0.25` for ±25 % (B10).
    pub jitter: f64,
    /// Attempts in all, the first included.
    pub max_attempts: u32,
    /// After this long since the first failure no further attempt is made (B11).
    pub max_age: Duration,
}

impl RetryProfile {
    /// Design §8: base 5 s, doubling, cap 900 s, then ±25 %; 8 attempts, 24 h.
    #[must_use]
    pub fn standard() -> Self {
        Self {
            waits: Waits::Doubling {
                base: Duration::from_secs(5),
                cap: Duration::from_secs(900),
            },
            jitter: 0.25,
            max_attempts: 8,
            max_age: DAY,
        }
    }

    /// Q3: 0.5, 1, 2 s; four attempts in all.
    #[must_use]
    pub fn interactive() -> Self {
        Self {
            waits: Waits::Listed([500, 1_000, 2_000].map(Duration::from_millis).into()),
            jitter: 0.0,
            max_attempts: 4,
            max_age: DAY,
        }
    }

    /// The wait after `failures` attempts failed; `unit` is uniform in `0.0..1.0`.
    #[must_use]
    pub fn backoff(&self, failures: u32, unit: f64) -> Duration {
        let wait = self.wait(failures.max(1));
        let factor = 1.0 + self.jitter * (2.0 * unit - 1.0);
        Duration::try_from_secs_f64(wait.as_secs_f64() * factor).unwrap_or(Duration::MAX)
    }

    fn wait(&self, failures: u32) -> Duration {
        match &self.waits {
            Waits::Doubling { base, cap } => {
                base.saturating_mul(1 << (failures - 1).min(31)).min(*cap)
            }
            Waits::Listed(waits) => {
                let nth = usize::try_from(failures - 1).unwrap_or(usize::MAX);
                waits.get(nth).or(waits.last()).copied().unwrap_or_default()
            }
        }
    }
}

/// The profiles in force.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryProfiles {
    /// Under [`RetryName::Standard`].
    pub standard: RetryProfile,
    /// Under [`RetryName::Interactive`].
    pub interactive: RetryProfile,
    /// How often an account that stopped looks whether its credential is accepted again.
    pub broken_account: Duration,
    /// Refusals of a credential in a row with which an account stops: after a change of token the new one may be refused
    /// at first (case S11).
    pub refusals_to_stop: u32,
    /// How long the account rests after each of them.
    pub refused_rest: Duration,
}

impl Default for RetryProfiles {
    fn default() -> Self {
        Self {
            standard: RetryProfile::standard(),
            interactive: RetryProfile::interactive(),
            broken_account: Duration::from_secs(30),
            refusals_to_stop: 3,
            refused_rest: Duration::from_secs(1),
        }
    }
}

impl RetryProfiles {
    /// The profile that an event type named.
    #[must_use]
    pub fn get(&self, name: RetryName) -> &RetryProfile {
        match name {
            RetryName::Standard => &self.standard,
            RetryName::Interactive => &self.interactive,
        }
    }
}

/// What the table knows about a message when an attempt ended.
#[derive(Debug, Clone, Copy)]
pub struct Tried {
    /// Attempts that count, the one that just ended included.
    pub attempts: u32,
    /// Time since the first failure; zero when this is the first.
    pub age: Duration,
    /// Declared by the event type.
    pub on_unknown: OnUnknown,
    /// Declared by the event type.
    pub retry: RetryName,
}

/// What happens next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// The message has its end.
    Settle(Settlement),
    /// The message is given up and kept as a dead letter.
    DeadLetter(Category),
    /// Back off; the attempt counts.
    BackOff(Duration),
    /// The platform said how long; the attempt does not count (L11, Q3).
    Hold {
        /// What is held.
        scope: HoldScope,
        /// For how long.
        wait: Duration,
    },
    /// The chat has another id now; at once, and the attempt does not count.
    Retarget(String),
    /// The account's credential was refused; the attempt does not count.
    RestAccount(Duration),
}

/// The table. `unit` is uniform in `0.0..1.0` and places a wait inside its jitter.
#[must_use]
pub fn next(verdict: &Verdict, tried: Tried, profiles: &RetryProfiles, unit: f64) -> Next {
    match verdict {
        Verdict::Delivered { .. } => Next::Settle(Settlement::Delivered),
        Verdict::Throttled { scope, wait } => Next::Hold {
            scope: *scope,
            wait: wait.unwrap_or_else(|| {
                profiles
                    .get(tried.retry)
                    .backoff(tried.attempts.saturating_add(1), unit)
            }),
        },
        Verdict::Transient => back_off(tried, profiles, unit),
        Verdict::Rejected => Next::DeadLetter(Category::Rejected),
        Verdict::DeadTarget { .. } => Next::Settle(Settlement::Undeliverable),
        Verdict::Migrated { new_chat_id } => Next::Retarget(new_chat_id.clone()),
        Verdict::AuthBroken => Next::RestAccount(profiles.broken_account),
        Verdict::Unknown => match tried.on_unknown {
            OnUnknown::Park => Next::DeadLetter(Category::Unknown),
            OnUnknown::Resend => back_off(tried, profiles, unit),
        },
        Verdict::Unrecognised if tried.attempts >= UNRECOGNISED_ATTEMPTS => {
            Next::DeadLetter(Category::Unrecognised)
        }
        Verdict::Unrecognised => back_off(tried, profiles, unit),
    }
}

fn back_off(tried: Tried, profiles: &RetryProfiles, unit: f64) -> Next {
    let profile = profiles.get(tried.retry);
    if tried.attempts >= profile.max_attempts || tried.age >= profile.max_age {
        return Next::DeadLetter(Category::Exhausted);
    }
    Next::BackOff(profile.backoff(tried.attempts, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(attempts: u32, on_unknown: OnUnknown) -> Tried {
        Tried {
            attempts,
            age: Duration::ZERO,
            on_unknown,
            retry: RetryName::Standard,
        }
    }

    fn decide(verdict: &Verdict, attempts: u32, on_unknown: OnUnknown) -> Next {
        next(
            verdict,
            tried(attempts, on_unknown),
            &RetryProfiles::default(),
            0.5,
        )
    }

    #[test]
    fn standard_profile_doubles_to_its_cap_and_jitter_stays_within_a_quarter() {
        let waits: Vec<u64> = (1..=9)
            .map(|n| RetryProfile::standard().backoff(n, 0.5).as_secs())
            .collect();
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 320, 640, 900]);
        let longest = RetryProfile::standard().backoff(40, 0.999_999);
        assert!(
            longest <= Duration::from_secs(1_125),
            "B10: at most 1,125 s"
        );
        assert!(RetryProfile::standard().backoff(40, 0.0) >= Duration::from_secs(675));
    }

    #[test]
    fn interactive_profile_is_the_sources() {
        let waits: Vec<u128> = (1..=3)
            .map(|n| RetryProfile::interactive().backoff(n, 0.9).as_millis())
            .collect();
        assert_eq!(waits, [500, 1_000, 2_000]);
    }

    #[test]
    fn a_list_is_followed_and_its_last_wait_repeated() {
        let profile = RetryProfile {
            waits: Waits::Listed([1, 5, 30].map(Duration::from_secs).into()),
            ..RetryProfile::interactive()
        };
        let waits: Vec<u64> = (0..=5).map(|n| profile.backoff(n, 0.0).as_secs()).collect();
        assert_eq!(waits, [1, 1, 5, 30, 30, 30]);
    }

    #[test]
    fn unknown_is_resent_or_parked_as_declared() {
        assert!(matches!(
            decide(&Verdict::Unknown, 1, OnUnknown::Resend),
            Next::BackOff(_)
        ));
        assert_eq!(
            decide(&Verdict::Unknown, 1, OnUnknown::Park),
            Next::DeadLetter(Category::Unknown)
        );
    }

    #[test]
    fn transient_ends_with_the_attempts_or_the_age() {
        assert!(matches!(
            decide(&Verdict::Transient, 7, OnUnknown::Resend),
            Next::BackOff(_)
        ));
        assert_eq!(
            decide(&Verdict::Transient, 8, OnUnknown::Resend),
            Next::DeadLetter(Category::Exhausted)
        );
        let old = Tried {
            age: Duration::from_secs(24 * 3_600),
            ..tried(2, OnUnknown::Resend)
        };
        assert_eq!(
            next(&Verdict::Transient, old, &RetryProfiles::default(), 0.5),
            Next::DeadLetter(Category::Exhausted)
        );
    }

    #[test]
    fn unrecognised_is_retried_a_few_times() {
        assert!(matches!(
            decide(&Verdict::Unrecognised, 2, OnUnknown::Resend),
            Next::BackOff(_)
        ));
        assert_eq!(
            decide(&Verdict::Unrecognised, 3, OnUnknown::Resend),
            Next::DeadLetter(Category::Unrecognised)
        );
    }

    #[test]
    fn waits_of_any_size_never_panic() {
        let wild = RetryProfile {
            waits: Waits::Doubling {
                base: Duration::MAX,
                cap: Duration::MAX,
            },
            jitter: 1.0e308,
            ..RetryProfile::standard()
        };
        assert_eq!(wild.backoff(u32::MAX, 1.0), Duration::MAX);
    }
}
