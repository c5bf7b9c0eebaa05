//! From limits as people write them to limits that can be in force.

use std::time::Duration;

use tidings_ratelimit::{Limit, LimitsError, Rule, ScopeLimits, SourcePreset, exact_limits};

use crate::config::{LimitsProposal, WindowLimit};

/// Why what somebody wrote cannot be limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProposalError {
    /// No preset has this name.
    #[error("preset: there is no {name:?}; the presets are {}", preset_names())]
    Preset {
        /// What was written.
        name: String,
    },
    /// The rate is no rate.
    #[error("rate: {0}; give messages a second, more than 0 and at most 10000")]
    Rate(String),
    /// Something about a bucket, and no bucket.
    #[error("{0}: it belongs to a token bucket; give rate too, or leave it out")]
    NoBucket(&'static str),
    /// The headroom is no share.
    #[error("headroom: {0}; give a share from 0.001 to 1")]
    Headroom(String),
    /// They cannot be in force.
    #[error(transparent)]
    Limits(#[from] LimitsError),
}

impl LimitsProposal {
    /// The limits of a scope of this platform: everything that is written, added to the platform's exact limits unless
    /// those are left out. Adding never loosens (requirement L2).
    ///
    /// # Errors
    /// Something that is written is out of range or does not exist.
    pub fn scope_limits(&self, platform: &str) -> Result<ScopeLimits, ProposalError> {
        let exact = match self.exact {
            None | Some(true) => exact_limits(platform),
            Some(false) => ScopeLimits::default(),
        };
        let mut limits = exact
            .with(self.preset()?)
            .with(self.windows())
            .with(self.bucket()?);
        if let Some(headroom) = self.headroom {
            use_share(&mut limits, headroom)?;
        }
        limits.validate()?;
        Ok(limits)
    }

    fn preset(&self) -> Result<ScopeLimits, ProposalError> {
        let Some(name) = &self.preset else {
            return Ok(ScopeLimits::default());
        };
        let preset = SourcePreset::by_name(name).map(SourcePreset::limits);
        preset.ok_or_else(|| ProposalError::Preset { name: name.clone() })
    }

    fn windows(&self) -> ScopeLimits {
        let mut chat = rules(&self.chat);
        let delay = self
            .chat_delay
            .map(|delay| Rule::new(Limit::Spacing { delay }));
        chat.extend(delay);
        ScopeLimits {
            scope: rules(&self.account),
            chat,
            group: rules(&self.group),
        }
    }

    fn bucket(&self) -> Result<ScopeLimits, ProposalError> {
        let Some(rate) = self.rate else {
            return match (self.burst, self.cost) {
                (Some(_), _) => Err(ProposalError::NoBucket("burst")),
                (None, Some(_)) => Err(ProposalError::NoBucket("cost")),
                (None, None) => Ok(ScopeLimits::default()),
            };
        };
        let micro_tokens_per_second =
            micro_tokens(rate).ok_or_else(|| ProposalError::Rate(rate.to_string()))?;
        let rate_whole =
            u32::try_from(micro_tokens_per_second.div_ceil(1_000_000)).unwrap_or(u32::MAX);
        let cost = self.cost.unwrap_or(1);
        let bucket = Rule::new(Limit::TokenBucket {
            micro_tokens_per_second,
            burst: self.burst.unwrap_or_else(|| rate_whole.max(cost)),
            cost,
        });
        Ok(ScopeLimits {
            scope: vec![bucket],
            ..ScopeLimits::default()
        })
    }
}

fn rules(windows: &[WindowLimit]) -> Vec<Rule> {
    let rules = windows
        .iter()
        .map(|&WindowLimit { count, period }| Rule::new(Limit::Window { count, period }));
    rules.collect()
}

fn micro_tokens(rate: f64) -> Option<u64> {
    let wait = Duration::try_from_secs_f64(rate).ok()?;
    u64::try_from(wait.as_micros())
        .ok()
        .filter(|&rate| rate > 0 && rate <= 10_000_000_000)
}

fn use_share(limits: &mut ScopeLimits, share: f64) -> Result<(), ProposalError> {
    let refused = || ProposalError::Headroom(share.to_string());
    let wanted = Duration::try_from_secs_f64(share).map_err(|_| refused())?;
    let permille = u32::try_from(wanted.as_millis()).map_err(|_| refused())?;
    if !(1..=1_000).contains(&permille) {
        return Err(refused());
    }
    for level in [&mut limits.scope, &mut limits.chat, &mut limits.group] {
        for rule in level {
            rule.headroom_permille = permille;
        }
    }
    Ok(())
}

fn preset_names() -> String {
    SourcePreset::ALL.map(SourcePreset::name).join(", ")
}

#[cfg(test)]
mod tests;
