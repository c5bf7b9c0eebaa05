mod broken;
mod circuit;
mod deferral;
mod hold_back;
mod targets;

use std::sync::Arc;
use std::time::Duration;

use tidings_platforms::{HoldScope, Verdict};

use crate::{
    Answer, Arrival, Category, ClaimOutcome, Class, Content, Delivery, Effect, Event, Grant,
    Limits, Machine, Moment, Now, OnUnknown, Options, Outcome, PartitionId, Poison, RetryName,
    RetryProfiles, Settlement, SlotId, Timing,
};

const PARTITION: PartitionId = PartitionId {
    lane: 0,
    partition: 0,
};
const SECOND: u64 = 1_000_000;

/// A machine at a moment, and what it wanted done last.
struct Bench {
    machine: Machine,
    now: u64,
    effects: Vec<Effect>,
}

impl Bench {
    fn new() -> Self {
        let machine = Machine::new(Options {
            limits: Limits {
                records: 8,
                bytes: 10_000,
                records_per_chat: 4,
                load_batch: 100,
                loads: 2,
                deferred_chats: 100,
                calls: 4,
                calls_per_account: 2,
            },
            timing: Timing {
                call_deadline: Duration::from_secs(2),
                lease: Duration::from_secs(5),
                lease_margin: Duration::from_secs(1),
                storage_retry: Duration::from_millis(100),
                hold_in_memory: Duration::from_secs(3_600),
            },
            retries: RetryProfiles::default(),
            circuit: crate::CircuitOptions::default(),
            dead_letter_limit: crate::DeadLetterLimitOptions::default(),
            targets: crate::TargetOptions::default(),
            seed: 1,
        });
        let mut bench = Self {
            machine,
            now: 0,
            effects: Vec::new(),
        };
        bench.tell(Event::Assigned {
            partition: PARTITION,
            epoch: 7,
            deferred: Vec::new(),
        });
        bench
    }

    fn tell(&mut self, event: Event) -> &[Effect] {
        let now = Now {
            moment: Moment(self.now),
            wall_micros: i64::try_from(self.now).unwrap(),
        };
        self.effects.clear();
        self.machine.handle(event, now, &mut self.effects);
        &self.effects
    }

    fn at(&mut self, micros: u64) -> &[Effect] {
        self.now = micros;
        self.tell(Event::Tick)
    }

    fn arrive(&mut self, slot: u64, chat: &str, on_unknown: OnUnknown) -> &[Effect] {
        self.arrive_with(slot, chat, on_unknown, None)
    }

    fn arrive_with(
        &mut self,
        slot: u64,
        chat: &str,
        on_unknown: OnUnknown,
        expires_at_micros: Option<i64>,
    ) -> &[Effect] {
        self.tell(Event::Arrived(Arrival {
            slot: SlotId(slot),
            partition: PARTITION,
            offset: i64::try_from(slot).unwrap(),
            bytes: 1,
            content: Content::Message(Delivery {
                chat: Arc::from(chat),
                account: Arc::from("telegram:main"),
                thread: None,
                event_type: Arc::from("order.shipped"),
                expires_at_micros,
                class: Class::Normal,
                on_unknown,
                retry: RetryName::Interactive,
                hold_on_dead: false,
            }),
        }))
    }

    fn grant(&mut self, slot: u64, fence: i64) -> &[Effect] {
        self.grant_with(slot, fence, false)
    }

    fn grant_with(&mut self, slot: u64, fence: i64, started_before: bool) -> &[Effect] {
        let asked_at = Moment(self.now);
        self.tell(Event::Claimed {
            slot: SlotId(slot),
            asked_at,
            outcome: ClaimOutcome::Granted(Grant {
                fence,
                attempts: 0,
                first_failed_at_micros: None,
                started_before,
            }),
        })
    }

    fn answer(&mut self, slot: u64, verdict: Verdict) -> &[Effect] {
        self.tell(Event::Answered {
            slot: SlotId(slot),
            called: true,
            verdict,
            reason: Arc::from("why"),
        })
    }

    fn recorded(&mut self, slot: u64) -> &[Effect] {
        self.tell(Event::Recorded {
            slot: SlotId(slot),
            answer: Answer::Done,
        })
    }
}

fn delivered() -> Verdict {
    Verdict::Delivered {
        platform_message_id: Some("9".into()),
    }
}

fn claims(effects: &[Effect]) -> Vec<(u64, Option<i64>)> {
    let mut claims = Vec::new();
    for effect in effects {
        if let Effect::Claim { slot, renew, .. } = effect {
            claims.push((slot.0, *renew));
        }
    }
    claims
}

