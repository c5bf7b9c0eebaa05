//! Tidings' own database: this binary's migrations, and the rights of the roles.

use tokio_postgres::Client;

use super::Finding;
use super::server::{self, Server, listed, no_answer};
use crate::config::Config;
use crate::postgres::{PostgresError, embedded_migrations};

pub(super) const CHECK: &str = "state";
const KEY: &str = "state.database";

#[derive(Debug, Clone)]
struct Facts {
    server: Server,
    migrations: Migrations,
    missing_rights: Vec<String>,
}

/// This binary's migrations against the applied ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Migrations {
    /// Of this binary, and not applied.
    missing: Vec<String>,
    /// Applied with another text.
    changed: Vec<String>,
    /// Applied, and unknown to this binary.
    newer: Vec<String>,
}

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    match gather(config).await {
        Ok(facts) => judge(&facts),
        Err(error) => vec![no_answer(CHECK, KEY, &error)],
    }
}

async fn gather(config: &Config) -> Result<Facts, PostgresError> {
    let session = server::open(&config.state).await?;
    let client = &session.client;
    let failed = || PostgresError::doing("look at Tidings' own database");
    let applied = applied(client).await.map_err(failed())?;
    Ok(Facts {
        server: Server::ask(client).await.map_err(failed())?,
        migrations: compare(&embedded_migrations(), &applied),
        missing_rights: missing_rights(client).await.map_err(failed())?,
    })
}

fn compare(embedded: &[(&str, Vec<u8>)], applied: &[(String, Vec<u8>)]) -> Migrations {
    let mut migrations = Migrations::default();
    for (name, digest) in embedded {
        match applied.iter().find(|(other, _)| other == name) {
            None => migrations.missing.push((*name).to_owned()),
            Some((_, other)) if other != digest => migrations.changed.push((*name).to_owned()),
            Some(_) => {}
        }
    }
    let known = |name: &str| embedded.iter().any(|(other, _)| *other == name);
    let unknown = applied.iter().filter(|(name, _)| !known(name));
    migrations.newer = unknown.map(|(name, _)| name.clone()).collect();
    migrations
}

/// Names and digests; empty if nothing was ever applied or it cannot be read.
async fn applied(client: &Client) -> Result<Vec<(String, Vec<u8>)>, tokio_postgres::Error> {
    let sql = "select exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                   where n.nspname = 'tidings_delivery' and c.relname = 'migrations'
                     and has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select'))";
    let readable: bool = client.query_one(sql, &[]).await?.try_get(0)?;
    if !readable {
        return Ok(Vec::new());
    }
    let sql = "select name, sha256 from tidings_delivery.migrations order by name";
    let rows = client.query(sql, &[]).await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}

/// Roles read and write every table but that of the migrations, and make and drop the claims' day partitions, which
/// takes the claims' owner.
async fn missing_rights(client: &Client) -> Result<Vec<String>, tokio_postgres::Error> {
    let sql = "with tables as (
                   select c.oid, c.relname, c.relowner from pg_class c join pg_namespace n on n.oid = c.relnamespace
                   where n.nspname = 'tidings_delivery' and c.relkind in ('r', 'p') and not c.relispartition
                     and c.relname <> 'migrations')
               select format('%s on tidings_delivery.%s', privilege, relname) as lacked from tables,
                   unnest(array['select', 'insert', 'update']) as privilege
               where not has_table_privilege(oid, privilege)
               union all
               select 'ownership of tidings_delivery.claims' from tables
               where relname = 'claims' and not pg_has_role(relowner, 'usage')
               union all
               select 'usage and create on schema tidings_delivery' from pg_namespace n
               where n.nspname = 'tidings_delivery'
                 and not (has_schema_privilege(n.oid, 'usage') and has_schema_privilege(n.oid, 'create'))
               order by lacked";
    let rows = client.query(sql, &[]).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

fn judge(facts: &Facts) -> Vec<Finding> {
    let mut findings = facts.server.judge(CHECK, KEY);
    // Without rights the migrations cannot be read either.
    if !facts.missing_rights.is_empty() {
        let (user, lacked) = (&facts.server.user, listed(&facts.missing_rights));
        findings.push(Finding::problem(
            CHECK,
            KEY,
            format!("{user} lacks {lacked}"),
            format!(
                "connect as the user that ran `tidings migrate`, or grant its role to \"{user}\""
            ),
        ));
    } else {
        findings.extend(judge_migrations(&facts.migrations));
    }
    if findings.is_empty() {
        let version = &facts.server.version;
        findings.push(Finding::ok(
            CHECK,
            format!("PostgreSQL {version}, migrated, all rights"),
        ));
    }
    findings
}

fn judge_migrations(migrations: &Migrations) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !migrations.missing.is_empty() {
        findings.push(Finding::problem(
            CHECK,
            KEY,
            format!("not migrated: {} missing", listed(&migrations.missing)),
            "run `tidings migrate` (`--state-only` leaves the upstream database alone)",
        ));
    }
    if !migrations.changed.is_empty() {
        findings.push(Finding::problem(
            CHECK,
            KEY,
            format!("{} applied with another text", listed(&migrations.changed)),
            "run the version of tidings that applied it",
        ));
    }
    if !migrations.newer.is_empty() {
        findings.push(Finding::warning(
            CHECK,
            KEY,
            format!("migrated by a newer version: {}", listed(&migrations.newer)),
            "update this binary",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(change: impl FnOnce(&mut Facts)) -> Vec<String> {
        let mut facts = Facts {
            server: Server {
                version_num: 150_006,
                version: "15.6".into(),
                user: "worker".into(),
                replica: false,
                read_only: false,
            },
            migrations: Migrations::default(),
            missing_rights: Vec::new(),
        };
        change(&mut facts);
        let findings = judge(&facts);
        findings.into_iter().map(|finding| finding.remedy).collect()
    }

    #[test]
    fn each_fault_has_its_remedy() {
        assert_eq!(judged(|_| ()), [""]);
        assert!(
            judged(|f| f.migrations.missing.push("0001".into()))[0].contains("tidings migrate")
        );
        assert!(
            judged(|f| f.migrations.changed.push("0001".into()))[0].contains("that applied it")
        );
        assert!(judged(|f| f.migrations.newer.push("0009".into()))[0].contains("update"));
    }

    #[test]
    fn migrations_are_compared_by_name_and_text() {
        let own = |name: &str, digest: u8| (name.to_owned(), vec![digest]);
        let applied = [own("1", 1), own("2", 9), own("4", 4)];
        let embedded = [("1", vec![1]), ("2", vec![2]), ("3", vec![3])];
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let expected = Migrations {
            missing: names(&["3"]),
            changed: names(&["2"]),
            newer: names(&["4"]),
        };
        assert_eq!(compare(&embedded, &applied), expected);
    }

    #[test]
    fn what_cannot_be_read_is_not_called_missing() {
        let remedies = judged(|f| {
            f.missing_rights.push("select".into());
            f.migrations.missing.push("0001".into());
        });
        assert_eq!(remedies.len(), 1);
        assert!(remedies[0].contains("\"worker\""));
    }
}
