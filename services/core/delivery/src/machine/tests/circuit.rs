//! An account's circuit in the machine: what starts, what waits, and what it costs.

use super::*;
use crate::{CircuitOptions, CircuitState};

const MAIN: &str = "telegram:main";

impl Bench {
    /// A machine whose circuits open at the second failure in a row.
    fn with_nervous_circuits() -> Self {
        let mut bench = Self::new();
        bench.machine.options.circuit = CircuitOptions {
            min_outcomes: 2,
            ..CircuitOptions::default()
        };
        bench
    }

    fn fail_two_chats(&mut self) {
        for (slot, chat) in [(1, "a"), (2, "b")] {
            self.arrive(slot, chat, OnUnknown::Resend);
            self.grant(slot, 1);
        }
        self.answer(1, Verdict::Transient);
    }

    /// The claims that are asked for now are granted under the fence 2.
    fn grant_all(&mut self, effects: &[Effect]) -> Vec<Effect> {
        let mut all = Vec::new();
        for (slot, _) in claims(effects) {
            all.extend_from_slice(self.grant(slot, 2));
        }
        all
    }
}

fn circuits(effects: &[Effect]) -> Vec<CircuitState> {
    let mut states = Vec::new();
    for effect in effects {
        if let Effect::Circuit { account, state } = effect {
            assert_eq!(&**account, MAIN);
            states.push(*state);
        }
    }
    states
}

#[test]
fn an_open_circuit_lets_nothing_start_and_its_messages_wait_without_attempts() {
    let mut bench = Bench::with_nervous_circuits();
    bench.fail_two_chats();
    let opened = circuits(bench.answer(2, Verdict::Unknown));
    let wait = Duration::from_secs(5);
    assert_eq!(opened, [CircuitState::Open { wait }]);
    // A chat that is new, and the failed ones when their backoff is over.
    assert!(claims(bench.arrive(3, "c", OnUnknown::Resend)).is_empty());
    bench.grant(1, 2);
    bench.grant(2, 2);
    assert!(bench.at(4 * SECOND).is_empty());
    let probed = bench.at(5 * SECOND).to_vec();
    assert_eq!(circuits(&probed), [CircuitState::HalfOpen]);
    let called = calls(&bench.grant_all(&probed));
    assert_eq!(called.len(), 1, "one probe: {called:?}");
}

#[test]
fn a_probe_that_succeeds_lets_the_others_follow_one_then_two() {
    let mut bench = Bench::with_nervous_circuits();
    bench.fail_two_chats();
    bench.answer(2, Verdict::Transient);
    bench.grant(1, 2);
    bench.grant(2, 2);
    bench.arrive(3, "c", OnUnknown::Resend);
    let probed = bench.at(5 * SECOND).to_vec();
    let called = calls(&bench.grant_all(&probed));
    let [(probe, _)] = called[..] else {
        panic!("one probe: {called:?}");
    };
    let closed = bench.answer(probe, delivered()).to_vec();
    assert_eq!(circuits(&closed), [CircuitState::Closed]);
    let called = calls(&closed).len() + calls(&bench.grant_all(&closed)).len();
    assert_eq!(called, 1, "the ramp begins with one call at once");
}

#[test]
fn a_probe_that_fails_opens_it_for_longer() {
    let mut bench = Bench::with_nervous_circuits();
    bench.fail_two_chats();
    bench.answer(2, Verdict::Transient);
    let probed = bench.at(5 * SECOND).to_vec();
    assert!(
        claims(&probed).is_empty(),
        "both are claimed for their backoff"
    );
    // Their backoff ends with the lease run down: the claim is renewed, then one of them probes.
    bench.grant(1, 2);
    let called = calls(bench.grant(2, 2)).len();
    assert!(called <= 1);
    let answered = bench.answer(1, Verdict::Transient).to_vec();
    let wait = Duration::from_secs(10);
    assert_eq!(circuits(&answered), [CircuitState::Open { wait }]);
}

#[test]
fn what_failed_before_a_call_says_nothing_about_the_platform() {
    let mut bench = Bench::with_nervous_circuits();
    for slot in 1..=6 {
        bench.arrive(slot, &format!("chat {slot}"), OnUnknown::Resend);
        bench.grant(slot, 1);
        let effects = bench.tell(Event::Answered {
            slot: SlotId(slot),
            called: false,
            verdict: Verdict::Transient,
            reason: Arc::from("the store of contents does not answer"),
        });
        assert!(circuits(effects).is_empty());
    }
}

#[test]
fn in_a_limited_account_what_waits_gives_its_permits_back_when_the_circuit_opens() {
    let mut bench = Bench::with_nervous_circuits();
    bench.machine.permit_account(&Arc::from(MAIN), true);
    let mut wanted = Vec::new();
    for (slot, chat) in [(1, "a"), (2, "b"), (3, "c")] {
        for effect in bench.arrive(slot, chat, OnUnknown::Resend) {
            if let Effect::Want { permit, .. } = effect {
                wanted.push(*permit);
            }
        }
        bench.grant(slot, 1);
    }
    for permit in wanted.into_iter().take(2) {
        let from = Moment(0);
        bench.tell(Event::Permitted { permit, from });
    }
    bench.answer(1, Verdict::Transient);
    let opened = bench.answer(2, Verdict::Transient);
    let given_back = |effect: &&Effect| matches!(effect, Effect::Unwant(_));
    assert_eq!(opened.iter().filter(given_back).count(), 1, "{opened:?}");
    assert!(
        bench
            .at(4 * SECOND)
            .iter()
            .all(|effect| !matches!(effect, Effect::Want { .. }))
    );
}

#[test]
fn another_bound_of_calls_holds_at_once() {
    let mut bench = Bench::new();
    let limit = |limit| Event::CallsLimit {
        account: Arc::from(MAIN),
        limit,
    };
    for slot in 1..=4 {
        bench.arrive(slot, &format!("chat {slot}"), OnUnknown::Resend);
        bench.grant(slot, 1);
    }
    // Two of the four are out: that is the bound of the bench.
    assert_eq!(calls(bench.tell(limit(3))).len(), 1);
    assert!(calls(bench.tell(limit(1))).is_empty());
    assert!(calls(bench.answer(1, delivered())).is_empty());
    assert!(calls(bench.answer(2, delivered())).is_empty());
    assert_eq!(calls(bench.answer(3, delivered())), [(4, 1)]);
}

#[test]
fn a_probe_that_did_not_go_out_is_followed_by_another() {
    let mut bench = Bench::with_nervous_circuits();
    bench.fail_two_chats();
    bench.answer(2, Verdict::Transient);
    bench.grant(1, 2);
    bench.grant(2, 2);
    bench.machine.permit_account(&Arc::from(MAIN), true);
    let probed = bench.at(5 * SECOND).to_vec();
    let mut called = Vec::new();
    for effect in [probed.clone(), bench.grant_all(&probed)].concat() {
        if let Effect::Want { permit, .. } = effect {
            let from = Moment(bench.now);
            called.extend_from_slice(bench.tell(Event::Permitted { permit, from }));
        }
    }
    let [
        Effect::Call {
            permit: Some(permit),
            ..
        },
    ] = called[..]
    else {
        panic!("one probe: {called:?}");
    };
    // The place is free for whoever has a permit: for the other one, or for this one with its next.
    let next = bench.tell(Event::NotCalled(permit)).to_vec();
    let mut again = calls(&next).len();
    for effect in next {
        if let Effect::Want { permit, .. } = effect {
            let from = Moment(bench.now);
            again += calls(bench.tell(Event::Permitted { permit, from })).len();
        }
    }
    assert_eq!(again, 1);
}
