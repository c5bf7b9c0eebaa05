use std::time::Duration;

use super::{Limit, MAX_COUNT, MAX_PERIOD, MAX_RULES, Rule, ScopeLimits};

/// Why limits cannot be in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LimitsError {
    /// A level has too many rules.
    #[error("{0} rules on one level: at most {MAX_RULES}; remove those that another implies")]
    TooManyRules(usize),
    /// A count is out of range.
    #[error("a count, burst or cost of {0}: give 1 to {MAX_COUNT}")]
    Count(u32),
    /// A message costs more than the bucket holds, so that it could never be sent.
    #[error("a message costs {cost} and the bucket holds {burst}: raise burst or lower cost")]
    CostAboveBurst {
        /// Tokens a message.
        cost: u32,
        /// Capacity.
        burst: u32,
    },
    /// A period or delay is out of range.
    #[error("a period or delay of {0:?}: give 1 ms to {MAX_PERIOD:?}")]
    Period(Duration),
    /// A rate is out of range.
    #[error("a rate of {0} millionths of a token a second: give 12 (one a day) to 10,000,000,000")]
    Rate(u64),
    /// A headroom is out of range.
    #[error("a headroom of {0} thousandths: give 1 to 1000")]
    Headroom(u32),
}

impl ScopeLimits {
    /// Whether these limits can be in force.
    ///
    /// # Errors
    /// The first rule that cannot.
    pub fn validate(&self) -> Result<(), LimitsError> {
        for level in [&self.scope, &self.chat, &self.group] {
            if level.len() > MAX_RULES {
                return Err(LimitsError::TooManyRules(level.len()));
            }
            level.iter().try_for_each(Rule::validate)?;
        }
        Ok(())
    }
}

impl Rule {
    fn validate(&self) -> Result<(), LimitsError> {
        if !(1..=1_000).contains(&self.headroom_permille) {
            return Err(LimitsError::Headroom(self.headroom_permille));
        }
        match self.limit {
            Limit::Window { count, period } => valid_count(count).and(valid_period(period)),
            Limit::Spacing { delay } => valid_period(delay),
            Limit::TokenBucket {
                micro_tokens_per_second,
                burst,
                cost,
            } => {
                valid_count(burst).and(valid_count(cost))?;
                if cost > burst {
                    return Err(LimitsError::CostAboveBurst { cost, burst });
                }
                if !(12..=10_000_000_000).contains(&micro_tokens_per_second) {
                    return Err(LimitsError::Rate(micro_tokens_per_second));
                }
                Ok(())
            }
        }
    }
}

fn valid_count(count: u32) -> Result<(), LimitsError> {
    if (1..=MAX_COUNT).contains(&count) {
        Ok(())
    } else {
        Err(LimitsError::Count(count))
    }
}

fn valid_period(period: Duration) -> Result<(), LimitsError> {
    if (Duration::from_millis(1)..=MAX_PERIOD).contains(&period) {
        Ok(())
    } else {
        Err(LimitsError::Period(period))
    }
}
