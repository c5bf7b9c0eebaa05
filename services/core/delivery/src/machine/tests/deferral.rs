//! Deferred chats, seen from outside: what is written, what is loaded, and when the watermark passes.

use super::*;
use crate::{CloseAnswer, DeferredChat, Due};

const MINUTE: u64 = 60 * SECOND;

impl Bench {
    /// A machine with room that keeps heads in memory for 30 s, and knows where its partition begins.
    fn deferring() -> Self {
        let mut bench = Self::new();
        bench.machine.options.timing.hold_in_memory = Duration::from_secs(30);
        bench.machine.options.limits.records = 100;
        bench.tell(Event::Begins {
            partition: PARTITION,
            offset: 0,
        });
        bench
    }

    /// Gives the partition to the machine (again) with what is deferred there.
    fn assign(&mut self, epoch: i64, deferred: Vec<DeferredChat>, begins: i64) -> Vec<Effect> {
        self.tell(Event::Assigned {
            partition: PARTITION,
            epoch,
            deferred,
        });
        self.tell(Event::Begins {
            partition: PARTITION,
            offset: begins,
        })
        .to_vec()
    }

    /// The platform holds the chat of a message for long; its claim is renewed.
    fn hold(&mut self, slot: u64, wait: u64) -> Vec<Effect> {
        self.answer(
            slot,
            Verdict::Throttled {
                scope: HoldScope::Chat,
                wait: Some(Duration::from_micros(wait)),
            },
        );
        self.grant(slot, 2).to_vec()
    }

    fn deferred(&mut self, slot: u64, answer: Answer) -> Vec<Effect> {
        self.tell(Event::Deferred {
            slot: SlotId(slot),
            answer,
        })
        .to_vec()
    }

    /// Answers the load of a chat with rows, each under the slot 1,000 above its offset.
    fn rows(&mut self, epoch: i64, chat: &str, offsets: &[i64], more: bool) -> Vec<Effect> {
        let records = offsets.iter().map(|offset| row(chat, *offset));
        let records = records.collect();
        self.tell(Event::Loaded {
            partition: PARTITION,
            epoch,
            chat: Arc::from(chat),
            records,
            more,
        })
        .to_vec()
    }

    fn undeferred(&mut self, slot: u64) -> Vec<Effect> {
        self.tell(Event::Undeferred {
            slot: SlotId(slot),
            answer: Answer::Done,
        })
        .to_vec()
    }

    fn closed(&mut self, chat: &str, answer: CloseAnswer) -> Vec<Effect> {
        self.tell(Event::Closed {
            partition: PARTITION,
            epoch: 7,
            chat: Arc::from(chat),
            answer,
        })
        .to_vec()
    }

    /// A loaded message goes its way, and its row goes.
    fn deliver(&mut self, slot: u64) -> Vec<Effect> {
        let mut all = Vec::new();
        all.extend_from_slice(self.grant(slot, 5));
        all.extend_from_slice(self.answer(slot, delivered()));
        all.extend_from_slice(self.recorded(slot));
        all.extend(self.undeferred(slot));
        all
    }
}

fn row(chat: &str, offset: i64) -> Arrival {
    Arrival {
        slot: SlotId(1_000 + u64::try_from(offset).unwrap()),
        partition: PARTITION,
        offset,
        bytes: 1,
        content: Content::Message(delivery(chat)),
    }
}

fn delivery(chat: &str) -> Delivery {
    Delivery {
        chat: Arc::from(chat),
        account: Arc::from("telegram:main"),
        thread: None,
        event_type: Arc::from("type"),
        expires_at_micros: None,
        class: Class::Normal,
        on_unknown: OnUnknown::Resend,
        retry: RetryName::Interactive,
        hold_on_dead: false,
    }
}

fn marker(chat: &str, due: Due) -> DeferredChat {
    DeferredChat {
        chat: Arc::from(chat),
        due,
        give_up: None,
    }
}

