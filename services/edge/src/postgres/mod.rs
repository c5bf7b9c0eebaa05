//! Postgres: dedicated sessions, a bounded pool, the migrations of Tidings' own database, the outbox' SQL.
//!
//! tokio-postgres, not an ORM (reference/libraries.md): a dispatcher's claim is one statement, pipelined.

mod connect;
mod migrate;
mod outbox;
mod partitions;

pub use connect::{connect, is_connection_url, pool};
pub use deadpool_postgres::{Object as PooledClient, Pool};
pub(crate) use migrate::embedded_migrations;
pub use migrate::migrate;
pub use outbox::apply_outbox;
pub(crate) use outbox::outbox_functions;
pub use partitions::{
    drop_claim_partitions, ensure_claim_partitions, ensure_claim_partitions_ahead,
};
pub use tokio_postgres::Client;

/// Why something with Postgres failed. No variant holds a URL or a password.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// The connection URL cannot be used.
    #[error("the database URL cannot be used; use postgres://user@host:port/database")]
    Url,
    /// The certificate authority's file cannot be read or is no PEM certificate.
    #[error("ca_file: cannot use {path}")]
    Authority {
        /// The configured path.
        path: std::path::PathBuf,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// TLS could not be set up.
    #[error("TLS for Postgres could not be set up")]
    Tls(#[source] native_tls::Error),
    /// There is no session with the server.
    #[error("cannot connect to Postgres")]
    Connect(#[source] tokio_postgres::Error),
    /// A statement failed.
    #[error("Postgres: {doing} failed")]
    Statement {
        /// What was being done.
        doing: &'static str,
        /// What the server said.
        #[source]
        source: tokio_postgres::Error,
    },
    /// A migration failed; nothing of it is applied.
    #[error("migration {name} failed and was rolled back")]
    Migration {
        /// The migration's file name.
        name: &'static str,
        /// What the server said.
        #[source]
        source: tokio_postgres::Error,
    },
    /// A migration that is applied differs from the one in this binary.
    #[error(
        "migration {name} was applied with another text; run the version of tidings that applied it, or restore the file"
    )]
    MigrationChanged {
        /// The migration's file name.
        name: &'static str,
    },
    /// No connection came free in time, or a new one failed.
    #[error("no connection of the pool came free")]
    Pool(#[from] deadpool_postgres::PoolError),
    /// The pool could not be built.
    #[error("the pool could not be built")]
    Build(#[from] deadpool_postgres::BuildError),
}

impl PostgresError {
    /// For `map_err`: a statement's failure with what was being done.
    pub fn doing(doing: &'static str) -> impl FnOnce(tokio_postgres::Error) -> Self {
        move |source| Self::Statement { doing, source }
    }
}
