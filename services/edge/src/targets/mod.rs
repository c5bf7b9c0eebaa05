//! The registry of dead and migrated targets in the state database, by its clock (design §8, L14).

mod sql;

use std::time::{Duration, SystemTime};

use deadpool_postgres::{Object, Pool};
use tokio_postgres::Row;

use crate::postgres::PostgresError;

/// The longest words that are kept with a target, in characters (requirement B12).
const MAX_REASON_CHARS: usize = 2_000;

/// What messages go to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetName {
    /// The platform.
    pub platform: String,
    /// The account's alias.
    pub account: String,
    /// The chat id.
    pub chat_id: String,
    /// The thread; empty for the whole chat.
    pub thread_id: String,
}

/// What a target is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetKind {
    /// Nothing can be sent there.
    Dead {
        /// Until a message probes it; zero when that is due; `None`: only an operator clears it.
        probe: Option<Duration>,
        /// Probes that found it dead.
        probes: u32,
    },
    /// It lives on under this chat id of the same account.
    Migrated {
        /// That id.
        new_chat_id: String,
    },
    /// It was one of the other two.
    Alive,
}

impl TargetKind {
    /// The word of the table and the command.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Dead { .. } => "dead",
            Self::Migrated { .. } => "migrated",
            Self::Alive => "alive",
        }
    }
}

/// A row of the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetRow {
    /// The target.
    pub name: TargetName,
    /// What it is.
    pub kind: TargetKind,
    /// The platform's words, or an operator's.
    pub reason: String,
    /// Since when, by the database's clock.
    pub since: SystemTime,
    /// When the row changed last, by the database's clock.
    pub changed_at: SystemTime,
}

/// When a dead target is probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeSchedule {
    /// How long after its death; twice as long after each probe that finds it dead.
    pub first: Duration,
    /// The longest of these waits.
    pub longest: Duration,
}

/// The table of targets.
#[derive(Clone)]
pub struct TargetStore {
    pool: Pool,
}

impl TargetStore {
    /// In the database of this pool; `tidings migrate` makes the table.
    #[must_use]
    pub fn new(pool: Pool) -> Self {
        Self { pool }
    }

    /// Keeps that a target is dead, for the platform's words. One that was dead and due for a probe waits twice as long
    /// for the next; without a schedule there is none.
    ///
    /// # Errors
    /// No connection, or the statement fails.
    pub async fn dead(
        &self,
        name: &TargetName,
        reason: &str,
        schedule: Option<ProbeSchedule>,
    ) -> Result<(), PostgresError> {
        let first = schedule.map(|schedule| schedule.first.as_secs_f64());
        let longest = schedule.map(|schedule| schedule.longest.as_secs_f64());
        let TargetName {
            platform,
            account,
            chat_id,
            thread_id,
        } = name;
        let reason = presentable(reason);
        let connection = self.connection().await?;
        let kept = connection
            .execute(
                sql::DEAD,
                &[
                    platform, account, chat_id, thread_id, &reason, &first, &longest,
                ],
            )
            .await;
        kept.map_err(PostgresError::doing("keep a dead target"))?;
        Ok(())
    }

    /// Keeps that a chat lives on under another id.
    ///
    /// # Errors
    /// No connection, or the statement fails.
    pub async fn migrated(
        &self,
        name: &TargetName,
        new_chat_id: &str,
        reason: &str,
    ) -> Result<(), PostgresError> {
        let TargetName {
            platform,
            account,
            chat_id,
            ..
        } = name;
        let reason = presentable(reason);
        let connection = self.connection().await?;
        let kept = connection
            .execute(
                sql::MIGRATED,
                &[platform, account, chat_id, &new_chat_id, &reason],
            )
            .await;
        kept.map_err(PostgresError::doing("keep a migrated target"))?;
        Ok(())
    }

    /// Keeps that a target lives, if it was known otherwise; returns whether it was.
    ///
    /// # Errors
    /// No connection, or the statement fails.
    pub async fn alive(&self, name: &TargetName, reason: &str) -> Result<bool, PostgresError> {
        let TargetName {
            platform,
            account,
            chat_id,
            thread_id,
        } = name;
        let reason = presentable(reason);
        let connection = self.connection().await?;
        let changed = connection
            .execute(
                sql::ALIVE,
                &[platform, account, chat_id, thread_id, &reason],
            )
            .await;
        Ok(changed.map_err(PostgresError::doing("clear a target"))? > 0)
    }

