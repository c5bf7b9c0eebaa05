//! What an envelope must be before anything is done with it (requirement B8), on both sides.

use crate::{Destination, Envelope, Micros};

/// An envelope field that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) field: &'static str,
    pub(crate) problem: String,
}

/// The longest id, name or other short text; chat ids too, so that a record key stays small.
const TEXT_BYTES: usize = 256;
/// The longest storage key: that of the common object stores.
const STORAGE_KEY_BYTES: usize = 1_024;
/// 2000-01-01 and 2100-01-01: `recorded_at` chooses the day under which a message is claimed.
const RECORDED: std::ops::Range<Micros> =
    Micros(946_684_800_000_000)..Micros(4_102_444_800_000_000);

/// Checks the envelope's own rules; that its type and version exist is the caller's to check.
pub(crate) fn validate(envelope: &Envelope) -> Result<(), Violation> {
    identity(envelope)?;
    times(envelope)?;
    if let Some(destination) = &envelope.destination {
        chat(destination)?;
    }
    claim_check(envelope)
}

fn identity(envelope: &Envelope) -> Result<(), Violation> {
    if envelope.message_id.is_nil() {
        return Err(violation("message_id", "is the nil UUID"));
    }
    required("producer", &envelope.producer)?;
    optional("correlation_id", envelope.correlation_id.as_deref())?;
    optional("causation_id", envelope.causation_id.as_deref())?;
    optional("aggregate_type", envelope.aggregate_type.as_deref())?;
    optional("aggregate_id", envelope.aggregate_id.as_deref())
}

fn times(envelope: &Envelope) -> Result<(), Violation> {
    if !RECORDED.contains(&envelope.recorded_at) {
        return Err(violation(
            "recorded_at",
            "is not between the years 2000 and 2100",
        ));
    }
    if !envelope.occurred_at.is_sane() {
        return Err(violation(
            "occurred_at",
            "is not between the years 1970 and 9999",
        ));
    }
    if envelope.expires_at.is_some_and(|time| !time.is_sane()) {
        return Err(violation(
            "expires_at",
            "is not between the years 1970 and 9999",
        ));
    }
    Ok(())
}

fn chat(destination: &Destination) -> Result<(), Violation> {
    required("destination.platform", &destination.platform)?;
    required("destination.account", &destination.account)?;
    required("destination.chat_id", &destination.chat_id)?;
    optional("destination.thread_id", destination.thread_id.as_deref())
}

fn claim_check(envelope: &Envelope) -> Result<(), Violation> {
    let Some(claim) = &envelope.claim_check else {
        return Ok(());
    };
    bounded(
        "claim_check.storage_key",
        &claim.storage_key,
        STORAGE_KEY_BYTES,
    )?;
    // A presigned link is a credential (requirement B7).
    if claim.storage_key.contains("://") || claim.storage_key.contains('?') {
        return Err(violation(
            "claim_check.storage_key",
            "is a link; give the object's key",
        ));
    }
    required("claim_check.content_type", &claim.content_type)?;
    if claim.size_bytes < 1 {
        return Err(violation("claim_check.size_bytes", "is less than 1"));
    }
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if claim.sha256.len() != 64 || !claim.sha256.bytes().all(hex) {
        return Err(violation(
            "claim_check.sha256",
            "is not 64 lower-case hexadecimal digits",
        ));
    }
    Ok(())
}

fn required(field: &'static str, text: &str) -> Result<(), Violation> {
    bounded(field, text, TEXT_BYTES)
}

fn bounded(field: &'static str, text: &str, longest: usize) -> Result<(), Violation> {
    if text.is_empty() {
        return Err(violation(field, "is empty"));
    }
    if text.len() > longest {
        return Err(violation(
            field,
            &format!("has {} bytes; at most {longest} are allowed", text.len()),
        ));
    }
    // Ids end up in headers, logs and Postgres, which cannot hold U+0000.
    if text.contains(char::is_control) {
        return Err(violation(field, "has a control character"));
    }
    Ok(())
}

fn optional(field: &'static str, text: Option<&str>) -> Result<(), Violation> {
    text.map_or(Ok(()), |text| {
        if text.is_empty() {
            Ok(())
        } else {
            required(field, text)
        }
    })
}

fn violation(field: &'static str, problem: &str) -> Violation {
    Violation {
        field,
        problem: problem.to_owned(),
    }
}