fn now() -> Due {
    Due::In(Duration::ZERO)
}

/// The slots that are written behind, with whether each moves the marker's due.
fn defers(effects: &[Effect]) -> Vec<(u64, bool)> {
    let mut defers = Vec::new();
    for effect in effects {
        if let Effect::Defer {
            slot, moves_due, ..
        } = effect
        {
            defers.push((slot.0, *moves_due));
        }
    }
    defers
}

/// What is loaded: the chat, the offset after which, and the one below which.
fn loads(effects: &[Effect]) -> Vec<(String, Option<i64>, i64)> {
    let mut loads = Vec::new();
    for effect in effects {
        if let Effect::Load {
            chat, after, below, ..
        } = effect
        {
            loads.push((chat.to_string(), *after, *below));
        }
    }
    loads
}

fn commits(effects: &[Effect]) -> Vec<i64> {
    let mut commits = Vec::new();
    for effect in effects {
        if let Effect::Commit { offset, .. } = effect {
            commits.push(*offset);
        }
    }
    commits
}

fn closes(effects: &[Effect]) -> bool {
    let close = |effect: &Effect| matches!(effect, Effect::CloseDeferral { .. });
    effects.iter().any(close)
}

#[test]
fn k2_one_chat_that_fails_2000_records_starves_nobody() {
    let mut bench = Bench::deferring();
    let mut written = 0;
    for slot in 1..=2_000 {
        let effects = bench.arrive(slot, "stuck", OnUnknown::Resend).to_vec();
        assert!(!effects.contains(&Effect::Pause(PARTITION)), "at {slot}");
        for (slot, _) in defers(&effects) {
            bench.deferred(slot, Answer::Done);
            written += 1;
        }
    }
    assert_eq!(written, 1_996, "all but its share in memory");
    assert_eq!(bench.machine.load().records, 4);
    assert_eq!(
        claims(bench.arrive(2_001, "other", OnUnknown::Resend)),
        [(2_001, None)]
    );
    bench.grant(1, 1);
    let effects = bench.hold(1, 10 * MINUTE);
    assert_eq!(
        defers(&effects),
        [(1, true), (2, false), (3, false), (4, false)]
    );
    for slot in 1..=4 {
        bench.deferred(slot, Answer::Done);
    }
    assert_eq!(bench.machine.load().records, 1, "the other one");
}

#[test]
fn k5_a_revocation_while_backing_off_or_deferring_loses_nothing() {
    for answer in [Answer::Done, Answer::Failed] {
        let mut bench = Bench::deferring();
        bench.arrive(1, "a", OnUnknown::Resend);
        bench.arrive(2, "a", OnUnknown::Resend);
        bench.arrive(3, "b", OnUnknown::Resend);
        bench.grant(1, 1);
        bench.grant(3, 1);
        bench.answer(3, Verdict::Transient);
        bench.grant(3, 2);
        bench.hold(1, MINUTE);
        let effects = bench.tell(Event::Revoked(PARTITION)).to_vec();
        let releases = |effect: &Effect| {
            matches!(
                effect,
                Effect::Release {
                    slot: SlotId(3),
                    attempts: 1,
                    ..
                }
            )
        };
        assert!(effects.iter().any(releases), "{effects:?}");
        assert!(!effects.contains(&Effect::Drained(PARTITION)));
        let mut effects = bench.deferred(1, answer);
        effects.extend(bench.deferred(2, answer));
        let committed = commits(&effects);
        match answer {
            Answer::Done => assert_eq!(committed, [2, 3], "and not past what backs off"),
            Answer::Failed | Answer::Fenced => assert_eq!(committed, [0; 0]),
        }
        assert_eq!(effects.last(), Some(&Effect::Drained(PARTITION)));
    }
}

