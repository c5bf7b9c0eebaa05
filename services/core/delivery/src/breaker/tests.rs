use super::*;

const BOUND: usize = 8;
const SECOND: u64 = 1_000_000;

fn options() -> CircuitOptions {
    CircuitOptions::default()
}

fn tell(breaker: &mut Breaker, sign: Sign, at: u64) -> Option<CircuitState> {
    let ticket = breaker.start();
    breaker.record(ticket, sign, BOUND, Moment(at), &options())
}

/// Opened by as many failures as it takes, at the moment 0.
fn opened() -> Breaker {
    let mut breaker = Breaker::default();
    let mut changes = (0..20).filter_map(|_| tell(&mut breaker, Sign::Fails, 0));
    assert_eq!(
        changes.next(),
        Some(CircuitState::Open {
            wait: options().wait
        })
    );
    assert_eq!(changes.next(), None);
    breaker
}

#[test]
fn half_of_the_newest_failed_opens_it_and_a_few_do_not() {
    let mut breaker = Breaker::default();
    for _ in 0..19 {
        assert_eq!(tell(&mut breaker, Sign::Fails, 0), None);
    }
    let mut breaker = Breaker::default();
    for _ in 0..200 {
        assert_eq!(tell(&mut breaker, Sign::Works, 0), None);
    }
    for _ in 0..99 {
        assert_eq!(tell(&mut breaker, Sign::Fails, 0), None);
    }
    assert!(matches!(
        tell(&mut breaker, Sign::Fails, 0),
        Some(CircuitState::Open { .. })
    ));
}

#[test]
fn refusals_and_strange_answers_never_open_it() {
    let mut breaker = Breaker::default();
    for _ in 0..300 {
        assert_eq!(tell(&mut breaker, Sign::Unclear, 0), None);
        assert_eq!(tell(&mut breaker, Sign::Works, 0), None);
    }
}

#[test]
fn nothing_starts_while_it_is_open_and_one_probe_at_once_after_it() {
    let mut breaker = opened();
    assert!(!breaker.may_start(0, BOUND, &options()));
    assert_eq!(breaker.look(Moment(5 * SECOND - 1)), None);
    assert_eq!(
        breaker.look(Moment(5 * SECOND)),
        Some(CircuitState::HalfOpen)
    );
    // Three calls of the time before are still out.
    assert!(breaker.may_start(3, BOUND, &options()));
    let probe = breaker.start();
    assert!(!breaker.may_start(4, BOUND, &options()));
    breaker.withdraw(probe);
    assert!(breaker.may_start(3, BOUND, &options()));
}

#[test]
fn each_failed_probe_doubles_the_wait_to_its_bound() {
    let mut breaker = opened();
    let mut waits = Vec::new();
    let mut now = Moment::default();
    for _ in 0..6 {
        now = breaker.opens_until().unwrap();
        assert_eq!(breaker.look(now), Some(CircuitState::HalfOpen));
        let ticket = breaker.start();
        let change = breaker.record(ticket, Sign::Fails, BOUND, now, &options());
        let Some(CircuitState::Open { wait }) = change else {
            panic!("{change:?}");
        };
        waits.push(wait.as_secs());
    }
    assert_eq!(waits, [10, 20, 40, 60, 60, 60]);
    assert!(now > Moment::default());
}

#[test]
fn what_started_before_says_nothing_about_the_time_after() {
    let mut breaker = Breaker::default();
    let old = breaker.start();
    for _ in 0..20 {
        tell(&mut breaker, Sign::Fails, 0);
    }
    assert_eq!(
        breaker.record(old, Sign::Works, BOUND, Moment(1), &options()),
        None
    );
    breaker.look(Moment(5 * SECOND));
    assert_eq!(
        breaker.record(old, Sign::Works, BOUND, Moment(5 * SECOND), &options()),
        None
    );
    breaker.withdraw(old);
    let probe = breaker.start();
    assert!(!breaker.may_start(1, BOUND, &options()));
    assert_eq!(
        breaker.record(probe, Sign::Works, BOUND, Moment(6 * SECOND), &options()),
        Some(CircuitState::Closed)
    );
}

/// Closed by a probe at the moment 5 s.
fn closed() -> Breaker {
    let mut breaker = opened();
    breaker.look(Moment(5 * SECOND));
    assert_eq!(
        tell(&mut breaker, Sign::Works, 5 * SECOND),
        Some(CircuitState::Closed)
    );
    breaker
}

#[test]
fn after_it_closed_calls_at_once_double_with_each_step_of_success_up_to_the_bound() {
    let mut breaker = closed();
    let mut places = vec![breaker.places(BOUND, &options())];
    for tenth in 1..=40 {
        tell(&mut breaker, Sign::Works, 5 * SECOND + tenth * SECOND / 10);
        places.push(breaker.places(BOUND, &options()));
    }
    places.dedup();
    assert_eq!(places, [1, 2, 4, 8]);
    assert!(matches!(breaker.state, State::Closed));
    // It has come back fully, so its next outage begins with the least wait.
    for _ in 0..200 {
        tell(&mut breaker, Sign::Fails, 60 * SECOND);
    }
    assert_eq!(breaker.opens_until(), Some(Moment(65 * SECOND)));
}

#[test]
fn a_platform_that_falls_back_in_the_ramp_is_left_alone_at_once_and_for_longer() {
    let mut breaker = closed();
    assert_eq!(
        tell(&mut breaker, Sign::Fails, 6 * SECOND),
        Some(CircuitState::Open {
            wait: Duration::from_secs(10)
        })
    );
}

#[test]
fn an_idle_account_takes_no_step() {
    let mut breaker = closed();
    assert_eq!(breaker.places(BOUND, &options()), 1);
    tell(&mut breaker, Sign::Unclear, 90 * SECOND);
    assert_eq!(breaker.places(BOUND, &options()), 1);
    tell(&mut breaker, Sign::Works, 91 * SECOND);
    assert_eq!(breaker.places(BOUND, &options()), 2);
}
