//! Dead letters of one event type, limited, in the machine.

use super::*;
use crate::{DeadLetterHold, DeadLetterLimitOptions};

impl Bench {
    /// A machine that holds back from the second dead letter on.
    fn with_a_low_limit() -> Self {
        let mut bench = Self::new();
        // What waits longer is deferred, and comes back as another slot: see `held_with_its_type`.
        bench.machine.options.timing.hold_in_memory = Duration::from_secs(3_600);
        bench.machine.options.dead_letter_limit = DeadLetterLimitOptions {
            min_outcomes: 2,
            ..DeadLetterLimitOptions::default()
        };
        bench
    }

    /// A message arrives, is claimed and refused.
    fn refuse_one(&mut self, slot: u64, chat: &str) -> Vec<Effect> {
        self.arrive(slot, chat, OnUnknown::Resend);
        self.grant(slot, 1);
        self.answer(slot, Verdict::Rejected).to_vec()
    }
}

fn dead_letters(effects: &[Effect]) -> usize {
    let is_one = |effect: &&Effect| matches!(effect, Effect::DeadLetter { .. });
    effects.iter().filter(is_one).count()
}

fn holds(effects: &[Effect]) -> Vec<DeadLetterHold> {
    let mut holds = Vec::new();
    for effect in effects {
        if let Effect::DeadLettersHeld { hold, .. } = effect {
            holds.push(*hold);
        }
    }
    holds
}

#[test]
fn what_would_be_one_dead_letter_too_many_waits_with_its_chat_and_goes_out_once_the_cause_is_gone()
{
    let mut bench = Bench::with_a_low_limit();
    assert_eq!(dead_letters(&bench.refuse_one(1, "a")), 1);
    let held = bench.refuse_one(2, "b");
    assert_eq!(dead_letters(&held), 0);
    let wait = Duration::from_secs(60);
    let category = Category::Rejected;
    assert_eq!(holds(&held), [DeadLetterHold::Began { category, wait }]);
    bench.grant(2, 2);
    let also_held = bench.refuse_one(3, "c");
    assert!(dead_letters(&also_held) == 0 && holds(&also_held).is_empty());
    bench.grant(3, 2);
    assert!(claims(bench.arrive(4, "c", OnUnknown::Resend)).is_empty());

    let probed = claims(bench.at(60 * SECOND));
    assert_eq!(probed, [(2, Some(2))], "one of them probes");
    assert_eq!(calls(bench.grant(2, 3)), [(2, 2)]);
    let delivered = bench.answer(2, delivered()).to_vec();
    assert_eq!(holds(&delivered), [DeadLetterHold::Ended]);
    assert_eq!(claims(bench.at(60 * SECOND)), [(3, Some(2))]);
}

#[test]
fn a_probe_that_fails_again_waits_on_and_costs_one_call() {
    let mut bench = Bench::with_a_low_limit();
    bench.refuse_one(1, "a");
    for (slot, chat) in [(2, "b"), (3, "c")] {
        bench.refuse_one(slot, chat);
        bench.grant(slot, 2);
    }
    bench.at(60 * SECOND);
    bench.grant(2, 3);
    let wait = Duration::from_secs(120);
    let category = Category::Rejected;
    let again = bench.answer(2, Verdict::Rejected);
    assert_eq!(holds(again), [DeadLetterHold::GoesOn { category, wait }]);
    bench.grant(2, 4);
    assert!(claims(bench.at(119 * SECOND)).is_empty());
}

#[test]
fn what_was_tried_before_this_worker_had_it_waits_with_its_type() {
    let mut bench = Bench::with_a_low_limit();
    bench.refuse_one(1, "a");
    bench.refuse_one(2, "b");
    bench.arrive(3, "c", OnUnknown::Resend);
    let tried = Event::Claimed {
        slot: SlotId(3),
        asked_at: Moment(bench.now),
        outcome: ClaimOutcome::Granted(Grant {
            fence: 5,
            attempts: 1,
            first_failed_at_micros: Some(0),
            started_before: false,
        }),
    };
    assert!(calls(bench.tell(tried)).is_empty());
    // A new one goes: it may be the proof that the cause is gone.
    bench.arrive(4, "d", OnUnknown::Resend);
    assert_eq!(calls(bench.grant(4, 1)), [(4, 1)]);
}

#[test]
fn what_may_have_been_posted_is_never_held_back_for_another_try() {
    let mut bench = Bench::with_a_low_limit();
    for slot in 1..=4 {
        bench.arrive(slot, &format!("chat {slot}"), OnUnknown::Park);
        bench.grant(slot, 1);
        bench.tell(Event::Started {
            slot: SlotId(slot),
            answer: Answer::Done,
        });
        assert_eq!(dead_letters(bench.answer(slot, Verdict::Unknown)), 1);
    }
}