#[test]
fn k7_a_success_in_one_chat_does_not_reset_another_ones_attempts() {
    let mut bench = Bench::deferring();
    bench.arrive(1, "a", OnUnknown::Resend);
    bench.arrive(2, "b", OnUnknown::Resend);
    bench.grant(1, 1);
    bench.grant(2, 1);
    bench.answer(1, Verdict::Transient);
    bench.grant(1, 2);
    bench.answer(2, delivered());
    bench.recorded(2);
    bench.at(SECOND);
    bench.grant(1, 3);
    let effects = bench.hold(1, MINUTE);
    let kept = |effect: &Effect| {
        matches!(effect, Effect::Defer { claim: Some(claim), .. }
            if claim.attempts == 1 && claim.first_failed_at_micros == Some(0))
    };
    assert!(effects.iter().any(kept), "{effects:?}");
}

#[test]
fn k9_k10_what_is_deferred_or_dead_moves_the_watermark_and_only_once_it_is_written() {
    let mut bench = Bench::deferring();
    for (slot, chat) in [(1, "a"), (2, "b"), (3, "a")] {
        bench.arrive(slot, chat, OnUnknown::Resend);
    }
    bench.grant(2, 1);
    bench.answer(2, Verdict::Rejected);
    bench.tell(Event::DeadLettered {
        slot: SlotId(2),
        acknowledged: true,
    });
    assert!(commits(bench.recorded(2)).is_empty(), "1 is not done");
    bench.grant(1, 1);
    assert!(
        commits(&bench.hold(1, MINUTE)).is_empty(),
        "asked, not written"
    );
    assert!(commits(&bench.deferred(1, Answer::Failed)).is_empty());
    let again = bench.at(SECOND).to_vec();
    assert_eq!(defers(&again), [(1, true)], "asked again");
    assert_eq!(commits(&bench.deferred(1, Answer::Done)), [3]);
    assert_eq!(commits(&bench.deferred(3, Answer::Done)), [4]);
}

#[test]
fn s24_a_long_hold_burns_no_attempt_and_ends_at_its_time() {
    let mut bench = Bench::deferring();
    bench.arrive(1, "a", OnUnknown::Resend);
    bench.grant(1, 1);
    let effects = bench.hold(1, 142 * SECOND);
    let waits = |effect: &Effect| {
        matches!(effect, Effect::Defer { claim: Some(claim), due, .. }
            if claim.attempts == 0 && *due == Due::In(Duration::from_secs(142)))
    };
    assert!(effects.iter().any(waits), "{effects:?}");
    bench.deferred(1, Answer::Done);
    // A record of the same message that comes meanwhile is written behind, not tried.
    bench.now = 42 * SECOND;
    let effects = bench.arrive(2, "a", OnUnknown::Resend).to_vec();
    assert_eq!(defers(&effects), [(2, false)]);
    assert!(claims(&effects).is_empty());
    bench.deferred(2, Answer::Done);
    assert!(bench.at(141 * SECOND).is_empty());
    assert_eq!(loads(bench.at(142 * SECOND)), [("a".to_owned(), None, 3)]);
}

#[test]
fn s23_what_follows_a_failed_message_never_overtakes_it() {
    let mut bench = Bench::deferring();
    bench.arrive(1, "a", OnUnknown::Resend);
    bench.arrive(2, "a", OnUnknown::Resend);
    bench.grant(1, 1);
    bench.hold(1, MINUTE);
    // The second one's row is there, the first one's is not: nothing of the chat may be loaded yet.
    bench.deferred(2, Answer::Done);
    bench.deferred(1, Answer::Failed);
    let due = bench.at(MINUTE).to_vec();
    assert_eq!(defers(&due), [(1, true)]);
    assert_eq!(loads(&due), [("a".to_owned(), None, 1)], "below the first");
    assert!(claims(&bench.rows(7, "a", &[], false)).is_empty());
    let written = bench.deferred(1, Answer::Done);
    assert_eq!(loads(&written), [("a".to_owned(), None, 3)]);
    assert_eq!(claims(&bench.rows(7, "a", &[1, 2], false)), [(1_001, None)]);
    assert_eq!(claims(&bench.deliver(1_001)), [(1_002, None)]);
}

