//! What both databases have in common: a server that is new enough and can be written to.

use tokio::task::JoinHandle;
use tokio_postgres::{Client, Error, Row};

use super::{Finding, words};
use crate::config::DatabaseConfig;
use crate::postgres::{PostgresError, connect};

/// The oldest server, as `server_version_num`: the relay sets `idle_session_timeout`, which 14 brought.
const OLDEST: i32 = 140_000;

const APPLICATION: &str = "tidings-doctor";

/// A session that ends with this.
pub(super) struct Session {
    pub(super) client: Client,
    task: JoinHandle<()>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(super) async fn open(database: &DatabaseConfig) -> Result<Session, PostgresError> {
    let (client, task) = connect(database, APPLICATION).await?;
    Ok(Session { client, task })
}

/// What the server says of itself.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) version_num: i32,
    pub(super) version: String,
    pub(super) user: String,
    /// It replays another server's log.
    pub(super) replica: bool,
    /// Transactions are read-only by default.
    pub(super) read_only: bool,
}

impl Server {
    pub(super) async fn ask(client: &Client) -> Result<Self, Error> {
        let sql = "select current_setting('server_version_num')::int, current_setting('server_version'),
                          current_user::text, pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'";
        let row: Row = client.query_one(sql, &[]).await?;
        Ok(Self {
            version_num: row.try_get(0)?,
            version: row.try_get(1)?,
            user: row.try_get(2)?,
            replica: row.try_get(3)?,
            read_only: row.try_get(4)?,
        })
    }

    pub(super) fn judge(&self, check: &'static str, key: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.version_num < OLDEST {
            findings.push(Finding::problem(
                check,
                key,
                format!("PostgreSQL {}", self.version),
                "use PostgreSQL 14 or newer",
            ));
        }
        if self.replica {
            findings.push(Finding::problem(
                check,
                key,
                "the server is a replica",
                "name the primary: rows that a replica shows late would be published late or in another order",
            ));
        } else if self.read_only {
            findings.push(Finding::problem(
                check,
                key,
                "transactions are read-only (default_transaction_read_only)",
                "name the primary, or let this user write",
            ));
        }
        findings
    }
}

/// There is no session, or a question failed.
pub(super) fn no_answer(check: &'static str, key: &str, error: &PostgresError) -> Finding {
    let remedy = match error {
        PostgresError::Url | PostgresError::Authority { .. } | PostgresError::Tls(_) => {
            "correct the URL or ca_file"
        }
        PostgresError::Connect(_) => {
            "check that the server runs, the host, port, user and database are right, and pg_hba.conf lets this machine in"
        }
        PostgresError::Statement { .. }
        | PostgresError::Migration { .. }
        | PostgresError::MigrationChanged { .. }
        | PostgresError::Pool(_)
        | PostgresError::Build(_) => "the server's log says more",
    };
    Finding::problem(check, key, words(error), remedy)
}

/// A list for people, cut where it gets long.
pub(super) fn listed(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>();
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => shown.join(", "),
        Some(more) => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(change: impl FnOnce(&mut Server)) -> Vec<String> {
        let mut server = Server {
            version_num: 150_006,
            version: "15.6".into(),
            user: "u".into(),
            replica: false,
            read_only: false,
        };
        change(&mut server);
        let findings = server.judge("state", "state.database");
        findings.into_iter().map(|finding| finding.remedy).collect()
    }

    #[test]
    fn old_servers_and_replicas_are_refused() {
        assert!(server(|_| ()).is_empty());
        assert!(server(|s| s.version_num = 130_014)[0].contains("14 or newer"));
        // A replica is read-only too: one line is enough.
        let replica = server(|s| (s.replica, s.read_only) = (true, true));
        assert_eq!(replica.len(), 1);
        assert!(replica[0].contains("primary"));
        assert!(server(|s| s.read_only = true)[0].contains("primary"));
    }
}