fn calls(effects: &[Effect]) -> Vec<(u64, u32)> {
    let mut calls = Vec::new();
    for effect in effects {
        if let Effect::Call { slot, call, .. } = effect {
            calls.push((slot.0, *call));
        }
    }
    calls
}

#[test]
fn one_message_from_arrival_to_commit() {
    let mut bench = Bench::new();
    assert_eq!(claims(bench.arrive(1, "a", OnUnknown::Resend)), [(1, None)]);
    assert_eq!(calls(bench.grant(1, 1)), [(1, 1)]);
    assert!(matches!(
        bench.answer(1, delivered()),
        [Effect::Settle {
            settlement: Settlement::Delivered,
            attempts: 1,
            call: 1,
            ..
        }]
    ));
    assert_eq!(
        bench.recorded(1),
        [
            Effect::Commit {
                partition: PARTITION,
                offset: 2
            },
            Effect::Finish {
                slot: SlotId(1),
                outcome: Outcome::Settled(Settlement::Delivered),
                attempts: 1
            }
        ]
    );
}

#[test]
fn a_chat_moves_only_when_the_end_before_is_recorded_and_other_chats_do_not_wait() {
    let mut bench = Bench::new();
    bench.arrive(1, "a", OnUnknown::Resend);
    assert!(bench.arrive(2, "a", OnUnknown::Resend).is_empty());
    assert_eq!(claims(bench.arrive(3, "b", OnUnknown::Resend)), [(3, None)]);
    bench.grant(1, 1);
    assert!(claims(bench.answer(1, delivered())).is_empty());
    assert_eq!(claims(bench.recorded(1)), [(2, None)]);
}

#[test]
fn a_failed_attempt_is_written_at_once_and_tried_again_when_its_wait_is_over() {
    let mut bench = Bench::new();
    bench.arrive(1, "a", OnUnknown::Resend);
    bench.grant(1, 1);
    let effects = bench.answer(1, Verdict::Transient);
    assert!(
        matches!(
            effects,
            [Effect::Claim {
                renew: Some(1),
                attempts: 1,
                ..
            }]
        ),
        "{effects:?}"
    );
    assert!(bench.grant(1, 2).is_empty(), "the wait of 0.5 s has begun");
    assert!(bench.at(SECOND / 4).is_empty());
    assert_eq!(claims(bench.at(SECOND / 2)), [(1, Some(2))]);
    assert_eq!(calls(bench.grant(1, 3)), [(1, 2)]);
}

#[test]
fn a_hint_holds_without_burning_an_attempt() {
    let mut bench = Bench::new();
    bench.arrive(1, "a", OnUnknown::Resend);
    bench.grant(1, 1);
    let effects = bench.answer(
        1,
        Verdict::Throttled {
            scope: HoldScope::Chat,
            wait: Some(Duration::from_secs(9)),
        },
    );
    assert!(
        matches!(effects, [Effect::Claim { attempts: 0, .. }]),
        "{effects:?}"
    );
    bench.grant(1, 2);
    assert!(bench.at(8 * SECOND).is_empty());
    assert_eq!(claims(bench.at(9 * SECOND)), [(1, Some(2))]);
}

#[test]
fn no_call_starts_on_the_rest_of_a_lease() {
    let mut bench = Bench::new();
    bench.arrive(1, "a", OnUnknown::Resend);
    bench.now = 2 * SECOND;
    let late = Event::Claimed {
        slot: SlotId(1),
        asked_at: Moment(0),
        outcome: ClaimOutcome::Granted(Grant {
            fence: 1,
            attempts: 0,
            first_failed_at_micros: None,
            started_before: false,
        }),
    };
    // 5 s of lease, 2 s gone: 3 s are left, and the deadline with its margin takes all of them.
    assert_eq!(claims(bench.tell(late)), [(1, Some(1))]);
}

#[test]
fn under_park_started_comes_before_the_call_and_a_found_one_is_parked() {
    let mut bench = Bench::new();
    bench.arrive(1, "a", OnUnknown::Park);
    assert_eq!(
        bench.grant(1, 1),
        [Effect::Start {
            slot: SlotId(1),
            fence: 1
        }]
    );
    let started = Event::Started {
        slot: SlotId(1),
        answer: Answer::Done,
    };
    assert_eq!(calls(bench.tell(started)), [(1, 1)]);

    bench.arrive(2, "b", OnUnknown::Park);
    let effects = bench.grant_with(2, 4, true);
    assert!(
        matches!(effects, [Effect::DeadLetter { facts, .. }] if facts.category == Category::Unknown),
        "{effects:?}"
    );
}

