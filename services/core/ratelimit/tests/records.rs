//! Records as bytes: read back as written, by us and by any Avro library; total on anything else.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::writer::datum::GenericDatumWriter;
use tidings_ratelimit::{
    Ask, Body, Class, DecodeError, Entry, Init, Limits, LogTime, MAX_RECORD_BYTES, Penalise,
    Record, Reserve, Reset, SCHEMA, Snapshot, SourcePreset, StateHash, Target, Tick, exact_limits,
};
use uuid::Uuid;

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn limits() -> Option<(String, tidings_ratelimit::ScopeLimits)> {
    let limits = exact_limits("telegram").with(SourcePreset::Telegram.limits());
    Some(("telegram:main".to_owned(), limits))
}

fn bodies() -> Vec<Body> {
    let target = Target::Chat {
        scope: "telegram:main".to_owned(),
        chat: "-1001087453541".to_owned(),
    };
    vec![
        Body::Init(Init {
            incarnation: id(1),
            scope: None,
        }),
        Body::Init(Init {
            incarnation: id(1),
            scope: limits(),
        }),
        Body::Reserve(Reserve {
            incarnation: id(2),
            seq: u64::from(u32::MAX) + 7,
            class: Class::Backlog,
            leeway: Duration::ZERO,
            asks: vec![Ask {
                scope: "telegram:main".to_owned(),
                waiting: 10_000,
                entries: vec![
                    Entry {
                        chat: "42".to_owned(),
                        n: 1,
                    },
                    Entry {
                        chat: "@ünïcode".to_owned(),
                        n: 3,
                    },
                ],
            }],
        }),
        Body::Reserve(Reserve {
            incarnation: id(2),
            seq: 8,
            class: Class::Normal,
            leeway: Duration::from_millis(44),
            asks: vec![Ask {
                scope: "telegram:main".to_owned(),
                waiting: 1,
                entries: vec![Entry {
                    chat: "42".to_owned(),
                    n: 1,
                }],
            }],
        }),
        Body::Penalise(Penalise {
            incarnation: id(3),
            target: target.clone(),
            wait: Duration::from_secs(14 * 24 * 3_600),
            id: Some(id(4)),
            operator: Some("ada".to_owned()),
            reason: "Too Many Requests".to_owned(),
        }),
        Body::Reset(Reset {
            id: id(5),
            target: Target::Address {
                platform: "telegram".to_owned(),
            },
            operator: "ada".to_owned(),
            reason: "mistake".to_owned(),
        }),
        Body::Limits(Limits {
            id: id(6),
            machine_version: 1,
            scope: limits(),
            operator: "ada".to_owned(),
            reason: "approved".to_owned(),
        }),
        Body::Tick(Tick {
            incarnation: id(7),
            snapshot: true,
        }),
        Body::Snapshot(Snapshot {
            incarnation: id(8),
            as_of: 20_000,
            time: LogTime(-5),
            hash: StateHash([9; 32]),
            part: 0,
            parts: 1,
            state: vec![0, 255, 7],
        }),
    ]
}

fn records() -> Vec<Record> {
    let record = |body| Record {
        log_id: id(99),
        body,
    };
    bodies().into_iter().map(record).collect()
}

#[test]
fn records_come_back_as_they_went() {
    for record in records() {
        assert_eq!(Record::decode(&record.encode()), Ok(record));
    }
}

#[test]
fn any_avro_library_reads_them() {
    let schema = apache_avro::Schema::parse_str(SCHEMA).unwrap();
    let reader = GenericDatumReader::builder(&schema).build().unwrap();
    let writer = GenericDatumWriter::builder(&schema).build().unwrap();
    for record in records() {
        let bytes = record.encode();
        let mut datum = &bytes[2..];
        let value = reader.read_value(&mut datum).unwrap();
        assert!(datum.is_empty(), "{record:?}");
        let again = writer.write_value_to_vec(value).unwrap();
        let ours = Record::decode(&[&bytes[..2], &again].concat()).unwrap();
        assert_eq!(ours, record);
    }
}

#[test]
fn a_later_version_is_told_from_garbage() {
    let mut bytes = records()[0].encode();
    bytes[1] = 3;
    assert_eq!(Record::decode(&bytes), Err(DecodeError::LaterVersion(3)));
    bytes[0] = b'X';
    assert!(matches!(
        Record::decode(&bytes),
        Err(DecodeError::Malformed(_))
    ));
}

/// What a reader of version 1 reads it still reads, and what it ignores all ignore.
#[test]
fn only_leeway_needs_the_second_version() {
    for record in records() {
        let mut bytes = record.encode();
        let late = matches!(&record.body, Body::Reserve(ask) if !ask.leeway.is_zero());
        assert_eq!(bytes[1], if late { 2 } else { 1 });
        bytes[1] = 1;
        assert_eq!(Record::decode(&bytes).is_err(), late);
    }
}

#[test]
fn anything_else_is_an_error_and_never_a_panic() {
    let mut state = 7_u64;
    let mut random = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for record in records() {
        let bytes = record.encode();
        for length in 0..bytes.len() {
            assert!(Record::decode(&bytes[..length]).is_err());
        }
        for _ in 0..2_000 {
            let mut broken = bytes.clone();
            for _ in 0..=random() % 3 {
                let place = random() % broken.len();
                broken[place] = random() as u8;
            }
            let _ = Record::decode(&broken);
        }
    }
    assert!(Record::decode(&vec![b'R'; MAX_RECORD_BYTES + 1]).is_err());
    // An array that claims 2^62 items in 12 bytes.
    let claims = [
        b"R\x01".as_slice(),
        &[0; 16],
        &[2],
        &[0; 16],
        &[2, 2],
        &[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
    ]
    .concat();
    assert!(Record::decode(&claims).is_err());
}
