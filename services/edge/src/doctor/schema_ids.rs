//! What the registry's ids mean now, against what they meant when they were stored (design §5).

use super::Finding;
use super::server::listed;
use crate::config::Config;
use crate::postgres::PostgresError;
use crate::registry::{RegistryClient, RegistryError, same_schema};

pub(super) const CHECK: &str = "schema ids";

/// The newest so many are compared; a deployment has a few dozen.
const COMPARED: i64 = 50;

/// What the registry says to one stored id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Same,
    Changed,
    Forgotten,
    /// It does not answer, which is another check's to report.
    NotTold,
}

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let stored = stored(config).await.unwrap_or_default();
    let client = RegistryClient::new(&config.registry);
    let mut compared = Vec::new();
    if let Ok(client) = client {
        for (id, schema) in stored {
            compared.push((id, meaning(&client, id, &schema).await));
        }
    }
    judge(&compared)
}

/// A database that cannot be asked is another check's to report.
async fn stored(config: &Config) -> Result<Vec<(u32, String)>, PostgresError> {
    let session = super::server::open(&config.state).await?;
    let failed = || PostgresError::doing("read the stored schemas");
    let sql = "select id, schema from tidings_delivery.schema_ids where registry_url = $1 order by stored_at desc limit $2";
    let url = config.registry.url.trim_end_matches('/');
    let rows = session.client.query(sql, &[&url, &COMPARED]).await;
    let rows = rows.map_err(failed())?;
    let pairs = rows.iter().map(|row| {
        let id: i32 = row.try_get(0)?;
        Ok((id.cast_unsigned(), row.try_get(1)?))
    });
    pairs.collect::<Result<_, _>>().map_err(failed())
}

async fn meaning(client: &RegistryClient, id: u32, stored: &str) -> Meaning {
    match client.schema_by_id(id).await {
        Ok(now) if same_schema(stored, &now) => Meaning::Same,
        Ok(_) | Err(RegistryError::Unusable { .. }) => Meaning::Changed,
        Err(RegistryError::Missing { .. }) => Meaning::Forgotten,
        Err(
            RegistryError::Refused { .. }
            | RegistryError::IdChanged { .. }
            | RegistryError::Unavailable(_)
            | RegistryError::Store(_)
            | RegistryError::Client(_),
        ) => Meaning::NotTold,
    }
}

fn judge(compared: &[(u32, Meaning)]) -> Vec<Finding> {
    let with = |meaning| {
        let ids = compared.iter().filter(move |(_, other)| *other == meaning);
        ids.map(|(id, _)| id.to_string()).collect::<Vec<_>>()
    };
    let mut findings = Vec::new();
    let (changed, forgotten) = (with(Meaning::Changed), with(Meaning::Forgotten));
    if !changed.is_empty() {
        findings.push(Finding::problem(
            CHECK,
            "registry.url",
            format!("ids mean another schema than before: {}", listed(&changed)),
            "restore the registry; or, if no topic holds records of the old one, delete its rows from tidings_delivery.schema_ids",
        ));
    }
    if !forgotten.is_empty() {
        findings.push(Finding::warning(
            CHECK,
            "registry.url",
            format!("the registry forgot ids: {}", listed(&forgotten)),
            "restore the registry: other consumers cannot read such records; Tidings reads them from its own store",
        ));
    }
    if findings.is_empty() {
        let same = with(Meaning::Same).len();
        findings.push(Finding::ok(
            CHECK,
            format!("{same} stored id(s) mean what they meant"),
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Health;

    #[test]
    fn a_changed_id_is_a_problem_and_a_forgotten_one_a_warning() {
        let findings = judge(&[
            (1, Meaning::Same),
            (2, Meaning::Changed),
            (3, Meaning::Forgotten),
            (4, Meaning::NotTold),
        ]);
        let found: Vec<_> = findings
            .iter()
            .map(|f| (f.health, f.found.as_str()))
            .collect();
        assert_eq!(found.len(), 2);
        assert!(found[0].0 == Health::Problem && found[0].1.ends_with("before: 2"));
        assert!(found[1].0 == Health::Warning && found[1].1.ends_with("ids: 3"));
        assert_eq!(judge(&[])[0].health, Health::Ok);
    }
}
