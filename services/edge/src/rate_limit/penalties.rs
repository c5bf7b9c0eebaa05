//! Long penalties in the state database, by its clock (design §9).

use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use tidings_ratelimit::{KeptPenalty, Target};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::postgres::PostgresError;

/// The longest penalty that is kept, whatever a platform asks for.
const LONGEST: Duration = Duration::from_secs(3_650 * 86_400);

/// The most penalties that are read at once, those with the latest ends first.
const MOST_READ: i64 = 10_000;

/// One that ends later stays.
const KEEP: &str = "
    INSERT INTO tidings_delivery.penalties AS known (kind, scope, chat, penalty_id, ends_at)
    VALUES ($1, $2, $3, $4, clock_timestamp() + $5::float8 * interval '1 second')
    ON CONFLICT (kind, scope, chat) DO UPDATE
    SET penalty_id = excluded.penalty_id, ends_at = excluded.ends_at, recorded_at = excluded.recorded_at
    WHERE known.ends_at < excluded.ends_at";

const FORGET_CHAT: &str = "
    DELETE FROM tidings_delivery.penalties
    WHERE kind IN ('chat', 'unnamed') AND scope = $1 AND chat = $2";

/// The account's own and its chats'.
const FORGET_ACCOUNT: &str = "
    DELETE FROM tidings_delivery.penalties
    WHERE kind IN ('account', 'chat', 'unnamed') AND scope = $1";

const FORGET_ADDRESS: &str = "
    DELETE FROM tidings_delivery.penalties WHERE kind = 'address' AND scope = $1";

/// Those that ended are of no use to anybody.
const FORGET_ENDED: &str =
    "DELETE FROM tidings_delivery.penalties WHERE ends_at <= clock_timestamp()";

const READ: &str = "
    SELECT penalty_id, kind, scope, chat, extract(epoch FROM ends_at - clock_timestamp())::float8
    FROM tidings_delivery.penalties WHERE ends_at > clock_timestamp()
    ORDER BY ends_at DESC LIMIT $1";

/// The table of long penalties.
#[derive(Clone)]
pub struct PenaltyStore {
    pool: Pool,
}

impl PenaltyStore {
    /// In the database of this pool; `tidings migrate` makes the table.
    #[must_use]
    pub fn new(pool: Pool) -> Self {
        Self { pool }
    }

    /// Keeps a penalty that still runs for `remaining`, unless one of the same target ends later.
    ///
    /// # Errors
    /// No connection, or the statement fails.
    pub async fn keep(
        &self,
        id: Uuid,
        target: &Target,
        remaining: Duration,
    ) -> Result<(), PostgresError> {
        let (kind, scope, chat) = columns(target);
        let seconds = remaining.min(LONGEST).as_secs_f64();
        let connection = self.connection().await?;
        let kept = connection
            .execute(KEEP, &[&kind, &scope, &chat, &id, &seconds])
            .await;
        kept.map_err(PostgresError::doing("keep a penalty"))?;
        Ok(())
    }

    /// Forgets a chat's penalties, an account's with all its chats', or an address'; returns how many there were.
    ///
    /// # Errors
    /// No connection, or the statement fails.
    pub async fn forget(&self, target: &Target) -> Result<u64, PostgresError> {
        let connection = self.connection().await?;
        let forgotten = match target {
            Target::Chat { scope, chat } | Target::Unnamed { scope, chat } => {
                connection.execute(FORGET_CHAT, &[scope, chat]).await
            }
            Target::Account { scope } => connection.execute(FORGET_ACCOUNT, &[scope]).await,
            Target::Address { platform } => connection.execute(FORGET_ADDRESS, &[platform]).await,
        };
        forgotten.map_err(PostgresError::doing("forget penalties"))
    }

    /// What still runs, by the database's clock. Those that ended are deleted on the way.
    ///
    /// # Errors
    /// No connection, or a statement fails.
    pub async fn read(&self) -> Result<Vec<KeptPenalty>, PostgresError> {
        let connection = self.connection().await?;
        let ended = connection.execute(FORGET_ENDED, &[]).await;
        ended.map_err(PostgresError::doing("forget ended penalties"))?;
        let rows = connection.query(READ, &[&MOST_READ]).await;
        let rows = rows.map_err(PostgresError::doing("read the penalties"))?;
        let kept = rows.iter().map(kept).collect::<Result<Vec<_>, _>>();
        let kept = kept.map_err(PostgresError::doing("read a penalty"))?;
        Ok(kept.into_iter().flatten().collect())
    }

    async fn connection(&self) -> Result<Object, PostgresError> {
        Ok(self.pool.get().await?)
    }
}

fn columns(target: &Target) -> (&'static str, &str, &str) {
    match target {
        Target::Chat { scope, chat } => ("chat", scope, chat),
        Target::Account { scope } => ("account", scope, ""),
        Target::Address { platform } => ("address", platform, ""),
        Target::Unnamed { scope, chat } => ("unnamed", scope, chat),
    }
}

/// `None` for what the table's own rules exclude.
fn kept(row: &Row) -> Result<Option<KeptPenalty>, tokio_postgres::Error> {
    let (kind, scope, chat): (&str, String, String) =
        (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
    let target = match kind {
        "chat" => Target::Chat { scope, chat },
        "account" => Target::Account { scope },
        "address" => Target::Address { platform: scope },
        "unnamed" => Target::Unnamed { scope, chat },
        _ => return Ok(None),
    };
    let remaining = Duration::try_from_secs_f64(row.try_get(4)?).unwrap_or_default();
    Ok(Some(KeptPenalty {
        id: row.try_get(0)?,
        target,
        remaining,
    }))
}
