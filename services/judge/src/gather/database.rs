//! A connection to one of the two databases.

use std::time::Duration;

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row};

use super::GatherError;

/// The longest wait for a connection or for one answer. Reading a million rows takes seconds here.
const DEADLINE: Duration = Duration::from_secs(60);

/// One of the two databases, with its name for errors.
pub(super) struct Database {
    client: Client,
    name: &'static str,
    option: &'static str,
}

impl Database {
    pub(super) async fn connect(
        url: &str,
        name: &'static str,
        option: &'static str,
    ) -> Result<Self, GatherError> {
        let slow = GatherError::Slow {
            database: name,
            option,
        };
        let connected = tokio::time::timeout(DEADLINE, tokio_postgres::connect(url, NoTls));
        let (client, connection) =
            connected
                .await
                .map_err(|_| slow)?
                .map_err(|source| GatherError::Connect {
                    database: name,
                    option,
                    source,
                })?;
        // A failure of the connection reaches the client as the failure of its query.
        tokio::spawn(connection);
        Ok(Self {
            client,
            name,
            option,
        })
    }

    pub(super) async fn query(
        &self,
        what: &'static str,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, GatherError> {
        tokio::time::timeout(DEADLINE, self.client.query(sql, parameters))
            .await
            .map_err(|_| GatherError::Slow {
                database: self.name,
                option: self.option,
            })?
            .map_err(|source| self.query_error(what, source))
    }

    pub(super) async fn has_table(&self, table: &'static str) -> Result<bool, GatherError> {
        let sql = "SELECT to_regclass($1) IS NOT NULL";
        let rows = self.query(table, sql, &[&table]).await?;
        rows.first()
            .map_or(Ok(false), |row| self.column(table, row, 0))
    }

    pub(super) async fn demand_table(
        &self,
        table: &'static str,
        remedy: &'static str,
    ) -> Result<(), GatherError> {
        if self.has_table(table).await? {
            return Ok(());
        }
        Err(GatherError::MissingTable {
            database: self.name,
            table,
            remedy,
        })
    }

    /// A column of a row, by number from 0.
    pub(super) fn column<'r, T: tokio_postgres::types::FromSql<'r>>(
        &self,
        what: &'static str,
        row: &'r Row,
        number: usize,
    ) -> Result<T, GatherError> {
        row.try_get(number)
            .map_err(|source| self.query_error(what, source))
    }

    fn query_error(&self, what: &'static str, source: tokio_postgres::Error) -> GatherError {
        GatherError::Query {
            database: self.name,
            what,
            source,
        }
    }
}
