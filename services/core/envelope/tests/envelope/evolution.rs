//! Old and new versions of a schema at work together, and what other languages write.

use crate::support::{CATALOGUE, event};
use apache_avro::types::Value;
use apache_avro::writer::datum::GenericDatumWriter;
use apache_avro::{Decimal, Schema};
use tidings_envelope::{Limits, Message, Poison, WriterSchema, decode};
use uuid::Uuid;

/// Decodes what apache-avro writes with another edition of our schema.
fn written(schema_json: &str, data: Vec<(&str, Value)>) -> Result<Message, Poison> {
    let schema = Schema::parse_str(schema_json).unwrap();
    let value = record(envelope_fields(record(data)));
    let body = GenericDatumWriter::builder(&schema)
        .build()
        .unwrap()
        .write_value_to_vec(value)
        .unwrap();
    let writer = WriterSchema::bind(&CATALOGUE, schema_json)?;
    decode(&writer, &body, &Limits::default())
}

fn record(fields: Vec<(&str, Value)>) -> Value {
    Value::Record(
        fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn none() -> Value {
    Value::Union(0, Box::new(Value::Null))
}

fn envelope_fields(data: Value) -> Vec<(&'static str, Value)> {
    let chat = vec![
        ("platform", text("telegram")),
        ("account", text("main")),
        ("chat_id", text("42")),
        ("thread_id", none()),
    ];
    vec![
        ("message_id", Value::Uuid(Uuid::from_u128(7))),
        ("event_type", text("order.shipped")),
        ("event_version", Value::Int(1)),
        ("occurred_at", Value::TimestampMicros(1_769_860_800_000_000)),
        ("recorded_at", Value::TimestampMicros(1_769_860_800_000_000)),
        ("producer", text("java")),
        ("correlation_id", none()),
        ("causation_id", none()),
        ("aggregate_type", none()),
        ("aggregate_id", none()),
        ("aggregate_sequence", none()),
        ("destination", Value::Union(1, Box::new(record(chat)))),
        ("priority", Value::Enum(1, "HIGH".to_owned())),
        ("expires_at", none()),
        ("claim_check", none()),
        ("data", data),
    ]
}

fn shipped(carrier: (u32, &str)) -> Vec<(&'static str, Value)> {
    vec![
        ("order_id", text("A-1")),
        ("carrier", Value::Enum(carrier.0, carrier.1.to_owned())),
        ("tracking_code", none()),
        ("shipped_at", Value::TimestampMicros(1_769_860_800_000_000)),
    ]
}

#[test]
fn a_symbol_that_a_newer_writer_added_reads_as_the_default() {
    let newer = event("order.shipped")
        .schema_json()
        .replace("\"POST\"", "\"POST\",\"DRONE\"");
    let message = written(&newer, shipped((7, "DRONE"))).unwrap();
    assert_eq!(message.data["carrier"], "UNKNOWN");
    assert_eq!(message.envelope.priority.as_str(), "high");
    message.text().unwrap();
}

#[test]
fn a_field_that_a_newer_writer_added_is_dropped() {
    let newer = event("order.shipped").schema_json().replace(
        r#"{"name":"shipped_at""#,
        r#"{"default":0,"name":"parcels","type":"long"},{"name":"shipped_at""#,
    );
    let mut data = shipped((1, "DHL"));
    data.insert(3, ("parcels", Value::Long(3)));
    assert!(written(&newer, data).unwrap().data.get("parcels").is_none());
}

#[test]
fn a_field_that_an_older_writer_lacks_reads_as_its_default() {
    let ours = event("order.shipped").schema_json();
    let older = ours.replace(
        r#"{"default":null,"name":"tracking_code","type":["null","string"]},"#,
        "",
    );
    assert_ne!(ours, older);
    let mut data = shipped((1, "DHL"));
    data.remove(2);
    assert!(written(&older, data).unwrap().data["tracking_code"].is_null());
}

/// Java writes the fewest bytes that hold the number; ours are as wide as the precision.
#[test]
fn decimals_of_any_width_are_read() {
    let schema = event("order.confirmed").schema_json();
    let amount = |bytes: Vec<u8>| {
        let data = vec![
            ("order_id", text("A-1")),
            ("customer_name", text("Ada")),
            ("amount", Value::Decimal(Decimal::from(bytes))),
            ("currency", text("EUR")),
            ("items", Value::Array(Vec::new())),
            ("note", none()),
        ];
        let mut fields = envelope_fields(record(data));
        fields[1].1 = text("order.confirmed");
        let event = event("order.confirmed");
        let writer = GenericDatumWriter::builder(event.schema()).build().unwrap();
        let body = writer.write_value_to_vec(record(fields)).unwrap();
        decode(
            &WriterSchema::bind(&CATALOGUE, schema).unwrap(),
            &body,
            &Limits::default(),
        )
        .map(|message| message.data["amount"].clone())
    };
    assert_eq!(amount(vec![0x03, 0x0c, 0xdc]).unwrap(), "19.99");
    assert_eq!(amount(vec![0xff]).unwrap(), "-0.0001");
    assert_eq!(amount([vec![0; 20], vec![1]].concat()).unwrap(), "0.0001");
    assert_eq!(
        amount(vec![0x7f; 9]).unwrap_err().field,
        "data.amount",
        "more digits than the precision"
    );
}
