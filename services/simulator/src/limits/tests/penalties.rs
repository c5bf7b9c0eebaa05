//! What is refused and for how long.

use super::*;
use crate::limits::account::Refusal;

#[test]
fn a_refusal_names_the_longest_wait_in_whole_seconds() {
    let mut account = full_second(Enforce::Answer);
    let refusal = |account: &mut Account, chat: &str, at| call(account, chat, at).refusal;
    let account_one = Some(Refusal {
        retry_after: 1,
        scope: PenaltyScope::Account,
    });
    assert_eq!(
        refusal(&mut account, "1", 0),
        account_one,
        "chat and account"
    );
    assert_eq!(refusal(&mut account, "31", 999), account_one, "1 ms is 1 s");
    let mut account = Account::new(TELEGRAM);
    for turn in 0..20 {
        assert_eq!(refusal(&mut account, "-7", turn * 1_000), None);
    }
    let group = Some(Refusal {
        retry_after: 41,
        scope: PenaltyScope::Chat,
    });
    assert_eq!(
        refusal(&mut account, "-7", 19_500),
        group,
        "not the chat's 1"
    );
}

#[test]
fn a_penalty_of_a_chat_runs_from_its_answer_and_excuses_a_moment() {
    let mut account = Account::new(NOTHING);
    announce(&mut account, "7", PenaltyScope::Chat, 7, 1_000);
    for (at, expected) in [(1_099, false), (1_100, true), (7_999, true), (8_000, false)] {
        assert_eq!(in_penalty(&mut account, "7", at), expected, "{at} ms");
        assert!(!in_penalty(&mut account, "8", at), "another chat");
    }
    let stats = account.stats(None);
    assert_eq!(
        (stats.in_penalty, stats.refused),
        (2, 3),
        "excused and refused"
    );
}

#[test]
fn a_call_whose_head_came_before_the_answer_was_on_its_way() {
    let mut account = Account::new(NOTHING);
    announce(&mut account, "7", PenaltyScope::Chat, 7, 1_000);
    assert!(!account.arrive("7", ms(1_099), ms(3_000)).in_penalty);
    assert!(account.arrive("7", ms(1_100), ms(3_000)).in_penalty);
}

#[test]
fn an_account_is_held_at_once_and_known_to_be_when_a_second_chat_was_answered() {
    let mut account = Account::new(NOTHING);
    announce(&mut account, "7", PenaltyScope::Account, 7, 0);
    let ruling = call(&mut account, "8", 2_000);
    let refusal = Refusal {
        retry_after: 5,
        scope: PenaltyScope::Account,
    };
    assert_eq!((ruling.refusal, ruling.in_penalty), (Some(refusal), false));
    assert!(in_penalty(&mut account, "7", 2_000), "its own chat knows");
    announce(&mut account, "8", PenaltyScope::Account, 5, 2_000);
    assert!(!in_penalty(&mut account, "9", 2_099), "excused");
    assert!(in_penalty(&mut account, "9", 2_100));
    assert!(in_penalty(&mut account, "9", 6_999));
    assert!(!in_penalty(&mut account, "9", 7_000));
    assert_eq!(call(&mut account, "9", 7_000).refusal, None);
}

#[test]
fn two_answers_of_one_chat_or_far_apart_tell_nothing_of_the_account() {
    for (second, at, known) in [
        ("7", 1_000, false),
        ("8", 10_001, false),
        ("8", 10_000, true),
    ] {
        let mut account = Account::new(NOTHING);
        announce(&mut account, "7", PenaltyScope::Account, 60, 0);
        announce(&mut account, second, PenaltyScope::Account, 60, at);
        assert_eq!(
            in_penalty(&mut account, "9", at + 100),
            known,
            "{second}, {at} ms"
        );
    }
    let mut strict = Account::new(Limits {
        account_penalty_chats: 1,
        ..NOTHING
    });
    announce(&mut strict, "7", PenaltyScope::Account, 60, 0);
    assert!(in_penalty(&mut strict, "9", 100));
}

#[test]
fn penalties_merge_by_their_ends_and_a_late_one_is_excused_anew() {
    let mut account = Account::new(NOTHING);
    announce(&mut account, "7", PenaltyScope::Chat, 5, 0);
    announce(&mut account, "7", PenaltyScope::Chat, 2, 1_000);
    assert!(
        in_penalty(&mut account, "7", 4_999),
        "the shorter one shortens nothing"
    );
    // Rounded up, what is left ends later than what was there.
    announce(&mut account, "7", PenaltyScope::Chat, 1, 4_999);
    assert!(!in_penalty(&mut account, "7", 5_098), "not heard of yet");
    assert!(in_penalty(&mut account, "7", 5_099));
    assert!(!in_penalty(&mut account, "7", 5_999));
}

#[test]
fn counting_marks_a_penalty_and_refuses_nothing_and_off_does_neither() {
    for (enforce, expected) in [(Enforce::Count, true), (Enforce::Off, false)] {
        let mut account = Account::new(Limits {
            enforce,
            ..TELEGRAM
        });
        announce(&mut account, "7", PenaltyScope::Chat, 7, 0);
        for _ in 0..50 {
            let ruling = call(&mut account, "7", 200);
            assert_eq!((ruling.in_penalty, ruling.refusal), (expected, None));
        }
        let over_limit = account.stats(None).over_limit;
        assert_eq!(over_limit, if expected { 49 } else { 0 });
    }
}

#[test]
fn a_hint_of_any_length_is_held() {
    let mut account = Account::new(NOTHING);
    announce(&mut account, "7", PenaltyScope::Chat, 0, 1_000);
    assert_eq!(call(&mut account, "7", 1_000).refusal, None);
    announce(&mut account, "7", PenaltyScope::Account, u64::MAX, 1_000);
    assert!(call(&mut account, "8", 86_400_000).refusal.is_some());
}
