//! The claims' day partitions. Days are UTC days of `recorded_at`.

use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use super::PostgresError;

/// Creates the missing partitions of the days `from` to `to` (`YYYY-MM-DD`, both included); returns how many.
/// A day whose rows are in the default partition already, or whose lock is busy, is skipped for now.
///
/// # Errors
/// A day is no date, the range is longer than 4,000 days, or the statement fails.
pub async fn ensure_claim_partitions(
    client: &Client,
    from: &str,
    to: &str,
) -> Result<u32, PostgresError> {
    let sql = "SELECT tidings_delivery.ensure_claim_partitions($1::text::date, $2::text::date)";
    count(client, sql, &[&from, &to], "create claim partitions").await
}

/// The same for the days around today by the database's clock: a role calls it at its start and every hour.
///
/// # Errors
/// As [`ensure_claim_partitions`].
pub async fn ensure_claim_partitions_ahead(
    client: &Client,
    days_back: u32,
    days_ahead: u32,
) -> Result<u32, PostgresError> {
    let sql = "SELECT tidings_delivery.ensure_claim_partitions(today - $1::int, today + $2::int)
               FROM (SELECT (now() AT TIME ZONE 'UTC')::date AS today) AS clock";
    let bounded = |days: u32| i32::try_from(days.min(4_000)).unwrap_or(i32::MAX);
    let (back, ahead) = (bounded(days_back), bounded(days_ahead));
    count(client, sql, &[&back, &ahead], "create claim partitions").await
}

/// Drops the partitions of the days before `before` (`YYYY-MM-DD`); returns how many. A busy one stays for now.
///
/// # Errors
/// `before` is no date, or the statement fails.
pub async fn drop_claim_partitions(client: &Client, before: &str) -> Result<u32, PostgresError> {
    let sql = "SELECT tidings_delivery.drop_claim_partitions($1::text::date)";
    let dropped = count(client, sql, &[&before], "drop claim partitions").await?;
    let sql = "SELECT tidings_delivery.prune_default_claims($1::text::date)";
    let pruned = client.query_one(sql, &[&before]).await;
    pruned.map_err(PostgresError::doing("prune the default claim partition"))?;
    Ok(dropped)
}

async fn count(
    client: &Client,
    sql: &str,
    parameters: &[&(dyn ToSql + Sync)],
    doing: &'static str,
) -> Result<u32, PostgresError> {
    let answered = client.query_one(sql, parameters).await;
    let row = answered.map_err(PostgresError::doing(doing))?;
    let counted: i32 = row.try_get(0).map_err(PostgresError::doing(doing))?;
    Ok(counted.unsigned_abs())
}