#[test]
fn expired_is_settled_without_a_call() {
    let mut bench = Bench::new();
    bench.now = SECOND;
    bench.arrive_with(1, "a", OnUnknown::Resend, Some(5));
    let effects = bench.grant(1, 1);
    assert!(
        matches!(
            effects,
            [Effect::Settle {
                settlement: Settlement::Expired,
                ..
            }]
        ),
        "{effects:?}"
    );
}

#[test]
fn poison_needs_no_chat_and_no_claim() {
    let mut bench = Bench::new();
    let effects = bench.tell(Event::Arrived(Arrival {
        slot: SlotId(1),
        partition: PARTITION,
        offset: 1,
        bytes: 1,
        content: Content::Poison(Poison {
            reason: Arc::from("bad bytes"),
        }),
    }));
    assert!(
        matches!(effects, [Effect::DeadLetter { .. }]),
        "{effects:?}"
    );
    let acknowledged = Event::DeadLettered {
        slot: SlotId(1),
        acknowledged: true,
    };
    assert!(bench.tell(acknowledged).contains(&Effect::Commit {
        partition: PARTITION,
        offset: 2
    }));
}

#[test]
fn a_revocation_hands_over_what_waits_with_its_count_and_finishes_what_is_out() {
    let mut bench = Bench::new();
    bench.arrive(1, "a", OnUnknown::Resend);
    bench.grant(1, 1);
    bench.arrive(2, "b", OnUnknown::Resend);
    bench.grant(2, 1);
    bench.answer(2, Verdict::Transient);
    bench.grant(2, 2);
    let effects = bench.tell(Event::Revoked(PARTITION)).to_vec();
    assert!(effects.contains(&Effect::Release {
        slot: SlotId(2),
        fence: 2,
        attempts: 1,
        first_failed_at_micros: Some(0)
    }));
    assert!(!effects.contains(&Effect::Drained(PARTITION)));
    bench.answer(1, delivered());
    assert_eq!(bench.recorded(1).last(), Some(&Effect::Drained(PARTITION)));
}

#[test]
fn a_full_worker_pauses_and_resumes_with_room() {
    let mut bench = Bench::new();
    for slot in 1..8 {
        assert!(
            !bench
                .arrive(slot, &slot.to_string(), OnUnknown::Resend)
                .contains(&Effect::Pause(PARTITION))
        );
    }
    assert!(
        bench
            .arrive(8, "8", OnUnknown::Resend)
            .contains(&Effect::Pause(PARTITION))
    );
    bench.grant(1, 1);
    bench.grant(2, 1);
    for slot in [1, 2] {
        bench.answer(slot, delivered());
    }
    assert!(!bench.recorded(1).contains(&Effect::Resume(PARTITION)));
    assert!(bench.recorded(2).contains(&Effect::Resume(PARTITION)));
}

#[test]
fn an_account_calls_within_its_bound_and_its_own_comes_first() {
    let mut bench = Bench::new();
    bench.machine.limit_account(&Arc::from("telegram:main"), 1);
    for slot in [1, 2] {
        bench.arrive(slot, &slot.to_string(), OnUnknown::Resend);
    }
    assert_eq!(calls(bench.grant(1, 1)), [(1, 1)]);
    assert!(bench.grant(2, 1).is_empty());
    assert_eq!(calls(bench.answer(1, delivered())), [(2, 1)]);
}

#[test]
fn a_chat_that_moves_on_and_on_ends_as_unrecognised() {
    let mut bench = Bench::new();
    bench.arrive(1, "a", OnUnknown::Resend);
    let mut seen = Vec::new();
    for fence in 1..20 {
        seen = bench.grant(1, fence).to_vec();
        if calls(&seen).is_empty() {
            let due = bench.machine.next_timer().unwrap_or(Moment(bench.now));
            seen = bench.at(due.0).to_vec();
        } else {
            let moved = Verdict::Migrated {
                new_chat_id: "-100".into(),
            };
            seen = bench.answer(1, moved).to_vec();
        }
        if seen
            .iter()
            .any(|effect| matches!(effect, Effect::DeadLetter { .. }))
        {
            break;
        }
    }
    assert!(
        matches!(&seen[..], [Effect::DeadLetter { facts, .. }] if facts.category == Category::Unrecognised),
        "{seen:?}"
    );
}

mod limited {
    //! Accounts whose calls need permits.

    use super::*;
    use crate::PermitId;

    fn bench() -> Bench {
        let mut bench = Bench::new();
        bench
            .machine
            .permit_account(&Arc::from("telegram:main"), true);
        bench
    }

