//! One shard's session with upstream's database. It holds the shard's advisory lock and does all reads and deletes of
//! the shard itself, so that a relay that loses it loses the shard with it.

use std::future::Future;
use std::time::Duration;

use futures::TryStreamExt;
use tidings_edge::config::DatabaseConfig;
use tidings_edge::postgres::{self, PostgresError};
use tidings_outbox::{ReadPlan, SnapshotError};
use tokio::task::JoinHandle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

use crate::options::Tuning;
use crate::read::{Read, ReadBounds, Reading, read_sql};
use crate::row::read_line;
use crate::setup::{self, Acquired};

/// Why a session cannot go on. All of them end it; what was not deleted is read again by the next.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    /// There is no session.
    #[error("no session with the upstream database")]
    Connect(#[from] PostgresError),
    /// A statement failed.
    #[error("{doing} failed")]
    Statement {
        /// What was being done.
        doing: &'static str,
        /// What the server said.
        #[source]
        source: tokio_postgres::Error,
    },
    /// A statement took too long.
    #[error("{doing} took longer than {deadline_seconds} s")]
    Deadline {
        /// What was being done.
        doing: &'static str,
        /// How long it may take.
        deadline_seconds: u64,
    },
    /// The server's snapshot cannot be read.
    #[error("the database's snapshot cannot be read")]
    Snapshot(#[from] SnapshotError),
    /// The read statement's answer lacks its snapshot.
    #[error("the read came back without its snapshot")]
    NoSnapshot,
    /// Another backend answers than the one that took the lock.
    #[error(
        "the session's backend changed under its lock: a pooler that shares backends between sessions cannot be used \
         here; let upstream.database name the server itself"
    )]
    Fenced,
}

/// A row that cannot become an envelope.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) id: i64,
    pub(crate) code: &'static str,
    pub(crate) field: String,
    pub(crate) reason: String,
}

/// One shard's session.
#[derive(Debug)]
pub(crate) struct Session {
    client: Client,
    connection: JoinHandle<()>,
    backend_pid: i32,
    shard: i32,
    shards: i32,
    deadline: Duration,
    read: Statement,
    delete: Statement,
    reject: Statement,
}

impl Session {
    /// Opens a session and takes the shard's lock; `None` if another relay has the shard, or relays that divide the
    /// outbox into another number of shards are still there.
    pub(crate) async fn acquire(
        database: &DatabaseConfig,
        shard: u32,
        shards: u32,
        tuning: &Tuning,
    ) -> Result<Option<Self>, SessionError> {
        let deadline = tuning.statement_deadline;
        let (client, connection) = postgres::connect(database, "tidings-relay").await?;
        let (shard, shards) = (to_i32(shard), to_i32(shards));
        let opening = open(client, connection, shard, shards, tuning);
        within(deadline, "opening a shard's session", opening).await
    }

    /// Reads as planned.
    pub(crate) async fn read(
        &self,
        plan: &ReadPlan,
        bounds: ReadBounds,
    ) -> Result<Read, SessionError> {
        let reading = self.read_rows(plan, bounds);
        within(self.deadline, "reading the outbox", reading).await
    }

    async fn read_rows(&self, plan: &ReadPlan, bounds: ReadBounds) -> Result<Read, SessionError> {
        let xids: Vec<i64> = plan
            .xids
            .iter()
            .map(|xid| i64::try_from(*xid).unwrap_or(i64::MAX))
            .collect();
        let limit = i64::try_from(bounds.rows).unwrap_or(i64::MAX);
        let payload_bytes = i32::try_from(bounds.payload_bytes).unwrap_or(i32::MAX);
        let parameters: [&(dyn ToSql + Sync); 8] = [
            &plan.position,
            &xids,
            &plan.restarts,
            &self.shards,
            &self.shard,
            &plan.skip,
            &limit,
            &payload_bytes,
        ];
        let failed = |source| SessionError::Statement {
            doing: "reading the outbox",
            source,
        };
        let answer = self
            .client
            .query_raw(&self.read, parameters)
            .await
            .map_err(failed)?;
        let mut lines = std::pin::pin!(answer);
        let mut reading = Reading::default();
        while let Some(line) = lines.try_next().await.map_err(failed)? {
            reading.take(read_line(&line).map_err(failed)?, bounds);
            // What comes after is not lost: to the cursor the read was cut here.
            if reading.full {
                break;
            }
        }
        reading.finish(plan.position, bounds)
    }

