//! What became of each message.

use crate::decide::scene::{Scene, id};
use crate::evidence::{Expectation, State};

#[test]
fn a_run_in_which_all_went_well_passes() {
    let report = Scene::delivered(5).judge();
    assert!(report.passed(), "{}", report.table());
    assert_eq!(report.counts.committed, 5);
    assert_eq!(report.counts.delivered, 5);
    assert_eq!(report.counts.posted, 5);
}

#[test]
fn a_message_that_is_nowhere_is_lost() {
    let mut scene = Scene::delivered(3);
    scene.forget_claim(2);
    scene.forget_posts(2);
    let report = scene.judge();
    assert_eq!(report.counts.lost, 1);
    assert_eq!(report.failures(), ["lost"]);
    assert!(report.table().contains(&id(2).to_string()));
}

#[test]
fn a_message_on_its_way_is_unresolved_and_not_lost() {
    let places: [fn(&mut Scene); 5] = [
        |scene| _ = scene.settle(2, State::Claimed),
        |scene| _ = scene.settle(2, State::Started),
        |scene| _ = scene.evidence.outbox.insert(id(2)),
        |scene| _ = scene.evidence.held.insert(id(2)),
        |scene| _ = scene.kafka().unread.insert(id(2)),
    ];
    for (at, place) in places.into_iter().enumerate() {
        let mut scene = Scene::delivered(3);
        scene.forget_claim(2);
        scene.forget_posts(2);
        place(&mut scene);
        let report = scene.judge();
        let counts = report.counts;
        assert_eq!((counts.unresolved, counts.lost), (1, 0), "place {at}");
        assert_eq!(report.failures(), ["unresolved"], "place {at}");
    }
}

#[test]
fn a_settled_message_in_a_lane_is_resolved() {
    let mut scene = Scene::delivered(1);
    scene.kafka().unread.insert(id(1));
    scene.kafka().lag = 1;
    let report = scene.judge();
    assert!(report.passed());
    assert_eq!(report.counts.lag, 1);
}

#[test]
fn every_settlement_has_its_count() {
    let mut scene = Scene::delivered(1);
    let states = [
        State::Undeliverable,
        State::Rejected,
        State::Expired,
        State::DeadLettered,
        State::Parked,
        State::Discarded,
    ];
    for (n, state) in (2..).zip(states) {
        scene.commit(n);
        scene.settle(n, state);
    }
    let report = scene.judge();
    let counts = report.counts;
    assert_eq!(
        [
            counts.delivered,
            counts.undeliverable,
            counts.rejected,
            counts.expired,
            counts.dead_lettered,
            counts.parked,
            counts.discarded
        ],
        [1; 7]
    );
    assert_eq!(counts.given_up, 6);
    assert!(report.passed(), "{}", report.table());
}

#[test]
fn given_up_messages_fail_a_run_that_demands_delivery() {
    let mut scene = Scene::delivered(1);
    scene.commit(2);
    scene.settle(2, State::DeadLettered).reason = Some("attempts exhausted".to_owned());
    scene.evidence.require_delivery = true;
    let report = scene.judge();
    assert_eq!(report.failures(), ["given_up"]);
    assert!(report.table().contains("attempts exhausted"));
}

#[test]
fn a_row_that_the_relay_rejected_is_rejected() {
    let mut scene = Scene::delivered(1);
    scene.commit(2).expect = Expectation::Rejected;
    scene
        .evidence
        .rejected_by_relay
        .insert(id(2), "no such type".to_owned());
    let report = scene.judge();
    assert!(report.passed(), "{}", report.table());
    assert_eq!(report.counts.rejected, 1);
    assert_eq!(report.counts.rejected_by_relay, 1);
    assert_eq!(report.counts.given_up, 0);
}

#[test]
fn rejecting_a_valid_row_breaks_the_expectation() {
    let mut scene = Scene::delivered(1);
    scene.commit(2);
    scene
        .evidence
        .rejected_by_relay
        .insert(id(2), "mistake".to_owned());
    assert_eq!(scene.judge().failures(), ["expectation_broken"]);
}

#[test]
fn posting_an_invalid_row_breaks_the_expectation() {
    let mut scene = Scene::delivered(2);
    scene.row(2).expect = Expectation::Rejected;
    assert_eq!(scene.judge().failures(), ["expectation_broken"]);
}

#[test]
fn delivered_without_a_post_fails() {
    let mut scene = Scene::delivered(3);
    scene.forget_posts(2);
    let report = scene.judge();
    assert_eq!(report.counts.lost, 0);
    assert_eq!(report.counts.settled_without_post, 1);
    assert_eq!(report.failures(), ["settled_without_post"]);
}

#[test]
fn a_refused_call_is_no_post() {
    let mut scene = Scene::delivered(1);
    scene.evidence.calls[0].accepted = false;
    assert_eq!(scene.judge().failures(), ["settled_without_post"]);
}

#[test]
fn posted_without_settlement_fails() {
    let mut scene = Scene::delivered(3);
    scene.forget_claim(2);
    let report = scene.judge();
    assert_eq!(report.counts.lost, 0);
    assert_eq!(report.failures(), ["posted_without_settlement"]);
}

#[test]
fn a_dead_letter_must_lie_in_the_topic() {
    let mut scene = Scene::delivered(1);
    for (n, state) in [
        (2, State::Rejected),
        (3, State::DeadLettered),
        (4, State::Parked),
    ] {
        scene.commit(n);
        scene.settle(n, state);
    }
    scene.kafka().dead_letters.extend([id(2), id(4)]);
    scene.kafka().dead_letter_records = 2;
    let report = scene.judge();
    assert_eq!(report.counts.missing_dead_letters, 1);
    assert_eq!(report.counts.dead_letter_records, 2);
    assert_eq!(report.failures(), ["missing_dead_letters"]);
    scene.kafka().dead_letters.insert(id(3));
    assert!(scene.judge().passed());
}