    fn wanted(effects: &[Effect]) -> PermitId {
        for effect in effects {
            if let Effect::Want { permit, .. } = effect {
                return *permit;
            }
        }
        panic!("no permit is wanted: {effects:?}");
    }

    fn unwanted(effects: &[Effect]) -> Vec<PermitId> {
        let mut unwanted = Vec::new();
        for effect in effects {
            if let Effect::Unwant(permit) = effect {
                unwanted.push(*permit);
            }
        }
        unwanted
    }

    impl Bench {
        fn permit(&mut self, permit: PermitId, from: u64) -> &[Effect] {
            self.tell(Event::Permitted {
                permit,
                from: Moment(from),
            })
        }
    }

    #[test]
    fn permit_and_claim_are_asked_for_together_and_the_call_waits_for_both() {
        let mut bench = bench();
        let effects = bench.arrive(1, "a", OnUnknown::Resend).to_vec();
        let permit = wanted(&effects);
        assert_eq!(claims(&effects), [(1, None)]);
        assert!(calls(bench.permit(permit, 0)).is_empty(), "not claimed yet");
        assert!(
            matches!(bench.grant(1, 1), [Effect::Call { permit: Some(used), .. }] if *used == permit)
        );
    }

    #[test]
    fn a_call_waits_for_the_moment_that_its_permit_begins_at() {
        let mut bench = bench();
        let permit = wanted(bench.arrive(1, "a", OnUnknown::Resend));
        bench.grant(1, 1);
        assert!(bench.permit(permit, SECOND / 4).is_empty());
        assert_eq!(bench.machine.next_timer(), Some(Moment(SECOND / 4)));
        assert!(calls(bench.at(SECOND / 4 - 1)).is_empty());
        assert_eq!(calls(bench.at(SECOND / 4)), [(1, 1)]);
    }

    #[test]
    fn what_parks_commits_started_while_the_moment_comes() {
        let mut bench = bench();
        let permit = wanted(bench.arrive(1, "a", OnUnknown::Park));
        bench.grant(1, 1);
        assert!(bench.permit(permit, SECOND / 4).is_empty(), "too early");
        assert!(matches!(
            bench.at(SECOND / 4 - 30_000),
            [Effect::Start { .. }]
        ));
        let started = Event::Started {
            slot: SlotId(1),
            answer: Answer::Done,
        };
        assert!(bench.tell(started).is_empty());
        assert_eq!(calls(bench.at(SECOND / 4)), [(1, 1)]);
    }

    #[test]
    fn a_permit_that_is_void_before_its_moment_starts_nothing() {
        let mut bench = bench();
        let permit = wanted(bench.arrive(1, "a", OnUnknown::Resend));
        bench.grant(1, 1);
        bench.permit(permit, SECOND / 4);
        bench.tell(Event::Voided(permit));
        assert!(bench.at(SECOND / 4).is_empty());
        assert_eq!(calls(bench.permit(permit, SECOND / 4)), [(1, 1)]);
    }

    #[test]
    fn a_last_look_that_says_no_keeps_the_claim_burns_no_attempt_and_asks_anew() {
        let mut bench = bench();
        let permit = wanted(bench.arrive(1, "a", OnUnknown::Resend));
        bench.grant(1, 1);
        bench.permit(permit, 0);
        let effects = bench.tell(Event::NotCalled(permit)).to_vec();
        let next = wanted(&effects);
        assert_ne!(next, permit);
        assert_eq!(unwanted(&effects), [permit]);
        assert!(claims(&effects).is_empty());
        assert_eq!(calls(bench.permit(next, 0)), [(1, 1)]);
        assert!(matches!(
            bench.answer(1, delivered()),
            [Effect::Settle { attempts: 1, .. }]
        ));
    }

    #[test]
    fn a_429_goes_to_the_shared_limit_and_the_message_asks_again() {
        let mut bench = bench();
        let permit = wanted(bench.arrive(1, "a", OnUnknown::Resend));
        bench.grant(1, 1);
        bench.permit(permit, 0);
        let throttled = Verdict::Throttled {
            scope: HoldScope::Chat,
            wait: Some(Duration::from_secs(7)),
        };
        let effects = bench.answer(1, throttled).to_vec();
        assert!(matches!(
            effects[0],
            Effect::Penalise { scope: HoldScope::Chat, wait, .. } if wait >= Duration::from_secs(7)
        ));
        assert_eq!(claims(&effects), [(1, Some(1))], "{effects:?}");
        assert_ne!(wanted(bench.grant(1, 2)), permit);
    }

