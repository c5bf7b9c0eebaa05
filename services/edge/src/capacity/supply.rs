//! What one consumer has, and what the platforms take from all of them.

use tidings_ratelimit::{Limit, Rule, ScopeLimits};

use crate::config::Config;

/// The connection that each dispatcher has for maintenance, beside `dispatcher.database_connections`.
pub const MAINTENANCE_CONNECTIONS: usize = 1;

/// Connections to the state database that one consumer takes at most.
#[must_use]
pub fn connections_per_consumer(config: &Config) -> usize {
    config.dispatcher.database_connections + MAINTENANCE_CONNECTIONS
}

/// Calls that one consumer has in flight at most: its own bound, or what its accounts' bounds add up to.
#[must_use]
pub fn concurrency_per_consumer(config: &Config) -> usize {
    let dispatcher = &config.dispatcher;
    let accounts = config.accounts.values().map(|account| {
        account
            .max_in_flight_calls
            .unwrap_or(dispatcher.max_in_flight_calls_per_account)
    });
    let of_accounts = accounts.reduce(usize::saturating_add);
    of_accounts.map_or(dispatcher.max_in_flight_calls, |sum| {
        sum.min(dispatcher.max_in_flight_calls)
    })
}

/// Messages a second that an account's limits let through for as long as one likes, whatever their chats; `None` without
/// a limit.
#[must_use]
pub fn quota_per_second(limits: &ScopeLimits) -> Option<f64> {
    limits.scope.iter().map(rate).reduce(f64::min)
}

fn rate(rule: &Rule) -> f64 {
    let headroom = f64::from(rule.headroom_permille) / 1_000.0;
    let whole = match rule.limit {
        Limit::Window { count, period } => f64::from(count) / period.as_secs_f64(),
        Limit::TokenBucket {
            micro_tokens_per_second,
            cost,
            ..
        } => {
            #[allow(clippy::cast_precision_loss)] // far below 2^53
            let tokens = micro_tokens_per_second as f64 / 1_000_000.0;
            tokens / f64::from(cost.max(1))
        }
        Limit::Spacing { delay } => 1.0 / delay.as_secs_f64(),
    };
    whole * headroom
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::LimitsProposal;

    #[test]
    fn a_consumer_has_as_many_places_as_its_tightest_bound() {
        let mut config = Config::defaults().unwrap();
        assert_eq!(concurrency_per_consumer(&config), 512);
        for (alias, calls) in [("telegram:a", 8), ("telegram:b", 16)] {
            let account = serde_json::json!({"max_in_flight_calls": calls});
            let account = serde_json::from_value(account).unwrap();
            config.accounts.insert(alias.into(), account);
        }
        assert_eq!(concurrency_per_consumer(&config), 24);
        config.dispatcher.max_in_flight_calls = 20;
        assert_eq!(concurrency_per_consumer(&config), 20);
    }

    #[test]
    fn the_tightest_rule_over_an_account_is_its_quota() {
        let quota = |proposal: LimitsProposal| {
            let limits = proposal.scope_limits("webhook").unwrap();
            quota_per_second(&limits)
        };
        assert_eq!(quota(LimitsProposal::default()), None);
        let bucket = LimitsProposal {
            rate: Some(80.0),
            cost: Some(2),
            ..LimitsProposal::default()
        };
        assert_eq!(
            quota(bucket.clone()),
            Some(30.0),
            "three quarters of a bucket are used"
        );
        let both = LimitsProposal {
            account: vec!["20/1m".parse().unwrap(), "1000/1s".parse().unwrap()],
            ..bucket
        };
        let found = quota(both).unwrap();
        assert!((found - 20.0 / 60.0).abs() < 1e-9, "{found}");
        let apart = ScopeLimits {
            scope: vec![Rule::new(Limit::Spacing {
                delay: Duration::from_millis(50),
            })],
            ..ScopeLimits::default()
        };
        assert_eq!(quota_per_second(&apart), Some(20.0));
    }
}
