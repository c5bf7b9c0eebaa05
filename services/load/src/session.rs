//! One open connection, and the statements that the program sends over it.

use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};
use uuid::Uuid;

use crate::LoadOptions;
use crate::event::Event;
use crate::work::{Step, Work};

const PUBLISH: &str = include_str!("../sql/publish.sql");
const CONFIRM: &str = "
    insert into load.orders (order_id, run, chat_id, customer_name, amount, currency, status)
    values ($1, $2, $3, $4, $5::text::numeric, $6, 'confirmed')
    returning pg_current_xact_id()::text";
const SHIP: &str = "
    update load.orders set status = 'shipped' where order_id = $1
    returning pg_current_xact_id()::text";
const NOTE_COMMIT: &str =
    "insert into load.commits (run, tx) values ($1, $2) on conflict do nothing";
const NOTE_ROLLED_BACK: &str = "
    insert into load.rolled_back (message_id, run, chat, event_type)
    select message_id, $1, $2, event_type
    from unnest($3::uuid[], $4::text[]) as rolled_back (message_id, event_type)
    on conflict do nothing";

/// Why a statement brought no result: the error, or `None` when no answer came in time.
pub(crate) type Lost = Option<tokio_postgres::Error>;

/// A transaction that has written all it wants to, and is neither committed nor rolled back.
pub(crate) struct Written {
    /// Its number in the run.
    pub(crate) number: i64,
    /// Its id in Postgres, by which its end can be asked for after a lost answer.
    pub(crate) xid: String,
    /// The messages it published.
    pub(crate) ids: Vec<Uuid>,
}

/// An open connection.
pub(crate) struct Session {
    client: Client,
    answer_deadline: Duration,
    /// Prepared at the first use: the tables must exist by then.
    statements: OnceCell<Statements>,
}

struct Statements {
    publish: Statement,
    confirm: Statement,
    ship: Statement,
    note_commit: Statement,
}

impl Session {
    pub(crate) fn new(client: Client, answer_deadline: Duration) -> Self {
        Self {
            client,
            answer_deadline,
            statements: OnceCell::new(),
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Statements without parameters.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), Lost> {
        self.answer(self.client.batch_execute(sql)).await
    }

    /// Begins a transaction and writes business row, outbox rows and ledger rows. The ids of what it
    /// published go to `ids` one by one: they are known even if a later statement fails.
    pub(crate) async fn write(
        &self,
        options: &LoadOptions,
        work: &Work<'_>,
        number: i64,
        ids: &mut Vec<Uuid>,
    ) -> Result<String, Lost> {
        self.batch("begin").await?;
        if work.habits().publish_first {
            self.publish_all(options, work, number, ids).await?;
            self.business(options, work).await
        } else {
            let xid = self.business(options, work).await?;
            self.publish_all(options, work, number, ids).await?;
            Ok(xid)
        }
    }

    /// Notes that transaction `number` has been committed; the moment is the server's, and after it.
    pub(crate) async fn note_commit(&self, run: &str, number: i64) -> Result<(), Lost> {
        let statement = &self.statements().await?.note_commit;
        self.answer(self.client.execute(statement, &[&run, &number]))
            .await?;
        Ok(())
    }

    /// Notes that `ids`, the first of the work's events, were rolled back.
    pub(crate) async fn note_rolled_back(
        &self,
        options: &LoadOptions,
        work: &Work<'_>,
        ids: &[Uuid],
    ) -> Result<(), Lost> {
        let types: Vec<&str> = work.events.iter().map(|event| event.event_type).collect();
        let types = types.get(..ids.len()).unwrap_or(&types);
        let chat = work.chat(options);
        let parameters: [&(dyn ToSql + Sync); 4] = [&options.run, &chat, &ids, &types];
        self.answer(self.client.execute(NOTE_ROLLED_BACK, &parameters))
            .await?;
        Ok(())
    }

    /// Whether transaction `xid` of Postgres is still in progress.
    pub(crate) async fn is_in_progress(&self, xid: &str) -> Result<bool, Lost> {
        let sql = "select coalesce(pg_xact_status($1::text::xid8) = 'in progress', false)";
        match self.answer(self.client.query_one(sql, &[&xid])).await {
            Ok(row) => first(&row),
            // After a crash, an id that left no trace is one of the future.
            Err(Some(error)) if error.code() == Some(&SqlState::INVALID_PARAMETER_VALUE) => {
                Ok(false)
            }
            Err(lost) => Err(lost),
        }
    }

    /// Whether the ledger has rows of transaction `number`.
    pub(crate) async fn is_in_ledger(&self, run: &str, number: i64) -> Result<bool, Lost> {
        let sql = "select exists (select from load.ledger where run = $1 and tx = $2)";
        let row = self
            .answer(self.client.query_one(sql, &[&run, &number]))
            .await?;
        first(&row)
    }

    async fn business(&self, options: &LoadOptions, work: &Work<'_>) -> Result<String, Lost> {
        let statements = self.statements().await?;
        let plan = work.plan;
        let chat = plan.chat_id.to_string();
        let (statement, parameters): (_, Vec<&(dyn ToSql + Sync)>) = match work.step {
            Step::Confirm => (
                &statements.confirm,
                vec![
                    &plan.order_id,
                    &options.run,
                    &chat,
                    &plan.customer_name,
                    &plan.amount,
                    &plan.currency,
                ],
            ),
            Step::Ship => (&statements.ship, vec![&plan.order_id]),
        };
        let row = self
            .answer(self.client.query_one(statement, &parameters))
            .await?;
        first(&row)
    }

    async fn publish_all(
        &self,
        options: &LoadOptions,
        work: &Work<'_>,
        number: i64,
        ids: &mut Vec<Uuid>,
    ) -> Result<(), Lost> {
        for (ordinal, event) in (0..).zip(&work.events) {
            ids.push(self.publish(options, work, number, ordinal, event).await?);
        }
        Ok(())
    }

    async fn publish(
        &self,
        options: &LoadOptions,
        work: &Work<'_>,
        number: i64,
        ordinal: i32,
        event: &Event,
    ) -> Result<Uuid, Lost> {
        let statement = &self.statements().await?.publish;
        let expect = if event.bad { "rejected" } else { "posted" };
        let parameters: [&(dyn ToSql + Sync); 14] = [
            &event.event_type,
            &event.event_version,
            &event.data.to_string(),
            &work.plan.order_id,
            &work.destination(options),
            &work.lane(),
            &event.aggregate_sequence,
            &work.habits().traceparent,
            &options.run,
            &number,
            &ordinal,
            &work.chat(options),
            &expect,
            &options.lock_chat,
        ];
        let row = self
            .answer(self.client.query_one(statement, &parameters))
            .await?;
        first(&row)
    }

    async fn statements(&self) -> Result<&Statements, Lost> {
        let prepare = || async {
            Ok(Statements {
                publish: self.answer(self.client.prepare(PUBLISH)).await?,
                confirm: self.answer(self.client.prepare(CONFIRM)).await?,
                ship: self.answer(self.client.prepare(SHIP)).await?,
                note_commit: self.answer(self.client.prepare(NOTE_COMMIT)).await?,
            })
        };
        self.statements.get_or_try_init(prepare).await
    }

    async fn answer<T>(
        &self,
        statement: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Lost> {
        match timeout(self.answer_deadline, statement).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Some(error)),
            Err(_) => Err(None),
        }
    }
}

fn first<'r, T: tokio_postgres::types::FromSql<'r>>(row: &'r Row) -> Result<T, Lost> {
    row.try_get(0).map_err(Some)
}
