//! What limits may not ask for.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use thiserror::Error;

use super::settings::{Limits, SpacingLimit, WindowLimit};

/// The most arrivals that a window may allow: each of them is remembered.
pub const MAX_WINDOW_COUNT: u32 = 100_000;
/// The longest period or spacing, in milliseconds (a day).
pub const MAX_PERIOD_MS: u64 = 86_400_000;
/// The most arrivals in groups that an account's `group.count` × `max_chats` may ask to remember (64 MiB).
pub const MAX_GROUP_ARRIVALS: u64 = 4_194_304;

const MAX_BURST: u32 = 1_000;
const MAX_EXCUSE_MS: u64 = 60_000;
const MAX_CHATS: usize = 1_000_000;

/// Why limits are refused; the ones before stay in force.
#[derive(Debug, Error)]
pub enum LimitsError {
    /// They are not JSON of the documented shape.
    #[error("the limits are not the JSON that is documented, one object for each account: {0}")]
    Json(#[from] serde_json::Error),
    /// The account is not one of the simulator's.
    #[error("{alias}: is no account of this simulator; name one that it was started with")]
    UnknownAccount {
        /// The alias given.
        alias: String,
    },
    /// A value is out of its range.
    #[error("{alias}: {problem}")]
    Value {
        /// The account.
        alias: String,
        /// Which value, and what would be right.
        problem: &'static str,
    },
}

impl Limits {
    /// Reads one account's limits from JSON; the ranges are checked when they are put in force.
    ///
    /// # Errors
    /// [`LimitsError::Json`] if it is not an object of the documented shape.
    pub fn from_json(json: &[u8]) -> Result<Self, LimitsError> {
        // An array is no limits, although serde would take its items for fields.
        let object: Map<String, Value> = serde_json::from_slice(json)?;
        Ok(serde_json::from_value(Value::Object(object))?)
    }

    /// Reads the limits of several accounts, an object by alias.
    ///
    /// # Errors
    /// As [`Limits::from_json`].
    pub(crate) fn by_account(json: &[u8]) -> Result<BTreeMap<String, Self>, LimitsError> {
        let accounts: BTreeMap<String, Map<String, Value>> = serde_json::from_slice(json)?;
        let read = |(alias, object)| Ok((alias, serde_json::from_value(Value::Object(object))?));
        accounts.into_iter().map(read).collect()
    }

    /// Checks every value.
    ///
    /// # Errors
    /// [`LimitsError::Value`] for the first value out of range.
    pub(super) fn validate(&self, alias: &str) -> Result<(), LimitsError> {
        match self.problem() {
            None => Ok(()),
            Some(problem) => Err(LimitsError::Value {
                alias: alias.to_owned(),
                problem,
            }),
        }
    }

    fn problem(&self) -> Option<&'static str> {
        let windows = [self.account, self.group].into_iter().flatten();
        let group_count = self.group.map_or(0, |group| u64::from(group.count));
        let checks = [
            (
                windows.clone().all(fits),
                "account and group must have a count of 1 to 100000 and a period_ms of 1 to 86400000",
            ),
            (
                self.chat.is_none_or(spacing_fits),
                "chat must have a spacing_ms of 1 to 86400000 and a burst of 1 to 1000",
            ),
            (
                self.excuse_ms <= MAX_EXCUSE_MS,
                "excuse_ms must be at most 60000",
            ),
            (
                (1..=2).contains(&self.account_penalty_chats),
                "account_penalty_chats must be 1 or 2",
            ),
            (
                (1..=MAX_CHATS).contains(&self.max_chats),
                "max_chats must be 1 to 1000000",
            ),
            (
                group_count.saturating_mul(self.max_chats as u64) <= MAX_GROUP_ARRIVALS,
                "group.count times max_chats must be at most 4194304: lower one of them",
            ),
        ];
        let broken = checks.into_iter().find(|(holds, _)| !holds);
        broken.map(|(_, problem)| problem)
    }
}

fn fits(window: WindowLimit) -> bool {
    (1..=MAX_WINDOW_COUNT).contains(&window.count)
        && (1..=MAX_PERIOD_MS).contains(&window.period_ms)
}

fn spacing_fits(spacing: SpacingLimit) -> bool {
    (1..=MAX_BURST).contains(&spacing.burst) && (1..=MAX_PERIOD_MS).contains(&spacing.spacing_ms)
}
