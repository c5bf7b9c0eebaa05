//! Refused credentials in the machine.

use super::*;

fn told(effects: &[Effect]) -> (usize, usize) {
    let broken = |effect: &&Effect| matches!(effect, Effect::AccountBroken { .. });
    let mended = |effect: &&Effect| matches!(effect, Effect::AccountMended(_));
    (
        effects.iter().filter(broken).count(),
        effects.iter().filter(mended).count(),
    )
}

impl Bench {
    /// A message arrives and is refused as often as it takes; the time after the last refusal.
    fn stop_the_account(&mut self) {
        self.arrive(1, "a", OnUnknown::Resend);
        self.grant(1, 1);
        assert_eq!(told(self.answer(1, Verdict::AuthBroken)), (0, 0), "S11");
        for (round, stops) in [(1, 0), (2, 1)] {
            self.wake_and_claim(round * SECOND);
            assert_eq!(told(self.answer(1, Verdict::AuthBroken)), (stops, 0));
        }
    }

    /// The refused message's wait ends at `micros`.
    fn wake_and_claim(&mut self, micros: u64) {
        self.grant(1, 2);
        let woken = self.at(micros).to_vec();
        assert!(
            !claims(&woken).is_empty() || !calls(&woken).is_empty(),
            "{woken:?}"
        );
        self.grant(1, 2);
    }
}

#[test]
fn several_refusals_in_a_row_stop_the_account_without_attempts_and_tell_once() {
    let mut bench = Bench::new();
    bench.stop_the_account();
    bench.grant(1, 3);
    bench.arrive(2, "b", OnUnknown::Resend);
    bench.grant(2, 1);
    assert!(calls(bench.at(31 * SECOND)).len() <= 1, "a look");
    let other = bench.tell(Event::CredentialChanged(Arc::from("telegram:other")));
    assert_eq!(told(other), (0, 0));
}

#[test]
fn refusals_of_calls_that_went_out_together_are_one() {
    let mut bench = Bench::new();
    for (slot, chat) in [(1, "a"), (2, "b")] {
        bench.arrive(slot, chat, OnUnknown::Resend);
        bench.grant(slot, 1);
    }
    bench.machine.options.retries.refusals_to_stop = 2;
    assert_eq!(told(bench.answer(1, Verdict::AuthBroken)), (0, 0));
    assert_eq!(told(bench.answer(2, Verdict::AuthBroken)), (0, 0));
}

#[test]
fn another_credential_lets_it_go_on_at_once_and_no_attempt_was_counted() {
    let mut bench = Bench::new();
    bench.stop_the_account();
    bench.grant(1, 3);
    bench.now += SECOND / 10;
    let changed = Event::CredentialChanged(Arc::from("telegram:main"));
    assert_eq!(told(bench.tell(changed)), (0, 1));
    let now = bench.now;
    let woken = bench.at(now).to_vec();
    assert_eq!(claims(&woken), [(1, Some(3))]);
    assert_eq!(calls(bench.grant(1, 4)).len(), 1);
    assert!(matches!(
        bench.answer(1, delivered())[..],
        [Effect::Settle { attempts: 1, .. }]
    ));
}

#[test]
fn a_look_that_succeeds_lets_it_go_on() {
    let mut bench = Bench::new();
    bench.stop_the_account();
    bench.grant(1, 3);
    bench.at(40 * SECOND);
    bench.grant(1, 4);
    assert_eq!(told(bench.answer(1, delivered())), (0, 1));
}

#[test]
fn an_accepted_message_between_refusals_begins_the_count_anew() {
    let mut bench = Bench::new();
    for round in 0..6 {
        let slot = round + 1;
        bench.arrive(slot, &format!("chat {slot}"), OnUnknown::Resend);
        bench.now += 2 * SECOND;
        bench.grant(slot, 1);
        let now = bench.now;
        bench.at(now);
        let verdict = if round % 2 == 0 {
            Verdict::AuthBroken
        } else {
            delivered()
        };
        assert_eq!(told(bench.answer(slot, verdict)), (0, 0));
    }
}

#[test]
fn a_stopped_account_looks_with_one_message() {
    let mut bench = Bench::new();
    bench.stop_the_account();
    bench.grant(1, 3);
    for (slot, chat) in [(2, "b"), (3, "c"), (4, "d")] {
        bench.arrive(slot, chat, OnUnknown::Resend);
    }
    let mut called = calls(bench.at(40 * SECOND)).len();
    for slot in 1..=4 {
        called += calls(bench.grant(slot, 4)).len();
    }
    assert_eq!(called, 1);
}
