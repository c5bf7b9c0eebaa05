//! Tidings' own database: what it says became of each message.

use std::collections::HashSet;

use tokio_postgres::Row;
use uuid::Uuid;

use crate::evidence::{AttemptId, Claim, State};

use super::GatherError;
use super::database::Database;

const CLAIMS: &str = "tidings_delivery.claims";

/// Rows of a deliberate second send carry a nonce and are no evidence of the first.
const CLAIMS_SQL: &str = "
    SELECT message_id, state, sent_owner, sent_fence, sent_attempt, reason
      FROM tidings_delivery.claims
     WHERE resend_nonce = '' AND message_id = ANY ($1)";

/// The messages of deferred chats (design §8); a database of an earlier version has no such table.
const DEFERRED: &str = "tidings_delivery.deferred_messages";

const DEFERRED_SQL: &str = "
    SELECT message_id FROM tidings_delivery.deferred_messages WHERE message_id = ANY ($1)";

const DEFERRED_COUNT_SQL: &str = "SELECT count(*) FROM tidings_delivery.deferred_messages";

const COUNT_SQL: &str = "
    SELECT count(*) FILTER (WHERE state IN ('claimed', 'started')), count(*)
      FROM tidings_delivery.claims";

/// How many claims there are, and messages that wait in Postgres: many of those have no claim yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClaimCounts {
    pub(super) open: i64,
    pub(super) all: i64,
    pub(super) deferred: i64,
}

/// The claims of the messages `wanted`.
pub(super) async fn read(url: &str, wanted: &[Uuid]) -> Result<Vec<Claim>, GatherError> {
    let database = connect(url).await?;
    let rows = database.query(CLAIMS, CLAIMS_SQL, &[&wanted]).await?;
    rows.iter().map(|row| claim(&database, row)).collect()
}

/// Which of the messages `wanted` wait in Postgres with their chats.
pub(super) async fn deferred(url: &str, wanted: &[Uuid]) -> Result<HashSet<Uuid>, GatherError> {
    let database = connect(url).await?;
    if !database.has_table(DEFERRED).await? {
        return Ok(HashSet::new());
    }
    let rows = database.query(DEFERRED, DEFERRED_SQL, &[&wanted]).await?;
    rows.iter()
        .map(|row| database.column(DEFERRED, row, 0))
        .collect()
}

pub(super) async fn count(url: &str) -> Result<ClaimCounts, GatherError> {
    let database = connect(url).await?;
    let rows = database.query(CLAIMS, COUNT_SQL, &[]).await?;
    let Some(row) = rows.first() else {
        return Ok(ClaimCounts {
            open: 0,
            all: 0,
            deferred: 0,
        });
    };
    Ok(ClaimCounts {
        open: database.column(CLAIMS, row, 0)?,
        all: database.column(CLAIMS, row, 1)?,
        deferred: count_deferred(&database).await?,
    })
}

async fn count_deferred(database: &Database) -> Result<i64, GatherError> {
    if !database.has_table(DEFERRED).await? {
        return Ok(0);
    }
    let rows = database.query(DEFERRED, DEFERRED_COUNT_SQL, &[]).await?;
    rows.first()
        .map_or(Ok(0), |row| database.column(DEFERRED, row, 0))
}

async fn connect(url: &str) -> Result<Database, GatherError> {
    let database = Database::connect(url, "state", "--state").await?;
    let remedy = "`tidings migrate` makes it; check --state";
    database.demand_table(CLAIMS, remedy).await?;
    Ok(database)
}

fn claim(database: &Database, row: &Row) -> Result<Claim, GatherError> {
    let message_id = database.column(CLAIMS, row, 0)?;
    let state: &str = database.column(CLAIMS, row, 1)?;
    let state: State = state.parse().map_err(unreadable)?;
    Ok(Claim {
        message_id,
        state,
        sent: sent(database, row, message_id)?,
        reason: database.column(CLAIMS, row, 5)?,
    })
}

fn sent(
    database: &Database,
    row: &Row,
    message_id: Uuid,
) -> Result<Option<AttemptId>, GatherError> {
    let owner: Option<&str> = database.column(CLAIMS, row, 2)?;
    let fence: Option<i64> = database.column(CLAIMS, row, 3)?;
    let attempt: Option<i32> = database.column(CLAIMS, row, 4)?;
    let (Some(owner), Some(fence), Some(attempt)) = (owner, fence, attempt) else {
        return Ok(None);
    };
    Ok(Some(AttemptId {
        message_id,
        owner: owner.parse().map_err(unreadable)?,
        fence,
        attempt,
    }))
}

fn unreadable(source: impl std::error::Error + Send + Sync + 'static) -> GatherError {
    GatherError::Row {
        table: CLAIMS,
        source: Box::new(source),
    }
}
