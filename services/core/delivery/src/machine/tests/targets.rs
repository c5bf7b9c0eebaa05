//! Dead and migrated targets in the machine.

use tidings_platforms::DeadScope;

use super::*;
use crate::{TargetKey, TargetState};

fn blocked() -> Verdict {
    Verdict::DeadTarget {
        scope: DeadScope::Chat,
        reprobe: false,
    }
}

fn target(chat_id: &str) -> TargetKey {
    TargetKey {
        chat: Arc::from(chat_id),
        thread: None,
    }
}

fn remembered(effects: &[Effect]) -> Vec<(TargetKey, TargetState)> {
    let mut all = Vec::new();
    for effect in effects {
        if let Effect::Remember { target, state } = effect {
            all.push((target.clone(), state.clone()));
        }
    }
    all
}

const A: &str = "telegram:main:1";

#[test]
fn later_messages_of_a_dead_target_end_without_a_call() {
    let mut bench = Bench::new();
    bench.arrive(1, A, OnUnknown::Resend);
    bench.arrive(2, A, OnUnknown::Resend);
    bench.grant(1, 1);
    let answered = bench.answer(1, blocked()).to_vec();
    assert_eq!(
        remembered(&answered),
        [(
            target(A),
            TargetState::Dead {
                probe: None,
                reason: Arc::from("why")
            }
        )]
    );
    bench.recorded(1);
    let ended = bench.grant(2, 1);
    assert!(calls(ended).is_empty());
    assert!(
        matches!(
            ended,
            [Effect::Settle {
                settlement: Settlement::Undeliverable,
                attempts: 0,
                ..
            }]
        ),
        "{ended:?}"
    );
}

#[test]
fn in_a_limited_account_a_dead_target_costs_no_permit() {
    let mut bench = Bench::new();
    bench
        .machine
        .permit_account(&Arc::from("telegram:main"), true);
    bench.tell(Event::TargetChanged {
        target: target(A),
        state: TargetState::Dead {
            probe: None,
            reason: Arc::from("kicked"),
        },
    });
    let asked = bench.arrive(1, A, OnUnknown::Resend);
    assert!(matches!(asked, [Effect::Claim { .. }]), "{asked:?}");
    assert!(matches!(bench.grant(1, 1), [Effect::Settle { .. }]));
    assert!(!matches!(
        bench.arrive(2, "telegram:main:2", OnUnknown::Resend),
        [Effect::Claim { .. }]
    ));
}

#[test]
fn later_messages_of_a_migrated_chat_go_to_its_new_id_at_once() {
    let mut bench = Bench::new();
    bench.arrive(1, A, OnUnknown::Resend);
    bench.grant(1, 1);
    let new_chat_id = "-100".to_owned();
    let answered = bench.answer(1, Verdict::Migrated { new_chat_id }).to_vec();
    assert!(matches!(
        remembered(&answered)[..],
        [(_, TargetState::Migrated { .. })]
    ));
    bench.arrive(2, A, OnUnknown::Park);
    bench.grant(1, 2);
    bench.answer(1, delivered());
    bench.recorded(1);
    bench.grant(2, 1);
    let started = bench.tell(Event::Started {
        slot: SlotId(2),
        answer: Answer::Done,
    });
    assert!(
        matches!(started, [Effect::Call { target: Some(id), call: 1, .. }] if &**id == "-100"),
        "{started:?}"
    );
}

#[test]
fn a_target_that_died_under_its_new_id_is_remembered_as_that() {
    let mut bench = Bench::new();
    bench.tell(Event::TargetChanged {
        target: target(A),
        state: TargetState::Migrated {
            new_chat_id: Arc::from("-100"),
        },
    });
    bench.arrive(1, A, OnUnknown::Resend);
    bench.grant(1, 1);
    let answered = remembered(bench.answer(1, blocked()));
    assert_eq!(&*answered[0].0.chat, "telegram:main:-100");
}

#[test]
fn a_probe_that_is_delivered_tells_everybody_that_the_target_lives() {
    let mut bench = Bench::new();
    bench.tell(Event::TargetChanged {
        target: target(A),
        state: TargetState::Dead {
            probe: Some(Duration::ZERO),
            reason: Arc::from("no rights to write"),
        },
    });
    bench.arrive(1, A, OnUnknown::Resend);
    assert_eq!(calls(bench.grant(1, 1)), [(1, 1)]);
    let answered = bench.answer(1, delivered()).to_vec();
    assert_eq!(remembered(&answered), [(target(A), TargetState::Alive)]);
}
