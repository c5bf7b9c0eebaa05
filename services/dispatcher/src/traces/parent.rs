//! What a record says about where its trace began.

use rdkafka::Message as _;
use rdkafka::message::{Headers as _, OwnedMessage};
use tidings_edge::telemetry::traces::SpanRef;
use tidings_envelope::trace::{TraceContext, create_context, parse_traceparent};
use uuid::Uuid;

/// The context that the message was created with: the `traceparent` header, else what its id alone gives.
pub(super) fn of(record: &OwnedMessage) -> Option<SpanRef> {
    let given = header(record, "traceparent").and_then(parse_traceparent);
    let context = given.or_else(|| own(record))?;
    Some(SpanRef {
        trace_id: context.trace_id,
        span_id: context.span_id,
        flags: context.flags,
    })
}

/// The trace's id as Jaeger shows it, for log lines.
pub(crate) fn trace_id(record: &OwnedMessage) -> Option<String> {
    let traceparent = of(record)?.to_traceparent();
    Some(traceparent.get(3..35)?.to_owned())
}

fn own(record: &OwnedMessage) -> Option<TraceContext> {
    let message_id: Uuid = header(record, "ce_id")?.parse().ok()?;
    Some(create_context(message_id, None))
}

/// The first header of that name, if it is text.
fn header<'a>(record: &'a OwnedMessage, name: &str) -> Option<&'a str> {
    let found = record.headers()?.iter().find(|header| header.key == name)?;
    std::str::from_utf8(found.value?).ok()
}

#[cfg(test)]
mod tests {
    use rdkafka::Timestamp;
    use rdkafka::message::{Header, OwnedHeaders};

    use super::*;

    const ID: &str = "01900000-0000-7000-8000-000000000001";

    fn record(headers: &[(&str, &str)]) -> OwnedMessage {
        let all = headers
            .iter()
            .fold(OwnedHeaders::new(), |all, (key, value)| {
                all.insert(Header {
                    key,
                    value: Some(*value),
                })
            });
        OwnedMessage::new(
            None,
            None,
            "lane".into(),
            Timestamp::NotAvailable,
            0,
            0,
            Some(all),
        )
    }

    #[test]
    fn the_header_counts_and_without_a_valid_one_the_message_id() {
        let given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let by_header = record(&[("ce_id", ID), ("traceparent", given)]);
        assert_eq!(of(&by_header).unwrap().to_traceparent(), given);
        assert_eq!(
            trace_id(&by_header).unwrap(),
            "4bf92f3577b34da6a3ce929d0e0e4736"
        );
        let own = create_context(ID.parse().unwrap(), None).to_traceparent();
        for damaged in [
            record(&[("ce_id", ID), ("traceparent", "00-zz")]),
            record(&[("ce_id", ID)]),
        ] {
            assert_eq!(of(&damaged).unwrap().to_traceparent(), own);
        }
        assert_eq!(of(&record(&[("ce_id", "nobody")])), None);
    }
}
