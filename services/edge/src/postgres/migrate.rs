//! The migrations of Tidings' own database, embedded and applied in order.

use sha2::{Digest, Sha256};
use tokio_postgres::{Client, Transaction};

use super::PostgresError;

/// Name and text, in order. An applied migration never changes; a new one is appended.
const MIGRATIONS: &[(&str, &str)] = &[
    (
        "0001_claims",
        include_str!("../../migrations/0001_claims.sql"),
    ),
    (
        "0002_claim_partitions",
        include_str!("../../migrations/0002_claim_partitions.sql"),
    ),
    (
        "0003_penalties",
        include_str!("../../migrations/0003_penalties.sql"),
    ),
    (
        "0004_deferred",
        include_str!("../../migrations/0004_deferred.sql"),
    ),
    (
        "0005_targets",
        include_str!("../../migrations/0005_targets.sql"),
    ),
];

/// `tidings` in ASCII: the advisory lock under which one process at a time migrates.
const MIGRATION_LOCK: i64 = 0x74_69_64_69_6e_67_73;

const PREPARE: &str = "
    CREATE SCHEMA IF NOT EXISTS tidings_delivery;
    CREATE TABLE IF NOT EXISTS tidings_delivery.migrations (
        name       text        PRIMARY KEY,
        sha256     bytea       NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
    );";

/// Applies the missing migrations in one transaction, under an advisory lock, and returns their names. Safe to
/// call from every process at its start.
///
/// # Errors
/// A migration fails (nothing is applied then), an applied one differs from this binary's, or the lock is not to
/// be had within a minute.
pub async fn migrate(client: &mut Client) -> Result<Vec<&'static str>, PostgresError> {
    let begun = client.transaction().await;
    let transaction = begun.map_err(PostgresError::doing("begin"))?;
    lock(&transaction).await?;
    transaction
        .batch_execute(PREPARE)
        .await
        .map_err(PostgresError::doing("create tidings_delivery.migrations"))?;
    let mut applied = Vec::new();
    for &(name, sql) in MIGRATIONS {
        if apply(&transaction, name, sql).await? {
            applied.push(name);
        }
    }
    let committed = transaction.commit().await;
    committed.map_err(PostgresError::doing("commit the migrations"))?;
    Ok(applied)
}

/// Every migration of this binary, in order: its name and the SHA-256 of its text, as `tidings_delivery.migrations` has
/// them once it is applied.
pub(crate) fn embedded_migrations() -> Vec<(&'static str, Vec<u8>)> {
    let digest = |sql: &str| Sha256::digest(sql.as_bytes()).to_vec();
    MIGRATIONS
        .iter()
        .map(|&(name, sql)| (name, digest(sql)))
        .collect()
}

async fn lock(transaction: &Transaction<'_>) -> Result<(), PostgresError> {
    let locked = async {
        transaction
            .batch_execute("SET LOCAL lock_timeout = '60s'")
            .await?;
        transaction
            .execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK])
            .await
    };
    locked
        .await
        .map_err(PostgresError::doing("lock the migrations"))?;
    Ok(())
}

/// Applies one migration unless it is applied; tells whether it was.
async fn apply(
    transaction: &Transaction<'_>,
    name: &'static str,
    sql: &str,
) -> Result<bool, PostgresError> {
    let digest = Sha256::digest(sql.as_bytes()).to_vec();
    let stored = transaction
        .query_opt(
            "SELECT sha256 FROM tidings_delivery.migrations WHERE name = $1",
            &[&name],
        )
        .await
        .map_err(PostgresError::doing("read the applied migrations"))?;
    if let Some(row) = stored {
        let unchanged = row.get::<_, Vec<u8>>(0) == digest;
        return match unchanged {
            true => Ok(false),
            false => Err(PostgresError::MigrationChanged { name }),
        };
    }
    let failed = |source| PostgresError::Migration { name, source };
    transaction.batch_execute(sql).await.map_err(failed)?;
    transaction
        .execute(
            "INSERT INTO tidings_delivery.migrations (name, sha256) VALUES ($1, $2)",
            &[&name, &digest],
        )
        .await
        .map_err(failed)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_in_order_and_every_file_is_listed() {
        let names: Vec<&str> = MIGRATIONS.iter().map(|&(name, _)| name).collect();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        files.sort();
        assert_eq!(names, files);
    }
}
