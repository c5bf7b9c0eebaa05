//! `tidings.publish` for services in Rust: the event's row in the service's own transaction.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::value::RawValue;
use tidings_envelope::{ClaimCheck, Destination, Micros, Priority};
use tokio_postgres::Transaction;
use tokio_postgres::types::{Json, Type};
use uuid::Uuid;

/// An event to publish. [`NewEvent::new`] fills what is optional with nothing.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// The event type, for example `order.confirmed`.
    pub event_type: String,
    /// Its major version, from 1.
    pub event_version: i32,
    /// The data, as JSON text of the event type's fields.
    pub data: Box<RawValue>,
    /// What the event is about, for example `order`; without a destination also the stream it goes to.
    pub aggregate_type: String,
    /// The id of what the event is about.
    pub aggregate_id: String,
    /// The chat that gets it; `None` publishes it to the stream `aggregate_type`.
    pub destination: Option<Destination>,
    /// Which lane it takes.
    pub priority: Priority,
    /// Position of the event in the aggregate's history.
    pub aggregate_sequence: Option<i64>,
    /// Business time; `None` is the transaction's start.
    pub occurred_at: Option<Micros>,
    /// After this time it is not sent any more.
    pub expires_at: Option<Micros>,
    /// Groups the messages of one business flow.
    pub correlation_id: Option<String>,
    /// The message or request that caused this one.
    pub causation_id: Option<String>,
    /// The W3C trace context of the span that publishes.
    pub traceparent: Option<String>,
    /// The message's id; `None` has one of version 7 made.
    pub message_id: Option<Uuid>,
    /// Where content lies that is too large for the data; it must stay there for as long as the message may be replayed.
    pub claim_check: Option<ClaimCheck>,
}

impl NewEvent {
    /// An event with normal priority and nothing optional.
    #[must_use]
    pub fn new(
        event_type: impl Into<String>,
        event_version: i32,
        data: Box<RawValue>,
        aggregate_type: impl Into<String>,
        aggregate_id: impl Into<String>,
    ) -> Self {
        Self {
            event_type: event_type.into(),
            event_version,
            data,
            aggregate_type: aggregate_type.into(),
            aggregate_id: aggregate_id.into(),
            destination: None,
            priority: Priority::Normal,
            aggregate_sequence: None,
            occurred_at: None,
            expires_at: None,
            correlation_id: None,
            causation_id: None,
            traceparent: None,
            message_id: None,
            claim_check: None,
        }
    }
}

/// Why an event was not published. The transaction is aborted, as by any failed statement.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// `tidings.publish` refused an argument (its message says which, its hint what to pass), or the statement failed.
    #[error("tidings.publish failed")]
    Statement(#[from] tokio_postgres::Error),
    /// A time lies outside of what the system can express.
    #[error("{field} is no time that can be stored")]
    Time {
        /// Which one.
        field: &'static str,
    },
}

const SQL: &str = "select tidings.publish($1, $2, $3, $4, $5, $6, $7, $8, coalesce($9, now()), $10, $11, $12, $13, $14, $15)";

/// What the statement's parameters are, so that it needs no preparation of its own.
const TYPES: [Type; 15] = [
    Type::TEXT,
    Type::INT4,
    Type::JSON,
    Type::TEXT,
    Type::TEXT,
    Type::JSONB,
    Type::TEXT,
    Type::INT8,
    Type::TIMESTAMPTZ,
    Type::TIMESTAMPTZ,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::UUID,
    Type::JSONB,
];

/// Publishes an event in the caller's transaction: it goes out if, and only if, the transaction commits. Returns the
/// message's id.
///
/// # Errors
/// [`PublishError`]; the transaction is then aborted.
pub async fn publish(
    transaction: &Transaction<'_>,
    event: &NewEvent,
) -> Result<Uuid, PublishError> {
    let destination = event.destination.as_ref().map(Json);
    let occurred_at = event
        .occurred_at
        .map(|time| system_time("occurred_at", time))
        .transpose()?;
    let expires_at = event
        .expires_at
        .map(|time| system_time("expires_at", time))
        .transpose()?;
    let claim_check = event.claim_check.as_ref().map(Json);
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 15] = [
        &event.event_type,
        &event.event_version,
        &Json(&event.data),
        &event.aggregate_type,
        &event.aggregate_id,
        &destination,
        &event.priority.as_str(),
        &event.aggregate_sequence,
        &occurred_at,
        &expires_at,
        &event.correlation_id,
        &event.causation_id,
        &event.traceparent,
        &event.message_id,
        &claim_check,
    ];
    let typed: Vec<_> = values.into_iter().zip(TYPES).collect();
    let rows = transaction.query_typed(SQL, &typed).await?;
    match rows.first() {
        Some(row) => Ok(row.try_get(0)?),
        // A select without a from clause always has a row; the id is unknown otherwise.
        None => Ok(event.message_id.unwrap_or_default()),
    }
}

fn system_time(field: &'static str, time: Micros) -> Result<SystemTime, PublishError> {
    let since_epoch = u64::try_from(time.0).map_err(|_| PublishError::Time { field })?;
    UNIX_EPOCH
        .checked_add(Duration::from_micros(since_epoch))
        .ok_or(PublishError::Time { field })
}
