//! The relay among other relays: who is there, which shards are free, how much waits.

use std::time::Duration;

use tidings_edge::config::DatabaseConfig;
use tidings_edge::postgres;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use crate::options::Tuning;
use crate::session::SessionError;
use crate::setup::{MEMBER_LOCKS, SHARD_LOCKS};

/// The session by which this relay is counted.
#[derive(Debug)]
pub(crate) struct Membership {
    client: Client,
    connection: JoinHandle<()>,
    deadline: Duration,
}

/// What a look around shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Surroundings {
    /// How many shards the outbox is divided into.
    pub(crate) shards: u32,
    /// How many relays there are, this one included.
    pub(crate) members: u32,
    /// The shards whose lock somebody holds.
    pub(crate) taken: Vec<u32>,
}

/// How much waits in the outbox.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Backlog {
    pub(crate) pending: u64,
    pub(crate) oldest_age_seconds: f64,
}

/// Up to here rows are counted, beyond it estimated: 0.1 s at most.
const COUNTED_ROWS: i64 = 100_000;

impl Membership {
    /// Opens the session and takes the lock that it is counted by.
    pub(crate) async fn join(
        database: &DatabaseConfig,
        tuning: &Tuning,
    ) -> Result<Self, SessionError> {
        let (client, connection) = postgres::connect(database, "tidings-relay").await?;
        let membership = Self {
            client,
            connection,
            deadline: tuning.statement_deadline,
        };
        let idle_ms = tuning.idle_session_timeout.as_millis();
        let statement_ms = tuning.statement_deadline.as_millis();
        // A frozen relay is not counted any more, as it does not keep its shards.
        let sql = format!(
            "set idle_session_timeout = {idle_ms}; set statement_timeout = {statement_ms};
             select pg_advisory_lock_shared({MEMBER_LOCKS}, 0)"
        );
        membership
            .within("joining the relays", membership.client.batch_execute(&sql))
            .await?;
        Ok(membership)
    }

    /// Looks around.
    pub(crate) async fn look(&self) -> Result<Surroundings, SessionError> {
        let doing =
            "counting relays and shards (is schemas/outbox applied to the upstream database?)";
        let row = self
            .within(
                doing,
                self.client.query_one(LOOK, &[&MEMBER_LOCKS, &SHARD_LOCKS]),
            )
            .await?;
        let failed = |source| SessionError::Statement { doing, source };
        let (shards, members): (i32, i64) = (
            row.try_get(0).map_err(failed)?,
            row.try_get(1).map_err(failed)?,
        );
        let taken: Vec<i64> = row.try_get(2).map_err(failed)?;
        Ok(Surroundings {
            shards: u32::try_from(shards).unwrap_or(1).max(1),
            members: u32::try_from(members).unwrap_or(u32::MAX).max(1),
            taken: taken
                .into_iter()
                .filter_map(|shard| u32::try_from(shard).ok())
                .collect(),
        })
    }

    /// Measures what waits.
    pub(crate) async fn backlog(&self) -> Result<Backlog, SessionError> {
        let doing = "sampling the outbox";
        let row = self
            .within(doing, self.client.query_one(BACKLOG, &[&COUNTED_ROWS]))
            .await?;
        let failed = |source| SessionError::Statement { doing, source };
        let pending: i64 = row.try_get(0).map_err(failed)?;
        let oldest_age_seconds: f64 = row.try_get(1).map_err(failed)?;
        Ok(Backlog {
            pending: u64::try_from(pending).unwrap_or(0),
            oldest_age_seconds: oldest_age_seconds.max(0.0),
        })
    }

    async fn within<T>(
        &self,
        doing: &'static str,
        statement: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, SessionError> {
        match tokio::time::timeout(self.deadline, statement).await {
            Ok(answer) => answer.map_err(|source| SessionError::Statement { doing, source }),
            Err(_) => Err(SessionError::Deadline {
                doing,
                deadline_seconds: self.deadline.as_secs(),
            }),
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

const LOOK: &str = "with ours as (
        select classid::bigint as class, objid::bigint as number from pg_locks
        where locktype = 'advisory' and granted and objsubid = 2
          and database = (select oid from pg_database where datname = current_database()))
    select coalesce((select shards from tidings.outbox_settings), 1),
           (select count(*) from ours where class = $1::int),
           coalesce((select array_agg(distinct number) from ours where class = $2::int), '{}')";

/// The count is exact up to a bound, and the statistics' estimate beyond. The first row is the oldest, nearly: ids
/// are drawn in the order of inserts.
const BACKLOG: &str = "with counted as (select count(*) as rows from (select from tidings.outbox limit $1::bigint) few)
    select case when rows < $1::bigint then rows
                else greatest(rows, pg_stat_get_live_tuples('tidings.outbox'::regclass)) end,
           coalesce(extract(epoch from clock_timestamp() - (
               select recorded_at from tidings.outbox order by id limit 1)), 0)::float8
    from counted";
