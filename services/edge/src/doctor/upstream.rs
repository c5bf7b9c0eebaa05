//! The upstream database: a primary, reached without a pooler that shares sessions, with the outbox of this binary, and
//! with the relay's rights.

use tokio_postgres::{Client, SimpleQueryMessage};

use super::Finding;
use super::server::{self, Server, listed, no_answer};
use crate::config::Config;
use crate::postgres::{PostgresError, outbox_functions};

pub(super) const CHECK: &str = "upstream";
const KEY: &str = "upstream.database";

/// What the relay does with the outbox (the grants at the end of `001_outbox.sql`).
const NEEDED: &[(&str, &str)] = &[
    ("outbox", "select"),
    ("outbox", "delete"),
    ("outbox_rejected", "select"),
    ("outbox_rejected", "insert"),
    ("outbox_rejected", "update"),
    ("outbox_settings", "select"),
];

#[derive(Debug, Clone)]
struct Facts {
    server: Server,
    /// Another backend answered in the middle of a session.
    shares_sessions: bool,
    /// Tables of the outbox that are not there.
    missing_tables: Vec<String>,
    /// Functions whose text is not this binary's, or that are missing.
    other_functions: Vec<String>,
    /// Rights that this user lacks: `delete on tidings.outbox`.
    missing_rights: Vec<String>,
    /// Rows that could not become an event.
    rejected: Option<i64>,
}

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    match gather(config).await {
        Ok(facts) => judge(&facts),
        Err(error) => vec![no_answer(CHECK, KEY, &error)],
    }
}

async fn gather(config: &Config) -> Result<Facts, PostgresError> {
    let session = server::open(&config.upstream).await?;
    let other = server::open(&config.upstream).await?;
    let client = &session.client;
    let failed = || PostgresError::doing("look at the outbox");
    let shares_sessions = shares_sessions(client, &other.client)
        .await
        .map_err(failed())?;
    let missing_rights = missing_rights(client).await.map_err(failed())?;
    Ok(Facts {
        server: Server::ask(client).await.map_err(failed())?,
        shares_sessions,
        missing_tables: missing_tables(client).await.map_err(failed())?,
        other_functions: other_functions(client).await.map_err(failed())?,
        rejected: rejected(client, &missing_rights).await,
        missing_rights,
    })
}

/// A pooler that gives a backend to whoever has a transaction lets another backend answer, once the first one is held by
/// the other session's transaction.
async fn shares_sessions(one: &Client, other: &Client) -> Result<bool, tokio_postgres::Error> {
    let before = backend(one).await?;
    other.batch_execute("begin").await?;
    let held = backend(other).await?;
    let after = backend(one).await?;
    other.batch_execute("rollback").await?;
    Ok(before != after || before == held)
}

/// By the simple protocol: a pooler may know no prepared statements.
async fn backend(client: &Client) -> Result<Option<String>, tokio_postgres::Error> {
    let answers = client.simple_query("select pg_backend_pid()").await?;
    let rows = answers.iter().filter_map(|answer| {
        if let SimpleQueryMessage::Row(row) = answer {
            row.get(0).map(str::to_owned)
        } else {
            None
        }
    });
    Ok(rows.last())
}

/// From the catalogues, which need no right on the schema.
async fn missing_tables(client: &Client) -> Result<Vec<String>, tokio_postgres::Error> {
    let sql = "select wanted from unnest($1::text[]) as wanted where not exists (
                   select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                   where n.nspname = 'tidings' and c.relname = wanted)";
    let mut names: Vec<&str> = NEEDED.iter().map(|&(table, _)| table).collect();
    names.dedup();
    let rows = client.query(sql, &[&names]).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

async fn other_functions(client: &Client) -> Result<Vec<String>, tokio_postgres::Error> {
    let sql = "select wanted.name from unnest($1::text[], $2::text[]) as wanted (name, body) where not exists (
                   select from pg_proc p join pg_namespace n on n.oid = p.pronamespace
                   where n.nspname = 'tidings' and p.proname = wanted.name and p.prosrc = wanted.body)";
    let (names, bodies): (Vec<&str>, Vec<&str>) = outbox_functions().into_iter().unzip();
    let rows = client.query(sql, &[&names, &bodies]).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Of tables that are there.
