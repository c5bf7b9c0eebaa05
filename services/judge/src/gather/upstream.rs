//! Upstream's database: the ledger, and what still lies in the outbox.

use std::collections::{HashMap, HashSet};

use tokio_postgres::Row;
use uuid::Uuid;

use crate::evidence::{LedgerRow, RolledBack, Scope, Transaction};

use super::database::Database;
use super::{GatherError, Upstream};

const LEDGER: &str = "load.ledger";
const ROLLED_BACK: &str = "load.rolled_back";
const OUTBOX: &str = "tidings.outbox";
const REJECTED: &str = "tidings.outbox_rejected";
const HELD: &str = "tidings.outbox_held";

/// The column `lock_ordinal` is read through JSON because ledgers without it are valid.
const LEDGER_SQL: &str = "
    SELECT l.message_id, l.run, l.tx, l.ordinal, (to_jsonb(l) ->> 'lock_ordinal')::bigint,
           l.lane, l.chat, l.event_type, l.marker, l.expect,
           (extract(epoch FROM l.inserted_at) * 1000000)::bigint,
           (extract(epoch FROM c.committed_at) * 1000000)::bigint
      FROM load.ledger l
      LEFT JOIN load.commits c ON c.run = l.run AND c.tx = l.tx
     WHERE $1::text IS NULL OR l.run = $1";

pub(super) async fn connect(url: &str) -> Result<Database, GatherError> {
    Database::connect(url, "upstream", "--upstream").await
}

pub(super) async fn read(url: &str, scope: &Scope) -> Result<Upstream, GatherError> {
    let database = connect(url).await?;
    let load = "the load program makes it in its first run; check --upstream";
    database.demand_table(LEDGER, load).await?;
    database.demand_table("load.commits", load).await?;
    demand_outbox(&database).await?;
    Ok(Upstream {
        ledger: ledger(&database, scope).await?,
        rolled_back: rolled_back(&database, scope).await?,
        outbox: ids(&database, OUTBOX).await?,
        held: ids(&database, HELD).await?,
        rejected: rejected(&database).await?,
    })
}

/// Rows in the outbox: what the relay has not published yet.
pub(super) async fn count_outbox(url: &str) -> Result<i64, GatherError> {
    let database = connect(url).await?;
    demand_outbox(&database).await?;
    let rows = database
        .query(OUTBOX, "SELECT count(*) FROM tidings.outbox", &[])
        .await?;
    rows.first()
        .map_or(Ok(0), |row| database.column(OUTBOX, row, 0))
}

async fn demand_outbox(database: &Database) -> Result<(), GatherError> {
    let remedy = "apply schemas/outbox/001_outbox.sql, or check --upstream";
    database.demand_table(OUTBOX, remedy).await
}

async fn ledger(database: &Database, scope: &Scope) -> Result<Vec<LedgerRow>, GatherError> {
    let rows = database.query(LEDGER, LEDGER_SQL, &[&run(scope)]).await?;
    rows.iter().map(|row| ledger_row(database, row)).collect()
}

fn ledger_row(database: &Database, row: &Row) -> Result<LedgerRow, GatherError> {
    let lane: &str = database.column(LEDGER, row, 5)?;
    let expect: &str = database.column(LEDGER, row, 9)?;
    Ok(LedgerRow {
        message_id: database.column(LEDGER, row, 0)?,
        transaction: Transaction {
            run: database.column(LEDGER, row, 1)?,
            number: database.column(LEDGER, row, 2)?,
        },
        ordinal: database.column(LEDGER, row, 3)?,
        lock_ordinal: database.column(LEDGER, row, 4)?,
        lane: lane.parse().map_err(unreadable)?,
        chat: database.column(LEDGER, row, 6)?,
        event_type: database.column(LEDGER, row, 7)?,
        marker: database.column(LEDGER, row, 8)?,
        expect: expect.parse().map_err(unreadable)?,
        inserted_at_micros: database.column(LEDGER, row, 10)?,
        committed_at_micros: database.column(LEDGER, row, 11)?,
    })
}

fn unreadable(source: crate::evidence::UnknownWord) -> GatherError {
    GatherError::Row {
        table: LEDGER,
        source: Box::new(source),
    }
}

async fn rolled_back(database: &Database, scope: &Scope) -> Result<Vec<RolledBack>, GatherError> {
    if !database.has_table(ROLLED_BACK).await? {
        return Ok(Vec::new());
    }
    let sql = "SELECT message_id, chat FROM load.rolled_back WHERE $1::text IS NULL OR run = $1";
    let rows = database.query(ROLLED_BACK, sql, &[&run(scope)]).await?;
    rows.iter()
        .map(|row| {
            Ok(RolledBack {
                message_id: database.column(ROLLED_BACK, row, 0)?,
                chat: database.column(ROLLED_BACK, row, 1)?,
            })
        })
        .collect()
}

async fn ids(database: &Database, table: &'static str) -> Result<HashSet<Uuid>, GatherError> {
    if !database.has_table(table).await? {
        return Ok(HashSet::new());
    }
    let sql = format!("SELECT message_id FROM {table}");
    let rows = database.query(table, &sql, &[]).await?;
    rows.iter()
        .map(|row| database.column(table, row, 0))
        .collect()
}

async fn rejected(database: &Database) -> Result<HashMap<Uuid, String>, GatherError> {
    if !database.has_table(REJECTED).await? {
        return Ok(HashMap::new());
    }
    let sql = "SELECT message_id, coalesce(reason, '') FROM tidings.outbox_rejected";
    let rows = database.query(REJECTED, sql, &[]).await?;
    rows.iter()
        .map(|row| {
            let id = database.column(REJECTED, row, 0)?;
            Ok((id, database.column(REJECTED, row, 1)?))
        })
        .collect()
}

fn run(scope: &Scope) -> Option<&str> {
    match scope {
        Scope::EveryRun => None,
        Scope::Run(run) => Some(run),
    }
}
