//! The folders under `schemas/`, and what is refused in a new one.

use crate::support::{CATALOGUE, event};
use std::error::Error;
use tidings_envelope::{
    Catalogue, OnDead, OnStale, Policy, RejectionCode, RetryProfile, TypeFolder, fingerprint,
};

const DECLARATION: &str = "owner = \"a\"\npolicy = \"park\"\nretry = \"standard\"\non_dead = \"hold\"\non_stale = \"skip\"\ntext = \"template\"\n";

/// What a folder with this schema, template and declaration is refused for.
fn refusal(
    name: &str,
    declaration: &str,
    template: Option<&str>,
    versions: &[(i32, &str)],
) -> String {
    let error = Catalogue::from_folders(&[TypeFolder {
        name,
        declaration,
        template,
        older_templates: &[],
        versions,
    }])
    .unwrap_err();
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn field_refusal(field: &str) -> String {
    let data = format!(r#"{{"type":"record","name":"Data","fields":[{field}]}}"#);
    refusal("a.b", DECLARATION, Some("x"), &[(1, &data)])
}

const DATA: &str = r#"{"type":"record","name":"Data","fields":[{"name":"id","type":"string"}]}"#;

#[test]
fn builtin_types_are_found_by_name_version_and_subject() {
    let names: Vec<_> = CATALOGUE
        .iter()
        .map(|event| (event.name(), event.version()))
        .collect();
    assert_eq!(
        names,
        [
            ("notification.requested", 1),
            ("order.confirmed", 1),
            ("order.confirmed", 2),
            ("order.delivered", 1),
            ("order.shipped", 1)
        ]
    );
    let confirmed = event("order.confirmed");
    assert_eq!(confirmed.full_name(), "tidings.order.confirmed.v1.Envelope");
    assert_eq!(
        confirmed.schema().name().unwrap().fullname(None),
        confirmed.full_name()
    );
    let found = CATALOGUE
        .by_full_name("tidings.order.confirmed.v1.Envelope")
        .unwrap();
    assert_eq!(found.fingerprint(), confirmed.fingerprint());
    assert_eq!(
        fingerprint(confirmed.schema_json()).unwrap(),
        confirmed.fingerprint()
    );
    assert_eq!(CATALOGUE.versions("order.confirmed").count(), 2);
    for other in [
        "order.confirmed",
        "tidings.order.confirmed.v3.Envelope",
        "tidings..vv1.Envelope",
        "",
        "x",
    ] {
        assert!(CATALOGUE.by_full_name(other).is_none(), "{other}");
    }
}

#[test]
fn declarations_are_read() {
    let folder = TypeFolder {
        name: "a.b",
        declaration: DECLARATION,
        template: Some("{{ data.id }}"),
        older_templates: &[],
        versions: &[(2, DATA)],
    };
    let catalogue = Catalogue::from_folders(&[folder]).unwrap();
    let event = catalogue.get("a.b", 2).unwrap();
    assert_eq!(
        (event.owner(), event.policy(), event.retry()),
        ("a", Policy::Park, RetryProfile::Standard)
    );
    assert_eq!(
        (event.on_dead(), event.on_stale()),
        (OnDead::Hold, OnStale::Skip)
    );
}

#[test]
fn an_unknown_type_or_version_names_what_exists() {
    let unknown = CATALOGUE.find("order.confirmd", 1).unwrap_err();
    assert_eq!(unknown.code, RejectionCode::UnknownType);
    assert!(
        unknown
            .to_string()
            .contains("did you mean order.confirmed?"),
        "{unknown}"
    );
    let version = CATALOGUE.find("order.confirmed", 7).unwrap_err();
    assert_eq!(version.code, RejectionCode::UnsupportedVersion);
    assert!(version.to_string().contains("versions 1, 2"), "{version}");
    assert!(
        CATALOGUE
            .find(&"x".repeat(1 << 20), 1)
            .unwrap_err()
            .to_string()
            .len()
            < 2_000
    );
}

#[test]
fn a_folder_with_a_fault_is_refused_by_name() {
    let versions: &[(i32, &str)] = &[(1, DATA)];
    assert!(refusal("Order", DECLARATION, Some("x"), versions).contains("lower-case words"));
    assert!(refusal("a..b", DECLARATION, Some("x"), versions).contains("lower-case words"));
    assert!(refusal("a.b", DECLARATION, Some("x"), &[]).contains("v1.avsc"));
    assert!(refusal("a.b", DECLARATION, Some("x"), &[(0, DATA)]).contains("v1.avsc"));
    assert!(refusal("a.b", DECLARATION, Some("x"), &[(1, DATA), (1, DATA)]).contains("twice"));
    assert!(refusal("a.b", DECLARATION, Some("x"), &[(1, "{")]).contains("not JSON"));
    assert!(refusal("a.b", DECLARATION, Some("x"), &[(1, "[]")]).contains("record named Data"));
    assert!(refusal("a.b", DECLARATION, None, versions).contains("template.txt must be there"));
    assert!(
        refusal("a.b", DECLARATION, Some("{{ data.id"), versions)
            .contains("template.txt cannot be parsed")
    );
    assert!(
        refusal("a.b", DECLARATION, Some("{{ data.ids }}"), versions).contains("uses data.ids")
    );
    assert!(refusal("a.b", DECLARATION, Some("{{ order }}"), versions).contains("uses order"));
    let unowned = DECLARATION.replace("owner = \"a\"", "");
    assert!(refusal("a.b", &unowned, Some("x"), versions).contains("owner"));
    let misspelt = DECLARATION.replace("park", "parked");
    assert!(refusal("a.b", &misspelt, Some("x"), versions).contains("parked"));
    let ready = DECLARATION.replace("template", "ready");
    assert!(refusal("a.b", &ready, None, versions).contains("data.text"));
}

#[test]
fn data_is_closed_bounded_and_holds_no_credentials() {
    let cases = [
        (
            r#"{"name":"m","type":{"type":"map","values":"string"}}"#,
            "data.m has a type",
        ),
        (r#"{"name":"m","type":"bytes"}"#, "data.m has a type"),
        (
            r#"{"name":"m","type":["string","null"]}"#,
            "data.m must be a union",
        ),
        (
            r#"{"name":"m","type":["null","string","int"],"default":null}"#,
            "data.m must be a union",
        ),
        (
            r#"{"name":"e","type":{"type":"enum","name":"E","symbols":["A"]}}"#,
            "needs an enum default",
        ),
        (
            r#"{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":60,"scale":2}}"#,
            "1 to 38",
        ),
        (
            r#"{"name":"next","type":["null","Data"],"default":null}"#,
            "inside itself",
        ),
        (
            r#"{"name":"bot_token","type":"string"}"#,
            "reads like a credential",
        ),
        (
            r#"{"name":"l","type":{"type":"array","items":{"type":"record","name":"L","fields":[{"name":"api_key","type":"string"}]}}}"#,
            "api_key reads like",
        ),
    ];
    for (field, reason) in cases {
        let refusal = field_refusal(field);
        assert!(refusal.contains(reason), "{refusal}");
    }
}
