//! What to commit, and how.

use std::fmt;
use std::time::Duration;

use thiserror::Error;
use uuid::Uuid;

/// Options of one run. Shares are between 0 and 1. `Debug` does not print the URL: it carries a password.
#[derive(Clone)]
pub struct LoadOptions {
    /// URL of the upstream database, in which `tidings.publish` must exist.
    pub database_url: String,
    /// Name of the run, in every row of it. Default: a random UUID.
    pub run: String,
    /// Orders to confirm and ship. Default 3,000.
    pub orders: u32,
    /// Chats that they go to, at random. Default 500.
    pub chats: u32,
    /// Id of the first chat; the others follow. Default 1,000,001.
    pub first_chat_id: i64,
    /// The account that shall send. Default `main`.
    pub account: String,
    /// Transactions at once, each on a connection of its own (and one more while one is held open).
    /// Default 8.
    pub workers: u32,
    /// Share of orders whose first transaction is rolled back before it is tried again. Default 0.05.
    pub rollback_share: f64,
    /// Share of transactions whose events go to the lane `high`. Default 0.1.
    pub high_share: f64,
    /// Share of orders with a `notification.requested` in the first transaction. Default 0.2.
    pub notification_share: f64,
    /// Share of orders whose first transaction stays open, its events inserted, while one to three
    /// others of its chat commit: inverted commit order. Default 0.05.
    pub inverted_share: f64,
    /// Share of orders with an invalid event besides, which the relay must reject. Default 0.
    pub bad_share: f64,
    /// Share of orders that are confirmed with version 2 of `order.confirmed`. Default 0.
    pub second_version_share: f64,
    /// Share of orders that go to the first chat whatever chance says. Default 0.
    pub hot_chat_share: f64,
    /// Whether transactions lock the chats they publish to (design §6); excludes `inverted_share`.
    /// Default off.
    pub lock_chat: bool,
    /// Events a second over all workers; `None` is as fast as it goes. Default `None`.
    pub rate_per_second: Option<f64>,
    /// Orders that a worker confirms before it ships the oldest of them. Default 8.
    pub ship_after: u32,
    /// From this the plan of every order follows. Default: random.
    pub seed: u64,
    /// The longest wait for one answer of Postgres. Default 30 s.
    pub answer_deadline: Duration,
    /// The longest time without a connection before the run fails. Default 2 min.
    pub reconnect_deadline: Duration,
}

impl LoadOptions {
    /// The defaults, for one database.
    pub fn new(database_url: impl Into<String>) -> Self {
        Self {
            database_url: database_url.into(),
            run: Uuid::new_v4().to_string(),
            orders: 3_000,
            chats: 500,
            first_chat_id: 1_000_001,
            account: "main".to_owned(),
            workers: 8,
            rollback_share: 0.05,
            high_share: 0.1,
            notification_share: 0.2,
            inverted_share: 0.05,
            bad_share: 0.0,
            second_version_share: 0.0,
            hot_chat_share: 0.0,
            lock_chat: false,
            rate_per_second: None,
            ship_after: 8,
            seed: rand::random(),
            answer_deadline: Duration::from_secs(30),
            reconnect_deadline: Duration::from_secs(120),
        }
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first option that cannot be, with its remedy.
    pub fn validate(&self) -> Result<(), InvalidOption> {
        self.validate_shares()?;
        demand(self.chats > 0, "chats", "use at least 1")?;
        demand((1..=256).contains(&self.workers), "workers", "use 1 to 256")?;
        demand(
            self.ship_after <= 100_000,
            "ship_after",
            "use at most 100000",
        )?;
        demand(!self.run.is_empty(), "run", "name the run, or leave it out")?;
        let last = self.first_chat_id.checked_add(i64::from(self.chats));
        demand(last.is_some(), "first_chat_id", "use a smaller one")?;
        let rate = self
            .rate_per_second
            .is_none_or(|rate| rate.is_finite() && rate > 0.0);
        demand(rate, "rate_per_second", "use a positive number")?;
        demand(
            !(self.lock_chat && self.inverted_share > 0.0),
            "inverted_share",
            "use 0 with lock_chat: a held transaction would wait for itself",
        )
    }

    fn validate_shares(&self) -> Result<(), InvalidOption> {
        for (option, share) in [
            ("rollback_share", self.rollback_share),
            ("high_share", self.high_share),
            ("notification_share", self.notification_share),
            ("inverted_share", self.inverted_share),
            ("bad_share", self.bad_share),
            ("second_version_share", self.second_version_share),
            ("hot_chat_share", self.hot_chat_share),
        ] {
            demand((0.0..=1.0).contains(&share), option, "use 0 to 1")?;
        }
        Ok(())
    }
}

impl fmt::Debug for LoadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadOptions")
            .field("run", &self.run)
            .field("orders", &self.orders)
            .field("chats", &self.chats)
            .field("workers", &self.workers)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// An option that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("option {option}: {remedy}")]
pub struct InvalidOption {
    /// Which one.
    pub option: &'static str,
    /// What to use instead.
    pub remedy: &'static str,
}

fn demand(holds: bool, option: &'static str, remedy: &'static str) -> Result<(), InvalidOption> {
    if holds {
        return Ok(());
    }
    Err(InvalidOption { option, remedy })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut LoadOptions)) -> &'static str {
        let mut options = LoadOptions::new("postgres://user:secret@host/db");
        change(&mut options);
        options.validate().unwrap_err().option
    }

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(LoadOptions::new("").validate(), Ok(()));
    }

    #[test]
    fn impossible_values_are_refused_by_name() {
        assert_eq!(refused(|o| o.rollback_share = 1.5), "rollback_share");
        assert_eq!(refused(|o| o.bad_share = f64::NAN), "bad_share");
        assert_eq!(refused(|o| o.chats = 0), "chats");
        assert_eq!(refused(|o| o.workers = 0), "workers");
        assert_eq!(refused(|o| o.first_chat_id = i64::MAX), "first_chat_id");
        assert_eq!(
            refused(|o| o.rate_per_second = Some(0.0)),
            "rate_per_second"
        );
        assert_eq!(refused(|o| o.lock_chat = true), "inverted_share");
    }

    #[test]
    fn debug_hides_the_password() {
        let options = LoadOptions::new("postgres://user:secret@host/db");
        assert!(!format!("{options:?}").contains("secret"));
    }
}
