use std::time::{Duration, Instant};

use metrics::histogram;
use tidings_delivery::Answer;
use tidings_edge::postgres::{Pool, PooledClient};
use tidings_edge::telemetry::metric_names;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use tracing::warn;

/// One statement, with the name that metrics know it by.
pub(crate) struct Statement {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

/// Why a statement has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StateError {
    /// No connection was to be had.
    #[error("no connection to the state database")]
    Connection(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Postgres refused, or the connection broke.
    #[error("a statement of the state database failed")]
    Statement(#[from] tokio_postgres::Error),
    /// It took too long; it may or may not have been committed.
    #[error("a statement of the state database took longer than {0:?}")]
    Deadline(Duration),
}

impl StateError {
    /// Says that something about `messages` messages was not done and is asked for again.
    pub(crate) fn log(&self, doing: &str, messages: usize) {
        let cause = std::error::Error::source(self).map(ToString::to_string);
        warn!(error = %self, cause, messages, "could not {doing}; it is asked again");
    }
}

/// Statements over a bounded pool, each with a deadline.
#[derive(Clone)]
pub(crate) struct Database {
    pool: Pool,
    deadline: Duration,
}

impl Database {
    /// `deadline` is the longest that a statement may take before it counts as unanswered.
    pub(crate) fn new(pool: Pool, deadline: Duration) -> Self {
        Self { pool, deadline }
    }

    /// A statement that took too long takes its connection with it: what follows must not queue behind it.
    pub(crate) async fn query(
        &self,
        statement: Statement,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StateError> {
        let (deadline, began) = (self.deadline, Instant::now());
        let connection = tokio::time::timeout(deadline, self.pool.get())
            .await
            .map_err(|_| StateError::Deadline(deadline))?
            .map_err(|error| StateError::Connection(Box::new(error)))?;
        let answer = tokio::time::timeout(deadline, async {
            let prepared = connection.prepare_cached(statement.text).await?;
            connection.query(&prepared, values).await
        })
        .await;
        histogram!(metric_names::STATE_STATEMENT_SECONDS, "statement" => statement.name)
            .record(began.elapsed().as_secs_f64());
        match answer {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(error)) => {
                if connection.is_closed() {
                    drop(PooledClient::take(connection));
                }
                Err(StateError::Statement(error))
            }
            Err(_) => {
                drop(PooledClient::take(connection));
                Err(StateError::Deadline(deadline))
            }
        }
    }
}

/// Puts the rows' answers where their questions were; a question without a row counts as unanswered by being asked again.
pub(crate) fn in_order<T: Clone + Unanswered>(
    count: usize,
    rows: &[Row],
    read: fn(&Row) -> T,
) -> Vec<T> {
    let mut answers = vec![T::UNANSWERED; count];
    for row in rows {
        if let Some(answer) = answers.get_mut(ordinal(row)) {
            *answer = read(row);
        }
    }
    answers
}

/// What stands for no answer.
pub(crate) trait Unanswered {
    const UNANSWERED: Self;
}

impl Unanswered for Answer {
    const UNANSWERED: Self = Self::Failed;
}

/// The place of a row's question, from its column `ord`.
pub(crate) fn ordinal(row: &Row) -> usize {
    let ordinal: i64 = row.get("ord");
    usize::try_from(ordinal - 1).unwrap_or(usize::MAX)
}

/// A count as Postgres' `int`.
pub(crate) fn count(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