#[test]
fn what_the_old_owner_did_not_write_is_waited_for() {
    let mut bench = Bench::deferring();
    // Row 7 was written; record 5, its predecessor, was not, and is fetched again.
    let effects = bench.assign(7, vec![marker("a", now())], 5);
    assert_eq!(loads(&effects), [("a".to_owned(), None, 5)]);
    assert!(closes(&bench.rows(7, "a", &[], false)));
    assert!(bench.arrive(5, "a", OnUnknown::Resend).is_empty());
    let effects = bench.closed("a", CloseAnswer::RowsRemain);
    assert_eq!(defers(&effects), [(5, false)]);
    assert!(loads(&effects).is_empty());
    assert_eq!(
        loads(&bench.deferred(5, Answer::Done)),
        [("a".to_owned(), None, 6)]
    );
}

#[test]
fn nothing_is_loaded_before_it_is_known_where_the_partition_begins() {
    let mut bench = Bench::deferring();
    let effects = bench.tell(Event::Assigned {
        partition: PARTITION,
        epoch: 8,
        deferred: vec![marker("a", now())],
    });
    assert!(loads(effects).is_empty());
}

#[test]
fn a_chat_past_its_share_goes_on_with_what_it_has_and_then_with_its_rows() {
    let mut bench = Bench::deferring();
    for slot in 1..=4 {
        bench.arrive(slot, "a", OnUnknown::Resend);
    }
    let effects = bench.arrive(5, "a", OnUnknown::Resend).to_vec();
    assert_eq!(defers(&effects), [(5, false)]);
    assert!(
        loads(&bench.deferred(5, Answer::Done)).is_empty(),
        "no room"
    );
    let mut effects = Vec::new();
    for slot in 1..=2 {
        bench.grant(slot, 1);
        bench.answer(slot, delivered());
        effects = bench.recorded(slot).to_vec();
    }
    assert_eq!(loads(&effects), [("a".to_owned(), None, 6)]);
    assert!(
        claims(&bench.rows(7, "a", &[5], false)).is_empty(),
        "behind"
    );
    for slot in 3..=4 {
        bench.grant(slot, 1);
        bench.answer(slot, delivered());
        effects = bench.recorded(slot).to_vec();
    }
    assert_eq!(claims(&effects), [(1_005, None)]);
    assert!(closes(&bench.deliver(1_005)));
}

#[test]
fn what_arrives_while_the_marker_goes_waits_for_the_answer() {
    for (answer, goes_behind) in [
        (CloseAnswer::Gone, false),
        (CloseAnswer::RowsRemain, true),
        (CloseAnswer::Failed, true),
    ] {
        let mut bench = Bench::deferring();
        bench.assign(7, vec![marker("a", now())], 5);
        assert!(closes(&bench.rows(7, "a", &[], false)));
        assert!(bench.arrive(5, "a", OnUnknown::Resend).is_empty());
        let effects = bench.closed("a", answer);
        if goes_behind {
            assert_eq!(defers(&effects), [(5, false)], "{answer:?}");
            assert!(claims(&effects).is_empty());
        } else {
            assert_eq!(claims(&effects), [(5, None)]);
        }
    }
}

#[test]
fn a_loaded_head_that_waits_again_takes_the_others_back_with_it() {
    let mut bench = Bench::deferring();
    bench.assign(7, vec![marker("a", now())], 5);
    bench.rows(7, "a", &[1, 2, 3], true);
    bench.grant(1_001, 5);
    let effects = bench.hold(1_001, MINUTE);
    assert_eq!(defers(&effects), [(1_001, true)]);
    let dropped = |effect: &&Effect| {
        matches!(
            effect,
            Effect::Finish {
                outcome: Outcome::Deferred,
                ..
            }
        )
    };
    assert_eq!(effects.iter().filter(dropped).count(), 2);
    bench.deferred(1_001, Answer::Done);
    assert_eq!(bench.machine.load().records, 0);
    assert_eq!(loads(bench.at(MINUTE)), [("a".to_owned(), None, 5)]);
}

