//! The relay's side: an envelope and its data, as JSON text, to Avro bytes.
//!
//! Bytes are written straight from the JSON text: a tree of values between costs more than all
//! the rest (reference/libraries.md), and would round numbers. The tests prove with apache-avro
//! that it reads what is written here.

mod avro;
mod header;
mod json;
mod object;
mod scalar;

use crate::catalogue::EventType;
use crate::path::Path;
use crate::rejection::{Rejection, RejectionCode};
use crate::validate::validate;
use crate::{Envelope, Limits, sanitise_escapes};

impl EventType {
    /// Appends the Avro body (no wire header, see [`crate::wire`]) of a message of this type.
    ///
    /// `data_json` is the outbox row's data as it came: numbers keep their digits, times are
    /// RFC 3339 with an offset or integer microseconds, decimals are numbers or strings, escapes
    /// of U+0000 and lone surrogates become U+FFFD. On an error `out` is as it was.
    ///
    /// # Errors
    /// [`Rejection`] naming the field and the remedy; the same row would be rejected again.
    pub fn encode(
        &self,
        envelope: &Envelope,
        data_json: &str,
        limits: &Limits,
        out: &mut Vec<u8>,
    ) -> Result<(), Rejection> {
        let start = out.len();
        let written = self.write(envelope, data_json, limits, out);
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    fn write(
        &self,
        envelope: &Envelope,
        data_json: &str,
        limits: &Limits,
        out: &mut Vec<u8>,
    ) -> Result<(), Rejection> {
        self.check(envelope, data_json, limits)?;
        let start = out.len();
        header::write(envelope, out);
        let at = Path::Root("data");
        json::write_record(self.data(), &sanitise_escapes(data_json), &at, out)?;
        // A short JSON number can be a long decimal: what is too large to read is not written.
        bounded(out.len() - start, limits.body_bytes())
    }

    fn check(
        &self,
        envelope: &Envelope,
        data_json: &str,
        limits: &Limits,
    ) -> Result<(), Rejection> {
        if envelope.event_type != self.name() || envelope.event_version != self.version() {
            return Err(Rejection::new(
                RejectionCode::InvalidEnvelope,
                &Path::Root("event_type"),
                format!(
                    "the row is not of {} version {}",
                    self.name(),
                    self.version()
                ),
                "encode it with its own type",
            ));
        }
        bounded(data_json.len(), limits.payload_bytes)?;
        validate(envelope).map_err(|violation| {
            Rejection::new(
                RejectionCode::InvalidEnvelope,
                &Path::Root(violation.field),
                violation.problem,
                "correct the argument of tidings.publish",
            )
        })
    }
}

fn bounded(bytes: usize, limit: usize) -> Result<(), Rejection> {
    if bytes <= limit {
        return Ok(());
    }
    Err(Rejection::new(
        RejectionCode::TooLarge,
        &Path::Root("data"),
        format!("{bytes} bytes; at most {limit} are allowed"),
        "store the content and publish its key as a claim check: `tidings claim-check put` prints that argument of tidings.publish",
    ))
}
