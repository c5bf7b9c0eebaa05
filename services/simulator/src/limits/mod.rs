//! The platform's own limits, enforced by arrival and exactly (reference/platforms.md, Telegram).
//!
//! - **Which calls**: those that Telegram would take. Others (a bad token, no text) are refused by the Bot API server itself
//!   and reach no limit. A call counts whatever the script then answers; one that a limit refuses does not.
//! - **When a call arrives**: when the last byte of its body has been read, before anything in it is looked at, by a
//!   monotonic clock. An account's arrivals are judged one after another; one that was read earlier and comes to be judged
//!   later counts as arriving with the one before it.
//! - **What is too much**: a call for which the window already holds `count` arrivals less than `period_ms` old. The 31st of
//!   30 a second is too much 999 ms after the first, and is not 1,000 ms after it.
//! - **Penalties**: a 429, from a limit or from the script, holds its chat or its account from the moment when it is answered
//!   until `retry_after` seconds later. A call that arrives meanwhile is refused with what is left (rounded up), and is *in
//!   penalty* if its sender could know: see [`Limits::excuse_ms`] and [`Limits::account_penalty_chats`].
//!
//! A violation is marked in the log ([`crate::log::Entry`]) and counted ([`AccountStats`]). A simulator that is started again
//! remembers neither windows nor penalties.
//!
//! Reading order: [`Limits`], `account`, `window`, `penalty`, `chats`, [`AccountStats`].

mod account;
mod chats;
mod counts;
mod penalty;
mod settings;
mod validate;
mod window;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use account::Account;
pub(crate) use account::Ruling;
pub use counts::{
    AccountStats, MAX_SECONDS, MAX_WORKERS, OTHER_WORKERS, SecondStats, UNKNOWN_WORKER,
};
pub use settings::{Enforce, Exceeded, Limits, PenaltyScope, SpacingLimit, WindowLimit};
pub use validate::{LimitsError, MAX_GROUP_ARRIVALS, MAX_PERIOD_MS, MAX_WINDOW_COUNT};

/// Every account's limits and what has arrived. An account's lock is held for one call, never across a wait.
pub(crate) struct Limiter {
    started: Instant,
    /// The wall clock at the start; seconds of statistics go on from it, whatever becomes of that clock.
    started_since_epoch: Duration,
    accounts: BTreeMap<String, Mutex<Account>>,
}

impl Limiter {
    /// One state for each of `aliases`, with the limits that `limits` has for it, or none at all.
    ///
    /// # Errors
    /// [`LimitsError`] for a value out of range, or limits of an account that is not among `aliases`.
    pub(crate) fn new<'a>(
        aliases: impl Iterator<Item = &'a String>,
        limits: &BTreeMap<String, Limits>,
    ) -> Result<Self, LimitsError> {
        let account = |alias: &String| {
            let limits = limits.get(alias).copied().unwrap_or_else(Limits::off);
            (alias.clone(), Mutex::new(Account::new(limits)))
        };
        let limiter = Self {
            started: Instant::now(),
            started_since_epoch: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default(),
            accounts: aliases.map(account).collect(),
        };
        limiter.replace(limits)?;
        Ok(limiter)
    }

    /// The monotonic time since the start.
    pub(crate) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Judges a call of `account` to `chat_id` that was read whole at `arrived`, and whose head was read at `began`.
    pub(crate) fn arrive(
        &self,
        account: &str,
        chat_id: &str,
        began: Duration,
        arrived: Duration,
    ) -> Ruling {
        self.account(account).map_or_else(
            || Ruling::free(arrived),
            |mut account| account.arrive(chat_id, began, arrived),
        )
    }

    /// Counts a call of `account` that [`Limiter::arrive`] judged so, made by the worker that `attempt` names.
    pub(crate) fn count(
        &self,
        account: &str,
        ruling: &Ruling,
        accepted: bool,
        attempt: Option<&str>,
    ) {
        let unix_second = (self.started_since_epoch + ruling.arrived).as_secs();
        if let Some(mut account) = self.account(account) {
            account.count(ruling, accepted, unix_second, attempt);
        }
    }

    /// Opens the penalty of a 429 that is answered now.
    pub(crate) fn announce(
        &self,
        account: &str,
        chat_id: &str,
        scope: PenaltyScope,
        retry_after: u64,
    ) {
        let now = self.now();
        if let Some(mut account) = self.account(account) {
            account.announce(chat_id, scope, Duration::from_secs(retry_after), now);
        }
    }

    /// Puts limits in force for the accounts named, all or none; arrivals and penalties so far stay.
    ///
    /// # Errors
    /// [`LimitsError`] for a value out of range or an unknown account; every account's limits stay as they were.
    pub(crate) fn replace(&self, limits: &BTreeMap<String, Limits>) -> Result<(), LimitsError> {
        for (alias, limits) in limits {
            limits.validate(alias)?;
            if !self.accounts.contains_key(alias) {
                return Err(LimitsError::UnknownAccount {
                    alias: alias.clone(),
                });
            }
        }
        for (alias, limits) in limits {
            tracing::info!(account = %alias, ?limits, "limits in force");
            if let Some(mut account) = self.account(alias) {
                account.limits = *limits;
            }
        }
        Ok(())
    }

    /// The limits in force, by alias.
    pub(crate) fn limits(&self) -> BTreeMap<String, Limits> {
        self.each(|account| account.limits)
    }

    /// Counts by alias; seconds from the Unix second `seconds_from` on, or none.
    pub(crate) fn stats(&self, seconds_from: Option<u64>) -> BTreeMap<String, AccountStats> {
        self.each(|account| account.stats(seconds_from))
    }

    /// Forgets arrivals, penalties and counts; the limits stay in force.
    pub(crate) fn reset(&self) {
        self.each(|account| *account = Account::new(account.limits));
    }

    fn each<R>(&self, mut look: impl FnMut(&mut Account) -> R) -> BTreeMap<String, R> {
        let aliases = self.accounts.keys();
        let looked = |alias: &String| {
            let mut account = self.account(alias)?;
            Some((alias.clone(), look(&mut account)))
        };
        aliases.filter_map(looked).collect()
    }

    fn account(&self, alias: &str) -> Option<MutexGuard<'_, Account>> {
        let account = self.accounts.get(alias)?;
        Some(account.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests;
