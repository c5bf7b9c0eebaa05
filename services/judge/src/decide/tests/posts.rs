//! Posts that should not be, or should be otherwise.

use crate::decide::scene::{Scene, id};
use crate::evidence::{RolledBack, Scope};

#[test]
fn a_post_of_a_rolled_back_message_fails() {
    let mut scene = Scene::delivered(1);
    scene.evidence.rolled_back.push(RolledBack {
        message_id: id(9),
        chat: "telegram:main:7".to_owned(),
    });
    assert!(scene.judge().passed());
    for scope in [Scope::EveryRun, Scope::Run("run".to_owned())] {
        let mut scene = Scene::delivered(1);
        scene.evidence.scope = scope;
        scene.evidence.rolled_back.push(RolledBack {
            message_id: id(9),
            chat: "telegram:main:7".to_owned(),
        });
        scene.post(9);
        let report = scene.judge();
        assert_eq!(report.counts.posted_uncommitted, 1);
        assert_eq!(report.failures(), ["posted_uncommitted"]);
        assert!(report.table().contains("rolled back"));
    }
}

#[test]
fn a_post_of_an_unknown_message_fails() {
    let mut scene = Scene::delivered(1);
    scene.post(9);
    assert_eq!(scene.judge().failures(), ["posted_uncommitted"]);
}

#[test]
fn a_post_without_a_readable_id_fails() {
    for header in [None, Some("nonsense".to_owned())] {
        let mut scene = Scene::delivered(1);
        scene.post(1).attempt = header;
        assert_eq!(scene.judge().failures(), ["posted_uncommitted"]);
    }
}

#[test]
fn a_refused_call_of_an_unknown_message_is_harmless() {
    let mut scene = Scene::delivered(1);
    scene.post(9).accepted = false;
    let report = scene.judge();
    assert!(report.passed());
    assert_eq!(report.counts.calls, 2);
}

#[test]
fn one_run_answers_only_for_its_own_chats() {
    let mut scene = Scene::delivered(1);
    scene.evidence.scope = Scope::Run("run".to_owned());
    scene.post(9).chat_id = "12".to_owned();
    let report = scene.judge();
    assert!(report.passed(), "{}", report.table());
    assert_eq!(report.counts.foreign_posts, 1);
    scene.post(9);
    assert_eq!(scene.judge().failures(), ["posted_uncommitted"]);
}

#[test]
fn a_post_to_another_chat_or_account_fails() {
    let mut scene = Scene::delivered(1);
    scene.evidence.calls[0].chat_id = "6".to_owned();
    assert_eq!(scene.judge().failures(), ["wrong_chat"]);
    let mut scene = Scene::delivered(1);
    scene.evidence.calls[0].account = "second".to_owned();
    assert_eq!(scene.judge().failures(), ["wrong_chat"]);
}

#[test]
fn a_post_without_the_marker_fails() {
    for text in [None, Some("Order ORDER2 is confirmed.".to_owned())] {
        let mut scene = Scene::delivered(1);
        scene.evidence.calls[0].text = text;
        let report = scene.judge();
        assert_eq!(report.failures(), ["wrong_text"]);
        assert!(report.table().contains("`ORDER1`"));
    }
}
