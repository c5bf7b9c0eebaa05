//! Why a run ends early.

use std::time::Duration;

use thiserror::Error;

use crate::options::InvalidOption;

/// A run that cannot go on. No text holds the URL of the database.
#[derive(Debug, Error)]
pub enum LoadError {
    /// An option cannot be.
    #[error(transparent)]
    Option(#[from] InvalidOption),
    /// Postgres could not be reached for too long.
    #[error("no connection to the upstream database for {} s; check its URL and that it runs", after.as_secs())]
    Unreachable {
        /// How long it was tried.
        after: Duration,
        /// What the last try said; `None` when it got no answer.
        source: Option<tokio_postgres::Error>,
    },
    /// The outbox is missing.
    #[error("the upstream database has no tidings.publish; apply schemas/outbox/001_outbox.sql")]
    NoOutbox(#[source] tokio_postgres::Error),
    /// Postgres refused a statement, and would again.
    #[error("the upstream database refused to {what}")]
    Refused {
        /// What was tried.
        what: &'static str,
        /// What it says.
        source: tokio_postgres::Error,
    },
    /// A transaction whose answer was lost did not end.
    #[error("transaction {xid} is still in progress {} s after its connection was lost; end its backend", after.as_secs())]
    Undecided {
        /// Its id in Postgres.
        xid: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// A worker stopped without a result.
    #[error("a load worker stopped early")]
    Worker(#[from] tokio::task::JoinError),
}
