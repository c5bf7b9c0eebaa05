//! The answer as a whole.

use crate::decide::scene::Scene;
use crate::evidence::{Evidence, Rest, Scope};
use crate::report::Counts;

#[test]
fn no_evidence_is_no_success() {
    let report = crate::decide(&Evidence::default());
    assert_eq!(report.failures(), ["committed"]);
    assert!(report.table().contains("check --run"));
}

#[test]
fn the_object_carries_the_verdict_and_every_count() {
    let mut scene = Scene::delivered(2);
    scene.evidence.scope = Scope::Run("run".to_owned());
    scene.evidence.rest = Rest::Reached;
    let report = scene.judge();
    let json = report.json();
    assert_eq!(json["ok"], true);
    assert_eq!(json["run"], "run");
    assert_eq!(json["rest"], "reached");
    assert_eq!(json["committed"], 2);
    for count in Counts::default().list() {
        assert!(json[count.name].is_u64(), "{} is missing", count.name);
    }
    assert!(!json.to_string().contains('\n'), "one line");
}

#[test]
fn the_object_names_what_failed() {
    let mut scene = Scene::delivered(2);
    scene.forget_posts(1);
    scene.forget_claim(1);
    let json = scene.judge().json();
    assert_eq!(json["ok"], false);
    assert_eq!(json["failures"], serde_json::json!(["lost"]));
}

#[test]
fn the_table_explains_each_count() {
    let table = Scene::delivered(2).judge().table();
    assert!(table.starts_with("judge: PASSED"));
    for count in Counts::default().list() {
        assert!(table.contains(count.definition), "{}", count.name);
    }
}
