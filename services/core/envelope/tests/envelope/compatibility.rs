//! What a change inside a major version may be, and how its refusal reads.

use crate::support::{CATALOGUE, envelope};
use std::sync::Arc;
use tidings_envelope::{Break, Catalogue, EventType, Limits, TypeFolder};

const DATA: &str = r#"{"type":"record","name":"Data","fields":[
    {"name":"order_id","type":"string"},
    {"name":"amount","type":{"type":"bytes","logicalType":"decimal","precision":18,"scale":4}},
    {"name":"count","type":"int"},
    {"name":"carrier","type":{"type":"enum","name":"Carrier","symbols":["UNKNOWN","DHL"],"default":"UNKNOWN"}},
    {"name":"items","type":{"type":"array","items":{"type":"record","name":"Item","fields":[{"name":"sku","type":"string"}]}}},
    {"name":"note","type":["null","string"],"default":null}]}"#;

fn event(data: &str) -> Arc<EventType> {
    let catalogue = Catalogue::from_folders(&[TypeFolder {
        name: "order.confirmed",
        declaration: include_str!("../../../../../schemas/order.confirmed/type.toml"),
        template: Some("{{ data.order_id }}"),
        older_templates: &[],
        versions: &[(1, data)],
    }]);
    Arc::clone(catalogue.unwrap().get("order.confirmed", 1).unwrap())
}

/// The breaks of a changed schema, with the registered one and with the edition on disk.
fn breaks(from: &str, to: &str) -> Vec<Break> {
    let changed = DATA.replace(from, to);
    assert_ne!(changed, DATA);
    let (earlier, newer) = (event(DATA), event(&changed));
    let found = newer.breaks_with(earlier.schema_json());
    assert_eq!(found, newer.breaks_with_data(DATA));
    // Compatibility has no direction: whoever goes back stumbles as well.
    let back = earlier.breaks_with(newer.schema_json());
    assert_eq!(found.is_empty(), back.is_empty(), "{found:?} {back:?}");
    found
}

#[test]
fn what_may_change() {
    assert!(
        event(DATA)
            .breaks_with(event(DATA).schema_json())
            .is_empty()
    );
    let note = r#"{"name":"note","type":["null","string"],"default":null}"#;
    let more = format!(r#"{note},{{"name":"gift","type":["null","string"],"default":null}}"#);
    let allowed = [
        (note, more.as_str()),
        (
            note,
            r#"{"name":"gift","type":["null","string"],"default":null}"#,
        ),
        (
            r#""symbols":["UNKNOWN","DHL"]"#,
            r#""symbols":["UNKNOWN","DHL","UPS"]"#,
        ),
        (r#""symbols":["UNKNOWN","DHL"]"#, r#""symbols":["UNKNOWN"]"#),
        (r#""name":"Data","#, r#""name":"Data","doc":"An order.","#),
        (
            note,
            r#"{"name":"note","doc":"x","type":["null","string"],"default":null},{"name":"n","type":"long","default":0}"#,
        ),
    ];
    for (from, to) in allowed {
        assert_eq!(breaks(from, to), [], "{to}");
    }
}

#[test]
fn what_may_not_names_the_field_and_the_remedy() {
    let order_id = r#"{"name":"order_id","type":"string"},"#;
    let two = format!(r#"{order_id}{{"name":"place","type":"string"}},"#);
    let cases = [
        (
            order_id,
            two.as_str(),
            "data.place",
            "added without a default",
            "\"default\": null",
        ),
        (
            r#"{"name":"count","type":"int"},"#,
            "",
            "data.count",
            "was removed",
            "keep it",
        ),
        (
            r#""count","type":"int""#,
            r#""count","type":"long""#,
            "data.count",
            "from int to long",
            "new version",
        ),
        (
            r#""count","type":"int""#,
            r#""count","type":["null","int"],"default":null"#,
            "data.count",
            "from int to [\"null\", int]",
            "add another field",
        ),
        (
            r#""scale":4"#,
            r#""scale":2"#,
            "data.amount",
            "from decimal(18, 4) to decimal(18, 2)",
            "new version",
        ),
        (
            r#""name":"sku","type":"string""#,
            r#""name":"sku","type":"int""#,
            "data.items[].sku",
            "from string to int",
            "new version",
        ),
        (
            r#""name":"Item""#,
            r#""name":"Line""#,
            "data.items[]",
            "renamed from Item to Line",
            "keep the name",
        ),
        (
            r#""name":"Carrier""#,
            r#""name":"Agent""#,
            "data.carrier",
            "renamed",
            "keep the name",
        ),
        (
            r#"["null","string"]"#,
            r#"["null","long"]"#,
            "data.note",
            "from string to long",
            "new version",
        ),
    ];
    for (from, to, field, problem, remedy) in cases {
        let found = breaks(from, to);
        assert_eq!(found.len(), 1, "{to}: {found:?}");
        assert_eq!(found[0].field, field);
        assert!(found[0].problem.contains(problem), "{}", found[0]);
        assert!(found[0].remedy.contains(remedy), "{}", found[0]);
    }
}

#[test]
fn every_break_is_told() {
    let changed = r#"{"type":"record","name":"Data","fields":[{"name":"order_id","type":"long"},{"name":"place","type":"string"}]}"#;
    let found = event(changed).breaks_with(event(DATA).schema_json());
    let fields: Vec<_> = found.iter().map(|found| found.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "data.order_id",
            "data.place",
            "data.amount",
            "data.count",
            "data.carrier",
            "data.items"
        ]
    );
}

#[test]
fn a_change_of_the_envelope_is_told_too() {
    let ours = CATALOGUE.get("order.shipped", 1).unwrap();
    let earlier = ours
        .schema_json()
        .replace(r#""name":"producer""#, r#""name":"sender""#);
    let found = ours.breaks_with(&earlier);
    let fields: Vec<_> = found.iter().map(|found| found.field.as_str()).collect();
    assert_eq!(fields, ["envelope.producer", "envelope.sender"]);
}

#[test]
fn every_type_takes_its_own_sample() {
    for event in CATALOGUE.iter() {
        let mut envelope = envelope(event.name());
        envelope.event_version = event.version();
        let sample = event.sample().to_string();
        let encoded = event.encode(&envelope, &sample, &Limits::default(), &mut Vec::new());
        encoded.unwrap_or_else(|rejection| panic!("{event:?}: {rejection}"));
    }
}

#[test]
fn what_is_no_schema_of_ours_is_refused_in_bounds() {
    let ours = CATALOGUE.get("order.shipped", 1).unwrap();
    let enums = ours.schema_json().replace(r#""default":"UNKNOWN","#, "");
    for other in [
        "",
        "{",
        "\"string\"",
        r#"{"type":"map","values":"int"}"#,
        &enums,
        &"[".repeat(60_000),
    ] {
        let found = ours.breaks_with(other);
        assert_eq!(found.len(), 1, "{other}");
        assert!(found[0].to_string().len() < 1_000);
    }
}
