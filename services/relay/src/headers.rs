//! The headers of a record (reference/conventions.md, "Record headers"): what tools filter on without decoding.

use rdkafka::message::{Header, OwnedHeaders};
use tidings_edge::config::HeaderSet;
use tidings_envelope::Envelope;
use tidings_envelope::trace::TraceContext;

/// The headers of an envelope: the six that are always there, and with [`HeaderSet::Full`] all of CloudEvents'.
/// `context` is the one of the `create` span.
pub(crate) fn headers(
    set: HeaderSet,
    envelope: &Envelope,
    key: &str,
    context: &TraceContext,
) -> OwnedHeaders {
    match set {
        HeaderSet::Minimal => minimal(MINIMAL, envelope, context),
        HeaderSet::Full => full(
            minimal(MINIMAL + FULL, envelope, context),
            envelope,
            key,
            context,
        ),
    }
}

const MINIMAL: usize = 6;
/// The most that [`full`] adds.
const FULL: usize = 8;

fn minimal(capacity: usize, envelope: &Envelope, context: &TraceContext) -> OwnedHeaders {
    let mut id = [0; uuid::fmt::Hyphenated::LENGTH];
    let id = envelope.message_id.hyphenated().encode_lower(&mut id);
    let headers = OwnedHeaders::new_with_capacity(capacity);
    let headers = with(headers, "ce_specversion", "1.0");
    let headers = with(headers, "ce_id", id);
    let headers = with(headers, "ce_source", &envelope.producer);
    let headers = with(headers, "ce_type", &envelope.event_type);
    let headers = with(headers, "content-type", "application/avro");
    with(headers, "traceparent", &context.to_traceparent())
}

fn full(
    mut headers: OwnedHeaders,
    envelope: &Envelope,
    key: &str,
    context: &TraceContext,
) -> OwnedHeaders {
    let optional = [
        ("ce_time", Some(envelope.occurred_at.to_string())),
        ("ce_subject", envelope.aggregate_id.clone()),
        ("ce_correlationid", envelope.correlation_id.clone()),
        ("ce_causationid", envelope.causation_id.clone()),
        ("ce_partitionkey", Some(key.to_owned())),
        (
            "ce_sequence",
            envelope
                .aggregate_sequence
                .map(|sequence| sequence.to_string()),
        ),
        (
            "ce_expirytime",
            envelope.expires_at.map(|time| time.to_string()),
        ),
        // Where the trace began; never rewritten, while `traceparent` is per hop.
        ("ce_traceparent", Some(context.to_traceparent())),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            headers = with(headers, name, &value);
        }
    }
    headers
}

fn with(headers: OwnedHeaders, key: &str, value: &str) -> OwnedHeaders {
    headers.insert(Header {
        key,
        value: Some(value),
    })
}

#[cfg(test)]
mod tests {
    use rdkafka::message::Headers as _;
    use tidings_envelope::trace::create_context;
    use tidings_envelope::{Micros, Priority};
    use uuid::Uuid;

    use super::*;

    fn envelope() -> Envelope {
        Envelope {
            message_id: Uuid::from_u128(7),
            event_type: "order.confirmed".into(),
            event_version: 1,
            occurred_at: Micros(1_700_000_000_000_000),
            recorded_at: Micros(1_700_000_000_000_000),
            producer: "orders".into(),
            correlation_id: Some("c".into()),
            causation_id: None,
            aggregate_type: Some("order".into()),
            aggregate_id: Some("o-1".into()),
            aggregate_sequence: Some(3),
            destination: None,
            priority: Priority::Normal,
            expires_at: None,
            claim_check: None,
        }
    }

    fn listed(set: HeaderSet) -> Vec<(String, String)> {
        let context = create_context(envelope().message_id, None);
        let headers = headers(set, &envelope(), "o-1", &context);
        let text = |bytes: Option<&[u8]>| String::from_utf8(bytes.unwrap().to_vec()).unwrap();
        headers
            .iter()
            .map(|header| (header.key.to_owned(), text(header.value)))
            .collect()
    }

    #[test]
    fn six_headers_are_always_there() {
        let listed = listed(HeaderSet::Minimal);
        let names: Vec<&str> = listed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "ce_specversion",
                "ce_id",
                "ce_source",
                "ce_type",
                "content-type",
                "traceparent"
            ]
        );
        assert_eq!(listed[1].1, "00000000-0000-0000-0000-000000000007");
        assert_eq!(listed[3].1, "order.confirmed");
    }

    #[test]
    fn the_full_set_leaves_out_what_the_envelope_lacks() {
        let listed = listed(HeaderSet::Full);
        let value = |name: &str| {
            listed
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!(value("ce_time"), Some("2023-11-14T22:13:20Z"));
        assert_eq!(
            (value("ce_correlationid"), value("ce_causationid")),
            (Some("c"), None)
        );
        assert_eq!(
            (value("ce_sequence"), value("ce_expirytime")),
            (Some("3"), None)
        );
        assert_eq!(value("ce_traceparent"), value("traceparent"));
    }
}