#[test]
fn rows_whose_head_has_to_wait_at_once_go_back_together() {
    let mut bench = Bench::deferring();
    bench.arrive(6, "b", OnUnknown::Resend);
    bench.grant(6, 1);
    bench.answer(
        6,
        Verdict::Throttled {
            scope: HoldScope::Account,
            wait: Some(Duration::from_micros(MINUTE)),
        },
    );
    bench.tell(Event::DeferralChanged {
        partition: PARTITION,
        chat: marker("a", now()),
    });
    bench.tell(Event::Begins {
        partition: PARTITION,
        offset: 5,
    });
    let effects = bench.rows(7, "a", &[1, 2], false);
    assert_eq!(defers(&effects), [(1_001, true)]);
    assert!(claims(&effects).is_empty(), "2 goes back with 1");
}

#[test]
fn a_hold_that_was_not_written_lets_the_chat_go_on() {
    let mut bench = Bench::deferring();
    for slot in [1, 2] {
        bench.tell(Event::Arrived(Arrival {
            slot: SlotId(slot),
            content: Content::Message(Delivery {
                hold_on_dead: true,
                ..delivery("a")
            }),
            ..row("a", i64::try_from(slot).unwrap())
        }));
    }
    bench.grant(1, 1);
    bench.answer(1, Verdict::Rejected);
    bench.tell(Event::DeadLettered {
        slot: SlotId(1),
        acknowledged: true,
    });
    bench.tell(Event::HadItsEnd { slot: SlotId(1) });
    assert_eq!(claims(bench.recorded(1)), [(2, None)]);
}

#[test]
fn rows_that_come_too_late_are_left_in_postgres() {
    let mut bench = Bench::deferring();
    bench.assign(7, vec![marker("a", now())], 5);
    bench.tell(Event::Revoked(PARTITION));
    let effects = bench.rows(7, "a", &[1], false);
    assert!(
        matches!(
            effects[..],
            [Effect::Finish {
                outcome: Outcome::Deferred,
                ..
            }]
        ),
        "{effects:?}"
    );
    // Nor do they count in the next assignment.
    bench.assign(9, vec![marker("a", now())], 5);
    assert!(claims(&bench.rows(7, "a", &[1], false)).is_empty());
    assert_eq!(claims(&bench.rows(9, "a", &[1], false)), [(1_001, None)]);
}

#[test]
fn loads_are_few_at_once_and_in_the_order_in_which_their_chats_were_due() {
    let mut bench = Bench::deferring();
    let due = |seconds| Due::In(Duration::from_secs(seconds));
    let chats = vec![
        marker("c", due(3)),
        marker("a", due(1)),
        marker("b", due(2)),
    ];
    bench.assign(7, chats, 5);
    let first = bench.at(4 * SECOND).to_vec();
    let names: Vec<String> = loads(&first).into_iter().map(|load| load.0).collect();
    assert_eq!(names, ["a", "b"]);
    let next = bench.rows(7, "a", &[1], false);
    assert_eq!(loads(&next)[0].0, "c");
}

