//! The envelope's fields, in the order of `schemas/envelope.avsc`.

use super::avro::{write_length, write_long, write_optional, write_string};
use crate::{ClaimCheck, Destination, Envelope};
use uuid::fmt::Hyphenated;

/// Appends every field before `data`.
pub(super) fn write(envelope: &Envelope, out: &mut Vec<u8>) {
    let text = |text: &String, out: &mut Vec<u8>| write_string(text, out);
    write_length(Hyphenated::LENGTH, out);
    let mut id = [0; Hyphenated::LENGTH];
    out.extend_from_slice(
        envelope
            .message_id
            .hyphenated()
            .encode_lower(&mut id)
            .as_bytes(),
    );
    write_string(&envelope.event_type, out);
    write_long(envelope.event_version.into(), out);
    write_long(envelope.occurred_at.0, out);
    write_long(envelope.recorded_at.0, out);
    write_string(&envelope.producer, out);
    write_optional(envelope.correlation_id.as_ref(), out, text);
    write_optional(envelope.causation_id.as_ref(), out, text);
    write_optional(envelope.aggregate_type.as_ref(), out, text);
    write_optional(envelope.aggregate_id.as_ref(), out, text);
    write_optional(envelope.aggregate_sequence, out, write_long);
    write_optional(envelope.destination.as_ref(), out, destination);
    write_long(envelope.priority.avro_index().into(), out);
    write_optional(envelope.expires_at, out, |time, out| {
        write_long(time.0, out)
    });
    write_optional(envelope.claim_check.as_ref(), out, claim_check);
}

fn destination(destination: &Destination, out: &mut Vec<u8>) {
    write_string(&destination.platform, out);
    write_string(&destination.account, out);
    write_string(&destination.chat_id, out);
    write_optional(destination.thread_id.as_deref(), out, write_string);
}

fn claim_check(claim: &ClaimCheck, out: &mut Vec<u8>) {
    write_string(&claim.storage_key, out);
    write_string(&claim.content_type, out);
    write_long(claim.size_bytes, out);
    write_string(&claim.sha256, out);
}
