//! The bytes on the wire, fixed: `schemas/<event type>/v<N>.golden.{json,hex}`. They change only
//! on purpose (`UPDATE_GOLDEN=1 cargo test -p tidings-envelope golden` writes the hex anew).

use crate::support::CATALOGUE;
use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::writer::datum::GenericDatumWriter;
use serde_json::Value as Json;
use std::fs;
use std::path::{Path, PathBuf};
use tidings_envelope::{Envelope, EventType, Limits, WriterSchema, decode};

struct Golden {
    envelope: Envelope,
    data: Json,
    hex: PathBuf,
}

impl Golden {
    fn of(event: &EventType) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../../schemas")
            .join(event.name());
        let json = folder.join(format!("v{}.golden.json", event.version()));
        let text = fs::read_to_string(&json)
            .unwrap_or_else(|error| panic!("{}: {error}; every version needs one", json.display()));
        let mut json: Json = serde_json::from_str(&text).unwrap();
        Self {
            envelope: serde_json::from_value(json["envelope"].take()).unwrap(),
            data: json["data"].take(),
            hex: folder.join(format!("v{}.golden.hex", event.version())),
        }
    }

    fn encode(&self, event: &EventType) -> Vec<u8> {
        let mut body = Vec::new();
        event
            .encode(
                &self.envelope,
                &self.data.to_string(),
                &Limits::default(),
                &mut body,
            )
            .unwrap();
        body
    }

    fn bytes(&self) -> Vec<u8> {
        let digits: Vec<u8> = fs::read(&self.hex).unwrap();
        let digits: Vec<u8> = digits
            .into_iter()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(byte).collect()
    }
}

fn hex_lines(bytes: &[u8]) -> String {
    let line = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
            + "\n"
    };
    bytes.chunks(32).map(line).collect()
}

#[test]
fn every_type_is_written_as_its_golden_bytes() {
    for event in CATALOGUE.iter() {
        let golden = Golden::of(event);
        let body = golden.encode(event);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&golden.hex, hex_lines(&body)).unwrap();
        }
        assert_eq!(
            hex_lines(&body),
            hex_lines(&golden.bytes()),
            "{}",
            event.full_name()
        );
    }
}

#[test]
fn golden_bytes_decode_to_what_was_published() {
    for event in CATALOGUE.iter() {
        let golden = Golden::of(event);
        let writer = WriterSchema::bind(&CATALOGUE, event.schema_json()).unwrap();
        let message = decode(&writer, &golden.bytes(), &Limits::default()).unwrap();
        assert_eq!(message.envelope, golden.envelope);
        assert_eq!(message.data, golden.data, "{}", event.full_name());
        message.text().unwrap();
    }
}

/// Two directions: apache-avro reads our bytes, and what it read it writes as the same bytes.
#[test]
fn apache_avro_reads_and_writes_the_same_bytes() {
    for event in CATALOGUE.iter() {
        let bytes = Golden::of(event).bytes();
        let mut rest = bytes.as_slice();
        let reader = GenericDatumReader::builder(event.schema()).build().unwrap();
        let value = reader.read_value(&mut rest).unwrap();
        assert!(rest.is_empty());
        let again = GenericDatumWriter::builder(event.schema()).build().unwrap();
        assert_eq!(
            again.write_value_to_vec(value).unwrap(),
            bytes,
            "{}",
            event.full_name()
        );
    }
}

/// A consumer of another team, with apache-avro's own schema resolution.
#[test]
fn apache_avro_resolves_to_a_reader_schema() {
    for event in CATALOGUE.iter() {
        let bytes = Golden::of(event).bytes();
        let reader = GenericDatumReader::builder(event.schema())
            .reader_schema(event.schema())
            .build()
            .unwrap();
        reader.read_value(&mut bytes.as_slice()).unwrap();
    }
}

/// apache-avro takes the envelope's field order from the template, the encoder from its code.
#[test]
fn the_template_has_the_fields_that_the_code_writes() {
    let event = CATALOGUE.get("order.confirmed", 1).unwrap();
    let schema: Json = serde_json::from_str(event.schema_json()).unwrap();
    let names: Vec<_> = schema["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| field["name"].as_str().unwrap())
        .collect();
    let written = [
        "message_id",
        "event_type",
        "event_version",
        "occurred_at",
        "recorded_at",
        "producer",
        "correlation_id",
        "causation_id",
        "aggregate_type",
        "aggregate_id",
        "aggregate_sequence",
        "destination",
        "priority",
        "expires_at",
        "claim_check",
        "data",
    ];
    assert_eq!(names, written);
}