#[test]
fn rows_take_no_more_memory_than_there_is() {
    let mut bench = Bench::deferring();
    bench.machine.options.limits.records = 6;
    bench.assign(7, vec![marker("a", now())], 100);
    let limit = |effects: &[Effect]| {
        let mut sum = 0;
        for effect in effects {
            if let Effect::Load { limit, .. } = effect {
                sum += limit;
            }
        }
        sum
    };
    bench.rows(7, "a", &[], false);
    for slot in 101..=104 {
        bench.arrive(slot, &slot.to_string(), OnUnknown::Resend);
    }
    let effects = bench
        .tell(Event::DeferralChanged {
            partition: PARTITION,
            chat: marker("b", now()),
        })
        .to_vec();
    assert_eq!(limit(&effects), 2);
    let arrived = bench.arrive(105, "x", OnUnknown::Resend).to_vec();
    assert!(arrived.contains(&Effect::Pause(PARTITION)));
}

#[test]
fn a_full_worker_defers_what_its_held_account_has() {
    let mut bench = Bench::deferring();
    bench.machine.options.limits.records = 4;
    bench.machine.limit_account(&Arc::from("slack:other"), 1);
    bench.arrive(1, "a", OnUnknown::Resend);
    bench.grant(1, 1);
    bench.answer(
        1,
        Verdict::Throttled {
            scope: HoldScope::Account,
            wait: Some(Duration::from_secs(20)),
        },
    );
    assert!(defers(bench.grant(1, 2)).is_empty(), "20 s are not long");
    bench.arrive(2, "b", OnUnknown::Resend);
    bench.grant(2, 1);
    bench.arrive(3, "c", OnUnknown::Resend);
    let full = bench.arrive(4, "d", OnUnknown::Resend).to_vec();
    assert!(full.contains(&Effect::Pause(PARTITION)));
    assert_eq!(defers(&full), [(1, true), (2, true)], "others are claimed");
    assert!(
        bench
            .deferred(1, Answer::Done)
            .contains(&Effect::Resume(PARTITION))
    );
}

#[test]
fn a_long_rest_of_an_account_defers_what_waits_and_what_comes() {
    let mut bench = Bench::deferring();
    bench.arrive(1, "a", OnUnknown::Resend);
    bench.arrive(2, "b", OnUnknown::Resend);
    bench.grant(1, 1);
    bench.now = SECOND;
    bench.machine.limit_account(&Arc::from("telegram:main"), 1);
    bench.grant(2, 1);
    let held = bench.answer(
        1,
        Verdict::Throttled {
            scope: HoldScope::Account,
            wait: Some(Duration::from_secs(60)),
        },
    );
    assert_eq!(defers(held), [(2, true)]);
    assert_eq!(defers(bench.grant(1, 2)), [(1, true)]);
    assert_eq!(defers(bench.arrive(3, "c", OnUnknown::Resend)), [(3, true)]);
}

#[test]
fn past_the_bound_of_deferrals_a_chat_waits_in_memory_and_pauses_its_partition() {
    let mut bench = Bench::deferring();
    bench.machine.options.limits.deferred_chats = 0;
    for slot in 1..4 {
        bench.arrive(slot, "a", OnUnknown::Resend);
    }
    assert_eq!(
        bench.arrive(4, "a", OnUnknown::Resend),
        [Effect::Pause(PARTITION)]
    );
    bench.grant(1, 1);
    assert!(defers(&bench.hold(1, MINUTE)).is_empty());
    assert_eq!(claims(bench.at(MINUTE)), [(1, Some(2))]);
}

