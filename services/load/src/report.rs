//! What a run did.

use std::time::Duration;

use serde::Serialize;

/// The result of a finished run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadReport {
    /// The run's name, for the judge.
    pub run: String,
    /// Its seed.
    pub seed: u64,
    /// Orders confirmed and shipped.
    pub orders: u64,
    /// Transactions that were committed.
    pub committed_transactions: u64,
    /// Events that were committed: rows of the ledger.
    pub committed_events: u64,
    /// Of these, invalid ones that the relay must reject.
    pub bad_events: u64,
    /// Transactions that were rolled back on purpose.
    pub rolled_back: u64,
    /// Transactions that were held open while others of their chat committed.
    pub held_open: u64,
    /// Times that a worker lost its connection.
    pub reconnects: u64,
    /// Commits whose answer was lost, found committed.
    pub commits_found: u64,
    /// Commits whose answer was lost, found rolled back, and done again.
    pub commits_repeated: u64,
    /// From the first transaction to the last.
    #[serde(rename = "elapsed_seconds", serialize_with = "seconds")]
    pub elapsed: Duration,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Orders confirmed and shipped so far.
    pub orders: u64,
    /// Orders in all.
    pub total_orders: u64,
    /// Events committed so far, those of orders that are not shipped yet left out.
    pub committed_events: u64,
}

/// Numbers that workers add to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) orders: u64,
    pub(crate) committed_transactions: u64,
    pub(crate) committed_events: u64,
    pub(crate) bad_events: u64,
    pub(crate) rolled_back: u64,
    pub(crate) held_open: u64,
    pub(crate) reconnects: u64,
    pub(crate) commits_found: u64,
    pub(crate) commits_repeated: u64,
}

impl Tally {
    pub(crate) fn report(self, run: &str, seed: u64, elapsed: Duration) -> LoadReport {
        LoadReport {
            run: run.to_owned(),
            seed,
            orders: self.orders,
            committed_transactions: self.committed_transactions,
            committed_events: self.committed_events,
            bad_events: self.bad_events,
            rolled_back: self.rolled_back,
            held_open: self.held_open,
            reconnects: self.reconnects,
            commits_found: self.commits_found,
            commits_repeated: self.commits_repeated,
            elapsed,
        }
    }
}

impl std::ops::Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            orders: self.orders + other.orders,
            committed_transactions: self.committed_transactions + other.committed_transactions,
            committed_events: self.committed_events + other.committed_events,
            bad_events: self.bad_events + other.bad_events,
            rolled_back: self.rolled_back + other.rolled_back,
            held_open: self.held_open + other.held_open,
            reconnects: self.reconnects + other.reconnects,
            commits_found: self.commits_found + other.commits_found,
            commits_repeated: self.commits_repeated + other.commits_repeated,
        }
    }
}

fn seconds<S: serde::Serializer>(elapsed: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(elapsed.as_secs_f64())
}