    /// The same for all targets of an account; returns how many there were.
    ///
    /// # Errors
    /// No connection, or the statement fails.
    pub async fn all_alive(
        &self,
        platform: &str,
        account: &str,
        reason: &str,
    ) -> Result<u64, PostgresError> {
        let reason = presentable(reason);
        let connection = self.connection().await?;
        let changed = connection
            .execute(sql::ALL_ALIVE, &[&platform, &account, &reason])
            .await;
        changed.map_err(PostgresError::doing("clear an account's targets"))
    }

    /// The newest `most` rows that changed at `since` or later (all without it), oldest first.
    ///
    /// # Errors
    /// No connection, or the statement fails.
    pub async fn changes(
        &self,
        since: Option<SystemTime>,
        most: i64,
    ) -> Result<Vec<TargetRow>, PostgresError> {
        let connection = self.connection().await?;
        let rows = match since {
            Some(since) => connection.query(sql::CHANGED, &[&since, &most]).await,
            None => connection.query(sql::NEWEST, &[&most]).await,
        };
        rows_of(rows, "read the changed targets")
    }

    /// The dead and migrated targets, those that changed last first, at most `most`; of one account
    /// (`platform`, `alias`) if it is given.
    ///
    /// # Errors
    /// No connection, or the statement fails.
    pub async fn list(
        &self,
        account: Option<(&str, &str)>,
        most: i64,
    ) -> Result<Vec<TargetRow>, PostgresError> {
        let (platform, account) = account.unzip();
        let connection = self.connection().await?;
        let rows = connection
            .query(sql::LIST, &[&platform, &account, &most])
            .await;
        rows_of(rows, "list the targets")
    }

    /// Deletes what has been alive for a day: every worker has heard of it.
    ///
    /// # Errors
    /// No connection, or the statement fails.
    pub async fn forget_the_living(&self) -> Result<u64, PostgresError> {
        let connection = self.connection().await?;
        let forgotten = connection.execute(sql::FORGET_THE_LIVING, &[]).await;
        forgotten.map_err(PostgresError::doing("forget living targets"))
    }

    async fn connection(&self) -> Result<Object, PostgresError> {
        Ok(self.pool.get().await?)
    }
}

/// Postgres' text has no U+0000, and a platform's words may hold anything.
fn presentable(reason: &str) -> String {
    let clean = reason.chars().map(|c| if c == '\0' { ' ' } else { c });
    clean.take(MAX_REASON_CHARS).collect()
}

fn rows_of(
    rows: Result<Vec<Row>, tokio_postgres::Error>,
    doing: &'static str,
) -> Result<Vec<TargetRow>, PostgresError> {
    let rows = rows.map_err(PostgresError::doing(doing))?;
    let targets = rows.iter().map(target).collect::<Result<Vec<_>, _>>();
    targets.map_err(PostgresError::doing("read a target"))
}

fn target(row: &Row) -> Result<TargetRow, tokio_postgres::Error> {
    let kind: &str = row.try_get("kind")?;
    let new_chat_id: Option<String> = row.try_get("new_chat_id")?;
    let kind = match (kind, new_chat_id) {
        (_, Some(new_chat_id)) => TargetKind::Migrated { new_chat_id },
        ("dead", None) => {
            let left: Option<f64> = row.try_get("probe_left_seconds")?;
            let probes: i32 = row.try_get("probes")?;
            TargetKind::Dead {
                // Less than nothing: due.
                probe: left.map(|left| Duration::try_from_secs_f64(left).unwrap_or_default()),
                probes: u32::try_from(probes).unwrap_or(0),
            }
        }
        // The table's own rules leave nothing else.
        (_, None) => TargetKind::Alive,
    };
    Ok(TargetRow {
        name: TargetName {
            platform: row.try_get("platform")?,
            account: row.try_get("account")?,
            chat_id: row.try_get("chat_id")?,
            thread_id: row.try_get("thread_id")?,
        },
        kind,
        reason: row.try_get("reason")?,
        since: row.try_get("since")?,
        changed_at: row.try_get("changed_at")?,
    })
}
