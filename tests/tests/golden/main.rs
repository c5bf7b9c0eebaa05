//! The golden bytes of every event type and version, read by a client that is not ours: Python with fastavro.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tidings_envelope::{Catalogue, EventType, Limits, WriterSchema, decode};
use tidings_tests::languages::{Language, bounded, find, python, repository};

#[test]
fn fastavro_reads_every_message_as_it_was_published() {
    let Some(toolchain) = find(Language::Python) else {
        return;
    };
    let folder = repository().join("tests/python");
    let interpreter = python(&toolchain, &folder.join("requirements.txt")).unwrap();
    let catalogue = Catalogue::builtin().unwrap();
    let input =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("golden-{}.jsonl", std::process::id()));
    let lines: Vec<String> = catalogue.iter().map(|event| line(event)).collect();
    fs::write(&input, lines.join("\n")).unwrap();
    let output = bounded(interpreter)
        .arg(folder.join("golden.py"))
        .arg(&input)
        .output()
        .unwrap();
    fs::remove_file(&input).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );

    let said = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), catalogue.iter().count());
    for (event, answer) in catalogue.iter().zip(answers) {
        assert_eq!(answer["decoded"], published(event), "{event:?}");
        assert_read_back(&catalogue, event, answer["hex"].as_str().unwrap());
    }
}

/// What fastavro writes, we read.
fn assert_read_back(catalogue: &Catalogue, event: &EventType, hex: &str) {
    let writer = WriterSchema::bind(catalogue, event.schema_json()).unwrap();
    let message = decode(&writer, &bytes(hex), &Limits::default()).unwrap();
    let golden = golden_json(event);
    assert_eq!(
        serde_json::to_value(&message.envelope).unwrap(),
        golden["envelope"]
    );
    assert_eq!(message.data, golden["data"]);
}

fn line(event: &EventType) -> String {
    let hex = fs::read_to_string(file(event, "hex")).unwrap();
    let hex: String = hex.split_whitespace().collect();
    json!({"schema": event.schema_json(), "hex": hex}).to_string()
}

/// The golden JSON as one record, with the priority as Avro spells it.
fn published(event: &EventType) -> Value {
    let mut golden = golden_json(event);
    let mut record: Map<String, Value> = golden["envelope"].as_object().unwrap().clone();
    let priority = record["priority"].as_str().unwrap().to_uppercase();
    record.insert("priority".to_owned(), priority.into());
    record.insert("data".to_owned(), golden["data"].take());
    Value::Object(record)
}

fn golden_json(event: &EventType) -> Value {
    serde_json::from_str(&fs::read_to_string(file(event, "json")).unwrap()).unwrap()
}

fn file(event: &EventType, kind: &str) -> PathBuf {
    let name = format!("v{}.golden.{kind}", event.version());
    repository().join("schemas").join(event.name()).join(name)
}

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}
