//! The dispatcher's side: Avro bytes to a message, or to the reason why never.

mod bounds;
mod header;
mod project;
mod reader;
mod writer_schema;

pub use writer_schema::WriterSchema;

use crate::catalogue::EventType;
use crate::path::Path;
use crate::validate::validate;
use crate::{Destination, Envelope, Limits, Poison, PoisonCategory};
use apache_avro::types::Value;
use std::fmt;
use std::sync::Arc;

/// A decoded and validated message.
#[derive(Clone)]
pub struct Message {
    /// What it carries around its data.
    pub envelope: Envelope,
    /// Its event type, as this build reads it.
    pub event: Arc<EventType>,
    /// The data as JSON, for templates and handlers: decimals are exact strings (`19.99`), times
    /// RFC 3339 in UTC, enums their symbol, absent optional fields null.
    pub data: serde_json::Value,
    /// What the claim check names, once it is fetched and verified (requirement B7).
    pub content: Option<Arc<str>>,
}

impl fmt::Debug for Message {
    /// Without the data, which is about a person.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("message_id", &self.envelope.message_id)
            .field("event", &self.event)
            .finish_non_exhaustive()
    }
}

impl Message {
    /// The same with its claim check's content, which its text is made of from then on.
    #[must_use]
    pub fn with_content(&self, content: Arc<str>) -> Self {
        Self {
            content: Some(content),
            ..self.clone()
        }
    }

    /// The chat to send to. A lane's message without one is poison.
    ///
    /// # Errors
    /// [`PoisonCategory::NoDestination`].
    pub fn destination(&self) -> Result<&Destination, Poison> {
        self.envelope.destination.as_ref().ok_or_else(|| {
            Poison::new(
                PoisonCategory::NoDestination,
                "envelope.destination",
                "a message on a lane needs a destination",
            )
        })
    }
}

/// Decodes an Avro body (no wire header) that was written with `writer`, and checks it before any
/// side effect (requirement B8). Total: any bytes give a message or a [`Poison`].
///
/// # Errors
/// [`Poison`]; the same bytes would fail again.
pub fn decode(writer: &WriterSchema, body: &[u8], limits: &Limits) -> Result<Message, Poison> {
    if body.len() > limits.body_bytes() {
        return Err(Poison::new(
            PoisonCategory::TooLarge,
            "value",
            format!(
                "{} bytes; at most {} are allowed",
                body.len(),
                limits.body_bytes()
            ),
        ));
    }
    let Value::Record(mut fields) = reader::read(writer.schema(), body, limits)? else {
        return Err(Poison::new(
            PoisonCategory::InvalidBytes,
            "value",
            "is no record",
        ));
    };
    let event = Arc::clone(writer.event());
    let data = header::take(&mut fields, "data")?;
    let envelope = header::envelope(fields)?;
    check(&envelope, &event)?;
    let data = project::record(event.data(), data, &Path::Root("data"))?;
    Ok(Message {
        envelope,
        event,
        data,
        content: None,
    })
}

fn check(envelope: &Envelope, event: &EventType) -> Result<(), Poison> {
    if envelope.event_type != event.name() || envelope.event_version != event.version() {
        return Err(header::invalid(
            "event_type",
            format!(
                "the schema is that of {} version {}",
                event.name(),
                event.version()
            ),
        ));
    }
    validate(envelope).map_err(|violation| header::invalid(violation.field, violation.problem))
}
