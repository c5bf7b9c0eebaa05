//! The events, against the schemas that the relay encodes by.

use tidings_envelope::{
    Catalogue, Envelope, EventType, Limits, Micros, Priority, Rejection, RejectionCode,
    WriterSchema, decode,
};
use uuid::Uuid;

use super::*;
use crate::LoadOptions;

fn plans() -> impl Iterator<Item = OrderPlan> {
    let options = LoadOptions {
        seed: 5,
        notification_share: 1.0,
        second_version_share: 0.5,
        ..LoadOptions::new("")
    };
    (0..200).map(move |index| OrderPlan::new(&options, index))
}

fn encode(catalogue: &Catalogue, event: &Event) -> Result<Vec<u8>, Rejection> {
    let event_type = catalogue.find(event.event_type, event.event_version)?;
    let now = Micros(SOME_DAY_MICROS);
    let envelope = Envelope {
        message_id: Uuid::from_u128(1),
        event_type: event.event_type.to_owned(),
        event_version: event.event_version,
        occurred_at: now,
        recorded_at: now,
        producer: "tidings-load".to_owned(),
        correlation_id: None,
        causation_id: None,
        aggregate_type: Some("order".to_owned()),
        aggregate_id: Some("1".to_owned()),
        aggregate_sequence: event.aggregate_sequence,
        destination: None,
        priority: Priority::Normal,
        expires_at: None,
        claim_check: None,
    };
    let mut body = Vec::new();
    let data = event.data.to_string();
    event_type.encode(&envelope, &data, &Limits::default(), &mut body)?;
    Ok(body)
}

fn text(catalogue: &Catalogue, event_type: &EventType, body: &[u8]) -> String {
    let writer = WriterSchema::bind(catalogue, event_type.schema_json()).unwrap();
    let message = decode(&writer, body, &Limits::default()).unwrap();
    message.text().unwrap().text
}

#[test]
fn every_valid_event_fits_its_schema_and_its_text_names_the_order() {
    let catalogue = Catalogue::builtin().unwrap();
    for plan in plans() {
        let mut events = confirmed(&plan);
        events.push(shipped(&plan, SOME_DAY_MICROS));
        for event in events {
            let body = encode(&catalogue, &event).unwrap();
            let event_type = catalogue
                .get(event.event_type, event.event_version)
                .unwrap();
            let text = text(&catalogue, event_type, &body);
            assert!(text.contains(&plan.order_id), "{text}");
        }
    }
}

#[test]
fn each_flaw_is_rejected_for_what_it_is() {
    let catalogue = Catalogue::builtin().unwrap();
    for flaw in Flaw::ALL {
        let mut plan = plans().next().unwrap();
        (plan.note, plan.flaw) = (None, Some(flaw));
        let [sound, spoilt] = &confirmed(&plan)[..] else {
            panic!("expected two events");
        };
        assert!(!sound.bad && spoilt.bad);
        assert!(encode(&catalogue, sound).is_ok());
        let code = match flaw {
            Flaw::UnknownType => RejectionCode::UnknownType,
            Flaw::UnknownVersion => RejectionCode::UnsupportedVersion,
            Flaw::MissingField => RejectionCode::MissingField,
            Flaw::UnknownCarrier => RejectionCode::UnknownEnum,
            Flaw::HugeNumber => RejectionCode::OutOfRange,
        };
        assert_eq!(
            encode(&catalogue, spoilt).unwrap_err().code,
            code,
            "{flaw:?}"
        );
    }
}

#[test]
fn money_is_a_text() {
    for plan in plans() {
        let event = &confirmed(&plan)[0];
        let amount = match event.event_version {
            1 => &event.data["amount"],
            _ => &event.data["total"]["amount"],
        };
        assert!(amount.is_string(), "{event:?}");
    }
}