#[test]
fn a_dead_letter_of_a_type_that_says_so_holds_the_rest_of_its_chat() {
    let mut bench = Bench::deferring();
    for slot in [1, 2] {
        bench.tell(Event::Arrived(Arrival {
            slot: SlotId(slot),
            content: Content::Message(Delivery {
                hold_on_dead: true,
                ..delivery("a")
            }),
            ..row("a", i64::try_from(slot).unwrap())
        }));
    }
    bench.grant(1, 1);
    bench.answer(1, Verdict::Rejected);
    let kept = bench
        .tell(Event::DeadLettered {
            slot: SlotId(1),
            acknowledged: true,
        })
        .to_vec();
    let held = |effect: &Effect| matches!(effect, Effect::Defer { due: Due::Held, .. });
    assert!(kept.iter().all(held), "the hold comes first: {kept:?}");
    let written = bench.deferred(1, Answer::Done);
    assert_eq!(defers(&written), [(2, false)]);
    assert!(written.iter().any(held));
    let settles = |effect: &Effect| matches!(effect, Effect::Settle { .. });
    assert!(written.iter().any(settles));
    bench.deferred(2, Answer::Done);
    bench.recorded(1);
    assert!(!closes(&bench.undeferred(1)), "held");
    assert!(loads(bench.at(1_000 * MINUTE)).is_empty());
    assert_eq!(
        defers(bench.arrive(3, "a", OnUnknown::Resend)),
        [(3, false)]
    );
    let goes_on = bench
        .tell(Event::DeferralChanged {
            partition: PARTITION,
            chat: marker("a", now()),
        })
        .to_vec();
    assert_eq!(loads(&goes_on), [("a".to_owned(), None, 3)]);
}

#[test]
fn a_chat_that_an_operator_gave_up_ends_in_order_without_a_call() {
    let mut bench = Bench::deferring();
    let given_up = DeferredChat {
        give_up: Some(Arc::from("enough")),
        ..marker("a", now())
    };
    bench.assign(7, vec![given_up], 5);
    bench.rows(7, "a", &[1, 2], false);
    for slot in [1_001, 1_002] {
        let effects = bench.grant(slot, 5).to_vec();
        assert!(
            matches!(&effects[..], [Effect::DeadLetter { facts, .. }]
                if facts.category == Category::Exhausted && &*facts.reason == "enough"),
            "{effects:?}"
        );
        bench.tell(Event::DeadLettered {
            slot: SlotId(slot),
            acknowledged: true,
        });
        bench.recorded(slot);
        let gone = bench.undeferred(slot);
        assert_eq!(closes(&gone), slot == 1_002);
    }
    assert!(bench.closed("a", CloseAnswer::Gone).is_empty());
    assert_eq!(claims(bench.arrive(7, "a", OnUnknown::Resend)), [(7, None)]);
}

#[test]
fn an_operators_word_ends_a_wait_in_memory_too() {
    let mut bench = Bench::deferring();
    bench.arrive(1, "a", OnUnknown::Resend);
    bench.grant(1, 1);
    bench.hold(1, 20 * SECOND);
    let effects = bench.tell(Event::DeferralChanged {
        partition: PARTITION,
        chat: marker("a", now()),
    });
    assert_eq!(claims(effects), [(1, Some(2))]);
}

#[test]
fn a_row_whose_schema_is_not_known_keeps_its_place() {
    let mut bench = Bench::deferring();
    bench.assign(7, vec![marker("a", now())], 5);
    let records = vec![
        Arrival {
            content: Content::Waiting,
            ..row("a", 1)
        },
        row("a", 2),
    ];
    let effects = bench.tell(Event::Loaded {
        partition: PARTITION,
        epoch: 7,
        chat: Arc::from("a"),
        records,
        more: false,
    });
    assert!(claims(effects).is_empty());
    let resolved = Event::Resolved {
        slot: SlotId(1_001),
        content: Content::Message(delivery("a")),
    };
    assert_eq!(claims(bench.tell(resolved)), [(1_001, None)]);
}

#[test]
fn a_stale_epoch_ends_everything_of_its_partition() {
    let mut bench = Bench::deferring();
    bench.arrive(1, "a", OnUnknown::Resend);
    bench.arrive(2, "b", OnUnknown::Resend);
    bench.grant(1, 1);
    bench.hold(1, MINUTE);
    let effects = bench.deferred(1, Answer::Fenced);
    assert!(effects.contains(&Effect::FencedPartition(PARTITION)));
    assert!(commits(&effects).is_empty());
    assert_eq!(bench.machine.load().deferred_chats, 0);
}
