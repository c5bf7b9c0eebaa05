//! The outbox in upstream's database: its SQL is upstream's interface (design §6) and lives in `schemas/outbox`.

use tokio_postgres::Client;

use super::PostgresError;

/// Applied in order; each may be applied again.
const OUTBOX: &[(&str, &str)] = &[(
    "001_outbox",
    include_str!("../../../../schemas/outbox/001_outbox.sql"),
)];

/// Creates the outbox and `tidings.publish` in upstream's database, or brings them up to date.
///
/// # Errors
/// A file fails; what earlier files did stays.
pub async fn apply_outbox(client: &Client) -> Result<(), PostgresError> {
    for &(name, sql) in OUTBOX {
        let applied = client.batch_execute(sql).await;
        applied.map_err(|source| PostgresError::Migration { name, source })?;
    }
    Ok(())
}
