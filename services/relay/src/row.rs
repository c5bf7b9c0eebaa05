//! A row of the outbox.

use serde_json::Value;
use tidings_envelope::{ClaimCheck, Destination, Envelope, Priority};
use tokio_postgres::{Error, Row};

use crate::wire_types::{JsonText, Time, Xid};

/// A row of the outbox, as the read statement returns it.
#[derive(Debug, Clone)]
pub(crate) struct OutboxRow {
    /// Its place in the table.
    pub(crate) id: i64,
    /// Everything but the data.
    pub(crate) envelope: Envelope,
    /// Upstream's JSON; `None` if it is larger than a payload may be, and so was not fetched.
    pub(crate) data: Option<String>,
    /// Length of the data, as text.
    pub(crate) data_bytes: i32,
    /// The trace context of the transaction that published.
    pub(crate) traceparent: Option<String>,
}

/// One line of the read statement's answer: `snapshot` is set in exactly one, which is no row.
pub(crate) enum Line {
    /// The statement's snapshot and the id after which it started.
    Head {
        /// As `pg_current_snapshot()` prints it.
        snapshot: String,
        /// The id after which it started.
        start: i64,
    },
    /// A row, and the transaction id that the statement drew.
    Row {
        /// The mark of `tidings-outbox`.
        mark: u64,
        /// The row.
        row: Box<OutboxRow>,
    },
}

/// The columns of the read statement, in order; `read_line` takes them by position.
pub(crate) const COLUMNS: &str = "o.message_id, o.event_type, o.event_version, o.occurred_at, o.recorded_at, o.producer, \
     o.correlation_id, o.causation_id, o.aggregate_type, o.aggregate_id, o.aggregate_sequence, \
     o.platform, o.account, o.chat_id, o.thread_id, o.priority, o.expires_at, o.traceparent, o.data_bytes, \
     o.claim_check::text";

/// Reads one line: `snapshot text, mark xid8, id bigint, data json`, then [`COLUMNS`].
pub(crate) fn read_line(line: &Row) -> Result<Line, Error> {
    if let Some(snapshot) = line.try_get(0)? {
        return Ok(Line::Head {
            snapshot,
            start: line.try_get(2)?,
        });
    }
    let Xid(mark) = line.try_get(1)?;
    let row = OutboxRow {
        id: line.try_get(2)?,
        data: line
            .try_get::<_, Option<JsonText>>(3)?
            .map(|JsonText(text)| text),
        envelope: envelope(line)?,
        traceparent: line.try_get(21)?,
        data_bytes: line.try_get(22)?,
    };
    Ok(Line::Row {
        mark,
        row: Box::new(row),
    })
}

fn envelope(line: &Row) -> Result<Envelope, Error> {
    let Time(occurred_at) = line.try_get(7)?;
    let Time(recorded_at) = line.try_get(8)?;
    Ok(Envelope {
        message_id: line.try_get(4)?,
        event_type: line.try_get(5)?,
        event_version: line.try_get(6)?,
        occurred_at,
        recorded_at,
        producer: line.try_get(9)?,
        correlation_id: line.try_get(10)?,
        causation_id: line.try_get(11)?,
        aggregate_type: line.try_get(12)?,
        aggregate_id: line.try_get(13)?,
        aggregate_sequence: line.try_get(14)?,
        destination: destination(line)?,
        // The table's own check allows the two words only.
        priority: Priority::from_word(line.try_get(19)?).unwrap_or_default(),
        expires_at: line
            .try_get::<_, Option<Time>>(20)?
            .map(|Time(micros)| micros),
        claim_check: line.try_get::<_, Option<&str>>(23)?.map(claim_check),
    })
}

/// A claim check as `tidings.publish` stored it. What was written around `publish` and has another shape becomes one that
/// the encoder refuses by the field's name.
fn claim_check(json: &str) -> ClaimCheck {
    let stored: Value = serde_json::from_str(json).unwrap_or_default();
    let text = |field| stored.get(field).and_then(Value::as_str);
    ClaimCheck {
        storage_key: text("storage_key").unwrap_or_default().to_owned(),
        content_type: text("content_type").unwrap_or_default().to_owned(),
        size_bytes: stored
            .get("size_bytes")
            .and_then(Value::as_i64)
            .unwrap_or_default(),
        sha256: text("sha256").unwrap_or_default().to_owned(),
    }
}

fn destination(line: &Row) -> Result<Option<Destination>, Error> {
    let Some(platform) = line.try_get(15)? else {
        return Ok(None);
    };
    Ok(Some(Destination {
        platform,
        account: line.try_get::<_, Option<String>>(16)?.unwrap_or_default(),
        chat_id: line.try_get::<_, Option<String>>(17)?.unwrap_or_default(),
        thread_id: line.try_get(18)?,
    }))
}