    /// Deletes rows; those of another owner's work are gone already. Checks that the backend is the lock's.
    pub(crate) async fn delete(&self, ids: &[i64]) -> Result<(), SessionError> {
        let doing = "deleting acknowledged rows";
        let parameters: [&(dyn ToSql + Sync); 2] = [&ids, &self.backend_pid];
        self.fenced(doing, &self.delete, &parameters).await
    }

    /// Moves rows to `outbox_rejected`, with the reasons.
    pub(crate) async fn reject(&self, rows: &[Refused]) -> Result<(), SessionError> {
        let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
        let codes: Vec<&str> = rows.iter().map(|row| row.code).collect();
        // Postgres' text has no U+0000, and a reason may quote a row.
        let clean = |text: &String| text.replace('\0', "\u{fffd}");
        let fields: Vec<String> = rows.iter().map(|row| clean(&row.field)).collect();
        let reasons: Vec<String> = rows.iter().map(|row| clean(&row.reason)).collect();
        let doing = "moving rejected rows";
        let parameters: [&(dyn ToSql + Sync); 5] =
            [&ids, &self.backend_pid, &codes, &fields, &reasons];
        self.fenced(doing, &self.reject, &parameters).await
    }

    async fn fenced(
        &self,
        doing: &'static str,
        statement: &Statement,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<(), SessionError> {
        let running = async {
            let answer = self.client.query_one(statement, parameters).await;
            let answer = answer.map_err(|source| SessionError::Statement { doing, source })?;
            let backend_pid: i32 = answer
                .try_get(0)
                .map_err(|source| SessionError::Statement { doing, source })?;
            if backend_pid == self.backend_pid {
                Ok(())
            } else {
                Err(SessionError::Fenced)
            }
        };
        within(self.deadline, doing, running).await
    }
}

impl Drop for Session {
    /// Closes the session, which frees its locks.
    fn drop(&mut self) {
        self.connection.abort();
    }
}

async fn open(
    client: Client,
    connection: JoinHandle<()>,
    shard: i32,
    shards: i32,
    tuning: &Tuning,
) -> Result<Option<Session>, SessionError> {
    setup::prepare_session(&client, tuning).await?;
    let Acquired::Owned { backend_pid } = setup::acquire(&client, shard, shards).await? else {
        connection.abort();
        return Ok(None);
    };
    let prepare = async |doing, sql: &str| {
        client
            .prepare(sql)
            .await
            .map_err(|source| SessionError::Statement { doing, source })
    };
    Ok(Some(Session {
        backend_pid,
        shard,
        shards,
        deadline: tuning.statement_deadline,
        read: prepare("preparing the read", &read_sql()).await?,
        delete: prepare("preparing the delete", DELETE).await?,
        reject: prepare("preparing the move of rejected rows", &reject_sql()).await?,
        client,
        connection,
    }))
}

async fn within<T>(
    deadline: Duration,
    doing: &'static str,
    work: impl Future<Output = Result<T, SessionError>>,
) -> Result<T, SessionError> {
    let late = |_| SessionError::Deadline {
        doing,
        deadline_seconds: deadline.as_secs(),
    };
    tokio::time::timeout(deadline, work).await.map_err(late)?
}

fn to_i32(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// The check of the backend is in the delete itself and in its answer.
const DELETE: &str = "with gone as (
        delete from tidings.outbox where id = any($1::bigint[]) and pg_backend_pid() = $2::int returning id)
    select pg_backend_pid(), (select count(*) from gone)";

/// The columns that a rejected row takes over.
const MOVED: &str = "id, message_id, event_type, event_version, data, data_bytes, aggregate_type, aggregate_id, \
     aggregate_sequence, platform, account, chat_id, thread_id, priority, occurred_at, recorded_at, expires_at, \
     correlation_id, causation_id, traceparent, producer, shard_hash, claim_check";

fn reject_sql() -> String {
    format!(
        "with gone as (
             delete from tidings.outbox where id = any($1::bigint[]) and pg_backend_pid() = $2::int returning {MOVED}),
         moved as (
             insert into tidings.outbox_rejected ({MOVED}, code, field, reason)
             select {MOVED}, code, field, reason
             from gone join unnest($1::bigint[], $3::text[], $4::text[], $5::text[]) as why(id, code, field, reason) using (id)
             on conflict (id) do nothing returning id)
         select pg_backend_pid(), (select count(*) from moved)"
    )
}

#[cfg(test)]
mod tests;
