//! How a session with upstream's database is set up, and the advisory locks by which relays share the shards.

use tokio_postgres::Client;

use crate::options::Tuning;
use crate::session::SessionError;

/// First halves of the advisory locks' keys, in the database of the outbox ("tid" in ASCII, then a number).
/// A chat's own lock, taken by `tidings.publish`, is the third.
pub(crate) const SHARD_LOCKS: i32 = 0x7469_6401;
/// Held, shared, by every relay: they are counted by it.
pub(crate) const MEMBER_LOCKS: i32 = 0x7469_6402;
/// Held, shared, by the owner of a shard: the second half is the number of shards that it goes by.
const DIVISION_LOCKS: i32 = 0x7469_6404;

/// Whether the shard is ours.
pub(crate) enum Acquired {
    /// It is, for as long as the session lasts.
    Owned {
        /// The server's process that holds the lock.
        backend_pid: i32,
    },
    /// Another relay has it, or the outbox is still divided otherwise.
    Taken,
}

/// Sets what the shard's statements rely on.
///
/// Lost deletes cost a repeat, which consumers suppress, so commits need not wait for the disk. The planner must not
/// sort: the table's statistics are those of a queue, empty at one moment and full at the next.
pub(crate) async fn prepare_session(client: &Client, tuning: &Tuning) -> Result<(), SessionError> {
    let statement_ms = tuning.statement_deadline.as_millis();
    let idle_ms = tuning.idle_session_timeout.as_millis();
    let sql = format!(
        "set statement_timeout = {statement_ms}; set idle_session_timeout = {idle_ms};
         set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3;
         set synchronous_commit = off; set plan_cache_mode = force_generic_plan;
         set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off"
    );
    let set = client.batch_execute(&sql).await;
    set.map_err(|source| SessionError::Statement {
        doing: "setting up the session (PostgreSQL 14 or later)",
        source,
    })
}

/// Takes the shard's lock, unless relays go by another number of shards.
pub(crate) async fn acquire(
    client: &Client,
    shard: i32,
    shards: i32,
) -> Result<Acquired, SessionError> {
    let failed = |source| SessionError::Statement {
        doing: "taking a shard's lock",
        source,
    };
    // Shared locks among themselves never wait.
    let took = client
        .query_one(
            "select pg_try_advisory_lock($1, $2) and pg_try_advisory_lock_shared($3, $4), pg_backend_pid()",
            &[&SHARD_LOCKS, &shard, &DIVISION_LOCKS, &shards],
        )
        .await
        .map_err(failed)?;
    if !took.try_get::<_, bool>(0).map_err(failed)? {
        return Ok(Acquired::Taken);
    }
    // After ours is held: of two relays that disagree, each sees the other, or one saw nobody and was first.
    let others = client
        .query_one(
            "select exists (select from pg_locks
                 where locktype = 'advisory' and granted and objsubid = 2
                   and database = (select oid from pg_database where datname = current_database())
                   and classid::bigint = $1::int and objid::bigint <> $2::int)",
            &[&DIVISION_LOCKS, &shards],
        )
        .await
        .map_err(failed)?;
    if others.try_get(0).map_err(failed)? {
        return Ok(Acquired::Taken);
    }
    Ok(Acquired::Owned {
        backend_pid: took.try_get(1).map_err(failed)?,
    })
}
