//! What an envelope must be before a row is published.

use crate::support::{CONFIRMED, encode_with, envelope, event};
use tidings_envelope::{ClaimCheck, Envelope, Limits, Micros, Rejection, RejectionCode};

#[test]
fn envelopes_that_break_a_rule() {
    fn with(change: impl FnOnce(&mut Envelope)) -> Rejection {
        let mut envelope = envelope("order.confirmed");
        change(&mut envelope);
        event("order.confirmed")
            .encode(&envelope, CONFIRMED, &Limits::default(), &mut Vec::new())
            .expect_err("a rule was broken")
    }
    fn chat(id: String) -> Rejection {
        with(|envelope| envelope.destination.as_mut().unwrap().chat_id = id)
    }
    let cases = [
        (chat(String::new()), "destination.chat_id"),
        (chat("1".repeat(257)), "destination.chat_id"),
        (
            with(|envelope| envelope.message_id = uuid::Uuid::nil()),
            "message_id",
        ),
        (with(|envelope| envelope.producer.clear()), "producer"),
        (with(|envelope| envelope.event_version = 2), "event_type"),
        (
            with(|envelope| envelope.event_type = "order.shipped".to_owned()),
            "event_type",
        ),
        (
            with(|envelope| envelope.recorded_at = Micros(0)),
            "recorded_at",
        ),
        (
            with(|envelope| envelope.occurred_at = Micros(i64::MIN)),
            "occurred_at",
        ),
        (
            with(|envelope| envelope.expires_at = Some(Micros(i64::MAX))),
            "expires_at",
        ),
        (
            with(|envelope| envelope.aggregate_id = Some("a".repeat(300))),
            "aggregate_id",
        ),
    ];
    for (rejection, field) in cases {
        assert_eq!(
            (rejection.code, rejection.field.as_str()),
            (RejectionCode::InvalidEnvelope, field)
        );
    }
}

#[test]
fn a_claim_check_is_a_key_and_never_a_link() {
    let claim = |key: &str, sha256: &str| {
        let mut envelope = envelope("order.confirmed");
        envelope.claim_check = Some(ClaimCheck {
            storage_key: key.to_owned(),
            content_type: "application/pdf".to_owned(),
            size_bytes: 1,
            sha256: sha256.to_owned(),
        });
        encode_with(&envelope, CONFIRMED)
    };
    let sha256 = "0a".repeat(32);
    assert!(claim("invoices/2026/A-1.pdf", &sha256).is_ok());
    for key in ["https://store/A-1", "A-1?X-Signature=abc", ""] {
        assert_eq!(
            claim(key, &sha256).unwrap_err().field,
            "claim_check.storage_key"
        );
    }
    assert_eq!(claim("A-1", "0A").unwrap_err().field, "claim_check.sha256");
}
