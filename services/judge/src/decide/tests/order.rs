//! The order promised, per chat and lane, over first posts.

use crate::decide::scene::{OTHER_WORKER, Scene, WORKER};
use crate::evidence::{Expectation, Lane, State};

/// Messages 1 and 2, committed one after the other, posted the wrong way round.
fn swapped() -> Scene {
    let mut scene = Scene::delivered(2);
    swap_posts(&mut scene);
    scene
}

fn swap_posts(scene: &mut Scene) {
    scene.evidence.calls[0].seq = 2;
    scene.evidence.calls[1].seq = 1;
}

#[test]
fn a_commit_before_an_insert_is_an_order() {
    let report = swapped().judge();
    assert_eq!(report.counts.out_of_order, 1);
    assert_eq!(report.failures(), ["out_of_order"]);
    let example = &report.findings.get("out_of_order").unwrap().examples[0];
    assert!(
        example.contains("call 1") && example.contains("call 2"),
        "{example}"
    );
}

#[test]
fn arrival_counts_and_not_the_place_in_the_log() {
    let mut scene = Scene::delivered(2);
    scene.evidence.calls.reverse();
    assert!(scene.judge().passed());
}

#[test]
fn transactions_that_overlap_have_no_order() {
    let mut scene = swapped();
    scene.row(1).committed_at_micros = Some(2_000_000);
    assert!(
        scene.judge().passed(),
        "commit and insert in one microsecond overlap"
    );
    scene.row(1).committed_at_micros = None;
    assert!(
        scene.judge().passed(),
        "a commit that nobody saw promises nothing"
    );
}

#[test]
fn one_transaction_is_in_order_of_its_ordinals() {
    let mut scene = swapped();
    let transaction = scene.row(1).transaction.clone();
    let row = scene.row(2);
    row.transaction = transaction;
    row.ordinal = 1;
    scene.row(1).committed_at_micros = Some(3_000_000);
    scene.row(2).committed_at_micros = Some(3_000_000);
    assert_eq!(scene.judge().counts.out_of_order, 1);
    scene.row(1).ordinal = 2;
    assert!(scene.judge().passed());
}

#[test]
fn transactions_of_two_runs_are_two() {
    let mut scene = swapped();
    scene.row(1).committed_at_micros = None;
    let mut transaction = scene.row(1).transaction.clone();
    transaction.run = "another".to_owned();
    let row = scene.row(2);
    row.transaction = transaction;
    row.ordinal = 1;
    assert!(scene.judge().passed());
}

#[test]
fn the_lock_of_a_chat_is_an_order() {
    let mut scene = swapped();
    scene.row(1).committed_at_micros = None;
    scene.row(1).lock_ordinal = Some(1);
    assert!(scene.judge().passed(), "one without lock has no place");
    scene.row(2).lock_ordinal = Some(2);
    assert_eq!(scene.judge().counts.out_of_order, 1);
    scene.row(2).lock_ordinal = Some(0);
    assert!(scene.judge().passed());
}

#[test]
fn chats_and_lanes_have_no_order_between_them() {
    let mut scene = swapped();
    scene.row(2).lane = Lane::High;
    assert!(scene.judge().passed());
    let mut scene = swapped();
    scene.row(2).chat = "telegram:main:6".to_owned();
    scene.evidence.calls[1].chat_id = "6".to_owned();
    assert!(scene.judge().passed());
}

#[test]
fn a_break_far_apart_is_found() {
    let mut scene = Scene::delivered(50);
    // Message 1 is posted last of all: every other one was posted before it.
    scene.evidence.calls[0].seq = 100;
    assert_eq!(scene.judge().counts.out_of_order, 1);
    // Message 50 is posted first of all: each of the others comes after it.
    let mut scene = Scene::delivered(50);
    scene.evidence.calls[49].seq = 0;
    let report = scene.judge();
    assert_eq!(report.counts.out_of_order, 49);
    assert_eq!(
        report.findings.get("out_of_order").unwrap().examples.len(),
        10
    );
    assert!(report.table().contains("out_of_order: 10 of 49"));
}

#[test]
fn only_first_posts_count() {
    let mut scene = Scene::delivered(2);
    scene.evidence.faults.killed.insert(OTHER_WORKER);
    let again = scene.post_by(1, OTHER_WORKER, 2);
    assert_eq!(again.seq, 3, "the extra copy comes after message 2");
    let report = scene.judge();
    assert_eq!(report.counts.out_of_order, 0);
    assert!(report.passed(), "{}", report.table());
}

#[test]
fn refused_calls_have_no_place() {
    let mut scene = Scene::delivered(2);
    scene.evidence.calls[1].seq = 3;
    let refused = scene.post_by(2, WORKER, 1);
    refused.seq = 0;
    refused.accepted = false;
    assert!(scene.judge().passed());
}

#[test]
fn what_was_settled_otherwise_has_no_place() {
    let mut scene = swapped();
    scene.claim(1).state = State::Parked;
    assert!(scene.judge().passed());
    let mut scene = swapped();
    scene.row(1).expect = Expectation::Rejected;
    assert_eq!(scene.judge().counts.out_of_order, 0);
}

/// The promise word by word, pair by pair: what the single pass must agree with.
fn late_posts_by_pairs(scene: &Scene) -> u64 {
    let place = |n: usize| scene.evidence.calls[n].seq;
    let rows = &scene.evidence.ledger;
    let precedes = |a: usize, b: usize| {
        let (a, b) = (&rows[a], &rows[b]);
        let same = a.transaction == b.transaction && a.ordinal < b.ordinal;
        same || a
            .committed_at_micros
            .is_some_and(|at| at < b.inserted_at_micros)
    };
    let overtaken = |a: &usize| (0..rows.len()).any(|b| precedes(*a, b) && place(b) < place(*a));
    (0..rows.len()).filter(overtaken).count() as u64
}

#[test]
fn the_single_pass_agrees_with_all_pairs() {
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    let mut below = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % bound
    };
    for round in 0..2_000 {
        let mut scene = Scene::delivered(8);
        for n in 0..8 {
            let row = &mut scene.evidence.ledger[n];
            row.transaction.number = i64::try_from(below(5)).unwrap();
            row.ordinal = i32::try_from(n).unwrap();
            let inserted = i64::try_from(below(10)).unwrap();
            row.inserted_at_micros = inserted;
            let committed = inserted + i64::try_from(below(4)).unwrap();
            row.committed_at_micros = (below(6) > 0).then_some(committed);
            let other = usize::try_from(below(8)).unwrap();
            let seq = scene.evidence.calls[n].seq;
            scene.evidence.calls[n].seq = scene.evidence.calls[other].seq;
            scene.evidence.calls[other].seq = seq;
        }
        let expected = late_posts_by_pairs(&scene);
        assert_eq!(scene.judge().counts.out_of_order, expected, "round {round}");
    }
}