    #[test]
    fn a_chat_that_waits_for_long_gives_its_place_back_and_is_looked_at_again() {
        let mut bench = bench();
        let permit = wanted(bench.arrive(1, "a", OnUnknown::Resend));
        bench.grant(1, 1);
        let wait = Duration::from_secs(30);
        let effects = bench.tell(Event::ChatWaits { permit, wait }).to_vec();
        assert_eq!(unwanted(&effects), [permit]);
        assert_ne!(wanted(bench.at(2 * SECOND)), permit);
    }

    #[test]
    fn a_full_queue_of_one_class_takes_no_place_of_another() {
        let mut bench = bench();
        for slot in 1..=6 {
            bench.arrive(slot, &format!("chat {slot}"), OnUnknown::Resend);
        }
        let high = Event::Arrived(Arrival {
            slot: SlotId(7),
            partition: PARTITION,
            offset: 7,
            bytes: 1,
            content: Content::Message(Delivery {
                chat: Arc::from("high"),
                account: Arc::from("telegram:main"),
                thread: None,
                event_type: Arc::from("order.shipped"),
                expires_at_micros: None,
                class: Class::High,
                on_unknown: OnUnknown::Resend,
                retry: RetryName::Interactive,
                hold_on_dead: false,
            }),
        });
        let effects = bench.tell(high).to_vec();
        assert!(
            matches!(
                effects[..],
                [
                    Effect::Want {
                        class: Class::High,
                        ..
                    },
                    Effect::Claim { .. }
                ]
            ),
            "{effects:?}"
        );
    }

    #[test]
    fn what_leaves_gives_its_permit_back() {
        let mut bench = bench();
        let permit = wanted(bench.arrive(1, "a", OnUnknown::Resend));
        bench.grant(1, 1);
        assert_eq!(unwanted(bench.tell(Event::Revoked(PARTITION))), [permit]);
    }

    #[test]
    fn what_parks_waits_for_its_next_permit_with_started_committed() {
        let mut bench = bench();
        let permit = wanted(bench.arrive(1, "a", OnUnknown::Park));
        bench.grant(1, 1);
        bench.permit(permit, 0);
        bench.tell(Event::Started {
            slot: SlotId(1),
            answer: Answer::Done,
        });
        let next = wanted(bench.tell(Event::NotCalled(permit)));
        assert_eq!(
            calls(bench.permit(next, 0)),
            [(1, 1)],
            "no second `started`"
        );
        let next = wanted(bench.tell(Event::NotCalled(next)));
        assert_eq!(bench.machine.next_timer(), Some(Moment(SECOND)));
        let effects = bench.at(SECOND).to_vec();
        assert_eq!(
            unwanted(&effects),
            [next],
            "the place to call is kept for a second"
        );
        let due = bench.machine.next_timer().unwrap();
        assert_eq!(
            claims(bench.at(due.0)),
            [(1, Some(1))],
            "the renewal takes it back"
        );
    }

    #[test]
    fn what_expires_while_it_waits_ends_then_and_spends_no_permit() {
        let mut bench = bench();
        let expires_at = i64::try_from(SECOND).unwrap();
        let permit = wanted(bench.arrive_with(1, "a", OnUnknown::Resend, Some(expires_at)));
        bench.grant(1, 1);
        let effects = bench.at(SECOND).to_vec();
        assert!(
            matches!(
                effects[..],
                [Effect::Unwant(given_back), Effect::Settle { settlement: Settlement::Expired, .. }] if given_back == permit
            ),
            "{effects:?}"
        );
    }

    #[test]
    fn a_chat_that_waits_is_looked_at_without_a_statement() {
        let mut bench = bench();
        let permit = wanted(bench.arrive(1, "a", OnUnknown::Resend));
        bench.grant(1, 1);
        let wait = Duration::from_secs(30);
        bench.tell(Event::ChatWaits { permit, wait });
        let effects = bench.at(2 * SECOND).to_vec();
        let next = wanted(&effects);
        assert!(claims(&effects).is_empty());
        assert_eq!(claims(bench.permit(next, 2 * SECOND)), [(1, Some(1))]);
    }

    #[test]
    fn a_slot_is_woken_at_the_last_moment_that_was_set() {
        let mut bench = bench();
        let permit = wanted(bench.arrive(1, "a", OnUnknown::Resend));
        bench.grant(1, 1);
        bench.permit(permit, SECOND / 4);
        bench.tell(Event::Voided(permit));
        bench.permit(permit, SECOND / 2);
        assert_eq!(bench.machine.next_timer(), Some(Moment(SECOND / 2)));
    }
}
