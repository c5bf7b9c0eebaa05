//! Event types and versions that a dispatcher's own catalogue lacks: read by what their schemas carry.

use crate::support::{CATALOGUE, envelope};
use serde_json::{Value as Json, json};
use tidings_envelope::{
    Catalogue, Limits, Message, Poison, PoisonCategory, TypeFolder, WriterSchema, decode,
};

const V2: &str = r#"{"order_id": "A-1", "customer_name": "Ada", "total": {"amount": "19.9900", "currency": "EUR"},
    "items": [{"sku": "T1", "name": "Tea", "quantity": 2}], "note": null}"#;
const V1: &str = r#"{"order_id": "A-1", "customer_name": "Ada", "amount": "19.99", "currency": "EUR",
    "items": [{"sku": "T1", "name": "Tea", "quantity": 2}], "note": null}"#;
const TEXT: &str = "Order A-1 is confirmed.\nThank you, Ada!\n\n- 2 x Tea (T1)\n\nTotal: 19.99 EUR";

/// The catalogue of a deployment that was built before there was a version 2.
fn old() -> Catalogue {
    Catalogue::from_folders(&[TypeFolder {
        name: "order.confirmed",
        declaration: include_str!("../../../../../schemas/order.confirmed/type.toml"),
        template: Some("Old: {{ data.amount }}"),
        older_templates: &[],
        versions: &[(
            1,
            include_str!("../../../../../schemas/order.confirmed/v1.avsc"),
        )],
    }])
    .unwrap()
}

fn body(version: i32, data: &str) -> Vec<u8> {
    let event = CATALOGUE.get("order.confirmed", version).unwrap();
    let mut envelope = envelope("order.confirmed");
    envelope.event_version = version;
    let mut body = Vec::new();
    event
        .encode(&envelope, data, &Limits::default(), &mut body)
        .unwrap();
    body
}

fn read(catalogue: &Catalogue, schema_json: &str, body: &[u8]) -> Result<Message, Poison> {
    let writer = WriterSchema::bind(catalogue, schema_json)?;
    decode(&writer, body, &Limits::default())
}

fn registered(version: i32) -> &'static str {
    CATALOGUE
        .get("order.confirmed", version)
        .unwrap()
        .schema_json()
}

/// The schema with another value at a place in what it carries.
fn with(version: i32, key: &str, value: Json) -> String {
    let mut schema: Json = serde_json::from_str(registered(version)).unwrap();
    schema["tidings"][key] = value;
    schema.to_string()
}

fn refusal(catalogue: &Catalogue, schema_json: &str) -> Poison {
    WriterSchema::bind(catalogue, schema_json).unwrap_err()
}

#[test]
fn an_old_catalogue_reads_and_shows_a_version_that_it_lacks() {
    let message = read(&old(), registered(2), &body(2, V2)).unwrap();
    assert_eq!(message.event.version(), 2);
    assert_eq!(message.event.owner(), "orders-team");
    assert_eq!(message.data["total"]["amount"], "19.99");
    assert_eq!(message.text().unwrap().text, TEXT);
}

#[test]
fn its_own_declaration_wins_where_it_has_one() {
    let message = read(&old(), registered(1), &body(1, V1)).unwrap();
    assert_eq!(message.text().unwrap().text, "Old: 19.99");
    let other = with(2, "template", json!("not this"));
    let message = read(&CATALOGUE, &other, &body(2, V2)).unwrap();
    assert_eq!(message.text().unwrap().text, TEXT);
}

#[test]
fn old_data_is_shown_by_the_newest_template() {
    let message = read(&CATALOGUE, registered(1), &body(1, V1)).unwrap();
    assert_eq!(message.event.template_version(), Some(2));
    assert_eq!(message.data["amount"], "19.99", "as it was published");
    assert_eq!(message.envelope.event_version, 1);
    assert_eq!(message.text().unwrap().text, TEXT);
}

#[test]
fn an_empty_catalogue_reads_every_version() {
    let none = Catalogue::default();
    for (version, data) in [(1, V1), (2, V2)] {
        let message = read(&none, registered(version), &body(version, data)).unwrap();
        assert_eq!(message.text().unwrap().text, TEXT, "version {version}");
    }
}

/// What apache-avro makes of the schema is what the dispatcher's cache holds.
#[test]
fn a_parsed_and_rewritten_schema_still_carries_it() {
    let schema = apache_avro::Schema::parse_str(registered(2)).unwrap();
    let rewritten = serde_json::to_string(&schema).unwrap();
    let message = read(&old(), &rewritten, &body(2, V2)).unwrap();
    assert_eq!(message.text().unwrap().text, TEXT);
}

#[test]
fn a_schema_that_carries_nothing_is_poison_as_ever() {
    let mut schema: Json = serde_json::from_str(registered(2)).unwrap();
    schema.as_object_mut().unwrap().remove("tidings");
    let poison = refusal(&old(), &schema.to_string());
    assert_eq!(poison.category, PoisonCategory::UnsupportedVersion);
    let poison = refusal(&Catalogue::default(), &schema.to_string());
    assert_eq!(poison.category, PoisonCategory::UnknownType);
}

#[test]
fn what_cannot_be_used_says_why() {
    let cases = [
        ("template", json!("{{ data.amount }}"), "data.amount"),
        (
            "template",
            json!("{% set x = data.note ~ data.note %}{{ x }}"),
            "{% set is not portable",
        ),
        (
            "template",
            json!("{{ range(100000) }}"),
            "the call of range",
        ),
        ("template", json!(7), "invalid type"),
        ("template", json!("{{"), "an open tag"),
        ("template_version", json!(1_000_000_000), "upcaster"),
        ("policy", json!("guess"), "guess"),
        ("owner", json!(null), "expected a string"),
    ];
    for (key, value, reason) in cases {
        let poison = refusal(&old(), &with(2, key, value));
        assert_eq!(poison.category, PoisonCategory::UnsupportedVersion);
        assert!(poison.problem.contains(reason), "{key}: {poison}");
    }
}

#[test]
fn what_a_newer_build_says_more_is_no_mistake() {
    let newer = with(2, "colour", json!("green"));
    assert!(read(&old(), &newer, &body(2, V2)).is_ok());
}

#[test]
fn a_template_that_cannot_be_bounded_is_not_carried() {
    let data = r#"{"type":"record","name":"Data","fields":[{"name":"id","type":"string"}]}"#;
    let catalogue = Catalogue::from_folders(&[TypeFolder {
        name: "parcel.lost",
        declaration: include_str!("../../../../../schemas/order.shipped/type.toml"),
        template: Some("{% set id = data.id ~ '!' %}{{ id }}"),
        older_templates: &[],
        versions: &[(1, data)],
    }])
    .unwrap();
    let event = catalogue.get("parcel.lost", 1).unwrap();
    assert_eq!(event.not_portable().unwrap().line, 1);
    assert!(!event.schema_json().contains("data.id"));
    let poison = refusal(&CATALOGUE, event.schema_json());
    assert_eq!(poison.category, PoisonCategory::UnknownType);
}

#[test]
fn every_text_of_ours_is_portable() {
    for event in CATALOGUE.iter() {
        assert!(event.not_portable().is_none(), "{event:?}");
    }
    CATALOGUE.check_names().unwrap();
}
