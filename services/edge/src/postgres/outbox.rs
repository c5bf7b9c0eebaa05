//! The outbox in upstream's database: its SQL is upstream's interface (design §6) and lives in `schemas/outbox`.

use std::collections::BTreeMap;

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

/// Name and body of every function that the outbox' SQL leaves behind, as `pg_proc.prosrc` has the body: what a database
/// has instead tells which version was applied to it, by whomever.
pub(crate) fn outbox_functions() -> BTreeMap<&'static str, &'static str> {
    OUTBOX.iter().flat_map(|(_, sql)| functions(sql)).collect()
}

/// Each is written `create or replace function tidings.<name>( … as $$ … $$;`.
fn functions(sql: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let definitions = sql.split("create or replace function tidings.").skip(1);
    definitions.filter_map(|definition| {
        let (name, rest) = definition.split_once('(')?;
        let (_, body) = rest.split_once("as $$")?;
        Some((name, body.split_once("$$")?.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_of_the_outbox_are_found_with_their_bodies() {
        let functions = outbox_functions();
        for name in ["publish", "uuid_v7", "shard_hash", "destination_fault"] {
            assert!(functions.contains_key(name), "{name} of {functions:?}");
        }
        let publish = functions["publish"];
        assert!(
            publish.contains("begin") && publish.trim_end().ends_with("end"),
            "{publish}"
        );
    }
}