async fn missing_rights(client: &Client) -> Result<Vec<String>, tokio_postgres::Error> {
    let sql = "select format('%s on tidings.%s', wanted.privilege, wanted.name)
               from unnest($1::text[], $2::text[]) as wanted (name, privilege)
               join pg_class c on c.relname = wanted.name
               join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'tidings'
               where not has_table_privilege(c.oid, wanted.privilege)
               union all
               select 'usage on schema tidings' from pg_namespace n
               where n.nspname = 'tidings' and not has_schema_privilege(n.oid, 'usage')";
    let (names, rights): (Vec<&str>, Vec<&str>) = NEEDED.iter().copied().unzip();
    let rows = client.query(sql, &[&names, &rights]).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Not counted where they cannot be read.
async fn rejected(client: &Client, missing_rights: &[String]) -> Option<i64> {
    if !missing_rights.is_empty() {
        return None;
    }
    let sql = "select count(*) from tidings.outbox_rejected";
    client.query_one(sql, &[]).await.ok()?.try_get(0).ok()
}

fn judge(facts: &Facts) -> Vec<Finding> {
    let mut findings = facts.server.judge(CHECK, KEY);
    if facts.shares_sessions {
        findings.push(Finding::problem(
            CHECK,
            KEY,
            "a pooler shares backends between sessions: advisory locks, by which relays share the shards, do not hold",
            "name the server itself, or a pool in session mode",
        ));
    }
    findings.extend(judge_outbox(facts));
    if !facts.missing_rights.is_empty() {
        findings.push(Finding::problem(
            CHECK,
            KEY,
            format!(
                "{} lacks {}",
                facts.server.user,
                listed(&facts.missing_rights)
            ),
            format!(
                "as the outbox' owner: grant tidings_relay to \"{}\"",
                facts.server.user
            ),
        ));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(CHECK, praise(facts)));
    }
    findings
}

fn judge_outbox(facts: &Facts) -> Option<Finding> {
    const MIGRATE: &str = "run `tidings migrate`, or let the database's owner apply schemas/outbox/*.sql of this version";
    if !facts.missing_tables.is_empty() {
        let missing = listed(&facts.missing_tables);
        let found = format!("there is no outbox: schema tidings lacks {missing}");
        return Some(Finding::problem(CHECK, KEY, found, MIGRATE));
    }
    (!facts.other_functions.is_empty()).then(|| {
        let functions = listed(&facts.other_functions);
        let found =
            format!("the outbox is of another version: {functions} differ from this binary's");
        Finding::warning(CHECK, KEY, found, MIGRATE)
    })
}

fn praise(facts: &Facts) -> String {
    let rejected = match facts.rejected {
        None | Some(0) => String::new(),
        Some(rows) => format!("; {rows} rejected row(s) wait in tidings.outbox_rejected"),
    };
    format!(
        "PostgreSQL {}, a primary, the outbox of this version, all rights{rejected}",
        facts.server.version
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Health;

    fn judged(change: impl FnOnce(&mut Facts)) -> Vec<Finding> {
        let mut facts = Facts {
            server: Server {
                version_num: 150_006,
                version: "15.6".into(),
                user: "relay".into(),
                replica: false,
                read_only: false,
            },
            shares_sessions: false,
            missing_tables: Vec::new(),
            other_functions: Vec::new(),
            missing_rights: Vec::new(),
            rejected: Some(0),
        };
        change(&mut facts);
        judge(&facts)
    }

    #[test]
    fn a_database_that_fits_is_one_ok_line() {
        let findings = judged(|_| ());
        assert_eq!((findings.len(), findings[0].health), (1, Health::Ok));
    }

    #[test]
    fn each_fault_has_its_remedy() {
        type Change = fn(&mut Facts);
        let cases: [(Change, &str); 4] = [
            (|f| f.shares_sessions = true, "session mode"),
            (
                |f| f.missing_tables = vec!["outbox".into()],
                "tidings migrate",
            ),
            (
                |f| f.other_functions = vec!["publish".into()],
                "tidings migrate",
            ),
            (
                |f| f.missing_rights = vec!["delete on tidings.outbox".into()],
                "grant tidings_relay to \"relay\"",
            ),
        ];
        for (change, remedy) in cases {
            let findings = judged(change);
            assert_eq!(findings.len(), 1);
            assert_ne!(findings[0].health, Health::Ok);
            assert!(findings[0].remedy.contains(remedy), "{findings:?}");
        }
    }
}
