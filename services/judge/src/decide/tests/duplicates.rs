//! Extra posts, and their excuses.

use crate::decide::scene::{OTHER_WORKER, Scene, WORKER, attempt};
use crate::evidence::Answer;

/// Message 1 posted by [`WORKER`] and again by [`OTHER_WORKER`], whose attempt is recorded.
fn posted_twice() -> Scene {
    let mut scene = Scene::delivered(1);
    scene.post_by(1, OTHER_WORKER, 2);
    scene.claim(1).sent = Some(attempt(1, OTHER_WORKER, 2));
    scene
}

#[test]
fn an_extra_post_without_a_fault_fails() {
    let report = posted_twice().judge();
    assert_eq!(report.counts.duplicated, 1);
    assert_eq!(report.counts.in_flight_at_kill, 0);
    assert_eq!(report.failures(), ["unexplained_duplicates", "duplicated"]);
}

#[test]
fn an_attempt_in_flight_at_a_kill_excuses_one() {
    let mut scene = posted_twice();
    scene.evidence.faults.killed.insert(WORKER);
    let report = scene.judge();
    assert_eq!(report.counts.duplicated, 1);
    assert_eq!(report.counts.in_flight_at_kill, 1);
    assert!(report.passed(), "{}", report.table());
    scene.post_by(1, OTHER_WORKER, 3);
    assert!(!scene.judge().passed(), "a third post has no excuse");
}

#[test]
fn a_recorded_attempt_of_a_killed_worker_excuses_nothing() {
    let mut scene = posted_twice();
    scene.claim(1).sent = Some(attempt(1, WORKER, 1));
    scene.evidence.faults.killed.insert(WORKER);
    let report = scene.judge();
    assert_eq!(report.counts.in_flight_at_kill, 0);
    assert!(!report.passed());
}

#[test]
fn an_excuse_counts_only_for_its_own_message() {
    let mut scene = Scene::delivered(3);
    scene.post_by(1, OTHER_WORKER, 2);
    scene.post_by(2, WORKER, 2);
    // Message 2's first attempt was in flight, message 1's was not.
    scene.claim(2).sent = Some(attempt(2, WORKER, 2));
    scene.forget_posts(3);
    scene.post_by(3, WORKER, 1);
    scene.evidence.faults.killed.insert(WORKER);
    let report = scene.judge();
    assert_eq!(report.counts.duplicated, 2);
    assert_eq!(report.counts.in_flight_at_kill, 1);
    assert_eq!(report.counts.unexplained_duplicates, 1);
    assert!(!report.passed());
}

#[test]
fn in_flight_counts_unanswered_calls_but_not_refused_ones() {
    let mut scene = Scene::delivered(4);
    scene.evidence.faults.killed.insert(OTHER_WORKER);
    for (n, answer) in (1..).zip([
        Answer::Lost,
        Answer::Hang,
        Answer::Missing,
        Answer::Status(429),
    ]) {
        let call = scene.post_by(n, OTHER_WORKER, 0);
        call.accepted = false;
        call.answer = answer;
    }
    let report = scene.judge();
    assert_eq!(report.counts.in_flight_at_kill, 3);
    assert_eq!(report.counts.duplicated, 0);
    assert!(report.passed());
}

#[test]
fn an_unaccepted_call_excuses_no_extra_post() {
    let mut scene = Scene::delivered(1);
    scene.post_by(1, WORKER, 2);
    scene.evidence.faults.killed.insert(OTHER_WORKER);
    let call = scene.post_by(1, OTHER_WORKER, 0);
    call.accepted = false;
    call.answer = Answer::Lost;
    let report = scene.judge();
    assert_eq!(report.counts.in_flight_at_kill, 1);
    assert_eq!(report.failures(), ["unexplained_duplicates"]);
}

#[test]
fn one_attempt_that_arrives_twice_is_two_posts_and_one_excuse() {
    let mut scene = Scene::delivered(1);
    scene.claim(1).sent = None;
    scene.post(1);
    scene.post(1);
    scene.evidence.faults.killed.insert(WORKER);
    let report = scene.judge();
    assert_eq!(report.counts.duplicated, 2);
    assert_eq!(report.counts.in_flight_at_kill, 1);
    assert!(!report.passed());
}

#[test]
fn lost_answers_excuse_only_when_allowed() {
    for answer in [Answer::Lost, Answer::Hang, Answer::Status(502)] {
        let mut scene = posted_twice();
        scene.evidence.calls[0].answer = answer;
        assert!(!scene.judge().passed(), "{answer:?} without allowance");
        scene.evidence.faults.unknown_allowance = true;
        let report = scene.judge();
        assert_eq!(report.counts.unknown_answers, 1);
        assert!(report.passed(), "{}", report.table());
    }
    let mut scene = posted_twice();
    scene.evidence.faults.unknown_allowance = true;
    assert!(!scene.judge().passed(), "an answered call is never unknown");
}

#[test]
fn a_fenced_worker_may_record_late() {
    let mut scene = posted_twice();
    // The first worker woke up and recorded its own attempt over the other's.
    scene.claim(1).sent = Some(attempt(1, WORKER, 1));
    scene.evidence.faults.fenced.insert(WORKER);
    let report = scene.judge();
    assert_eq!(report.counts.in_flight_at_kill, 1);
    assert!(report.passed(), "{}", report.table());
}

#[test]
fn a_fenced_worker_excuses_nothing_that_it_did_alone() {
    let mut scene = Scene::delivered(1);
    scene.post_by(1, WORKER, 1);
    scene.evidence.faults.fenced.insert(WORKER);
    let report = scene.judge();
    assert_eq!(report.counts.in_flight_at_kill, 0);
    assert!(!report.passed());
}
