//! One worker and a log in virtual time whose round trips are all the same.

use std::time::Duration;

use uuid::Uuid;

use super::*;
use crate::{LogTime, RefusedWhy, Target, exact_limits};

const SCOPE: &str = "telegram:main";
const MILLI: u64 = 1_000;
const SECOND: u64 = 1_000_000;

/// A record is appended a millisecond after it was handed over, and read when the rest of the round trip has passed.
struct Alone {
    limiter: Limiter,
    now: u64,
    round_trip: u64,
    log: Vec<(u64, i64, Vec<u8>)>,
    read: usize,
    said: Vec<Effect>,
}

impl Alone {
    /// A worker that is live, and whose account has been idle for long.
    fn idle(round_trip: u64) -> Self {
        let options = Options::new(Uuid::from_u128(7), 7);
        let mut alone = Self {
            limiter: Limiter::new(options),
            now: 0,
            round_trip,
            log: Vec::new(),
            read: 0,
            said: Vec::new(),
        };
        alone.tell(Event::Scope {
            scope: SCOPE.to_owned(),
            limits: exact_limits("telegram"),
        });
        alone.tell(Event::Opened { first: 0, end: 0 });
        alone.tell(Event::ReachedEnd { end: 0 });
        alone.run(80 * SECOND);
        assert_eq!(alone.limiter.mode(), &Mode::Live);
        alone.said.clear();
        alone
    }

    fn tell(&mut self, event: Event) {
        let mut effects = Vec::new();
        self.limiter.handle(event, Moment(self.now), &mut effects);
        for effect in effects {
            if let Effect::Append { value, .. } = effect {
                let millis = i64::try_from(self.now / MILLI + 1).unwrap();
                self.log.push((self.now + self.round_trip, millis, value));
            } else if let Effect::Read { from } = effect {
                self.read = usize::try_from(from).unwrap();
            } else {
                self.said.push(effect);
            }
        }
    }

    fn read_next(&mut self) {
        let (_, append_time_millis, value) = self.log[self.read].clone();
        let offset = i64::try_from(self.read).unwrap();
        self.read += 1;
        self.tell(Event::Record {
            offset,
            append_time_millis,
            value,
        });
        if self.read == self.log.len() {
            self.tell(Event::ReachedEnd { end: offset + 1 });
        }
    }

    /// Lets time pass up to `end`, or until something was said.
    fn step(&mut self, end: u64) {
        let record = self.log.get(self.read).map(|(at, ..)| *at);
        let timer = self.limiter.next_timer().map(|at| at.0.max(self.now));
        match (record, timer) {
            (Some(at), timer) if at <= end && timer.is_none_or(|timer| at <= timer) => {
                self.now = self.now.max(at);
                self.read_next();
            }
            (_, Some(at)) if at <= end => {
                // Timers are not exact, and must not be asked for without end.
                self.now = at + 50;
                self.tell(Event::Timer);
            }
            (_, _) => self.now = self.now.max(end),
        }
    }

    fn run(&mut self, end: u64) {
        while self.now < end {
            self.step(end);
        }
    }

    fn want(&mut self, permit: u64, chat: &str) {
        self.tell(Event::Want {
            permit: PermitId(permit),
            scope: SCOPE.to_owned(),
            chat: chat.to_owned(),
            class: Class::Normal,
        });
    }

    /// Waits until something is said within two seconds, or answers nothing.
    fn heard(&mut self) -> Option<Effect> {
        let end = self.now + 2 * SECOND;
        while self.said.is_empty() && self.now < end {
            self.step(end);
        }
        (!self.said.is_empty()).then(|| self.said.remove(0))
    }

    /// Sends a message as soon as it is granted, and answers how long that took.
    fn send(&mut self, permit: u64, chat: &str) -> u64 {
        let begin = self.now;
        self.want(permit, chat);
        loop {
            match self.heard() {
                Some(Effect::Granted { validity, .. }) => {
                    self.run(validity.from.0);
                    let mut effects = Vec::new();
                    let now = Moment(self.now);
                    let start = self.limiter.start(PermitId(permit), now, &mut effects);
                    assert!(matches!(start, Start::Go { .. }), "{start:?}");
                    return self.now - begin;
                }
                Some(Effect::Waiting { .. }) => {}
                other => panic!("{other:?} {:?}", self.limiter.counts()),
            }
        }
    }
}

fn about(wait: Duration, seconds: u64) -> bool {
    wait.abs_diff(Duration::from_secs(seconds)) < Duration::from_secs(2)
}

/// Whoever wants a permit hears of the wait that the asker foresees and for which it asks nothing.
#[test]
fn a_held_chat_is_told_to_wait_when_it_is_wanted() {
    let mut alone = Alone::idle(2 * MILLI);
    alone.tell(Event::Throttled {
        target: Target::Chat {
            scope: SCOPE.to_owned(),
            chat: "5".to_owned(),
        },
        wait: Duration::from_secs(3_600),
        reason: "Too Many Requests".to_owned(),
    });
    alone.run(alone.now + SECOND);
    alone.said.clear();
    let asks = alone.limiter.counts().asks;
    alone.want(1, "5");
    let Some(Effect::Waiting { permit, wait, why }) = alone.heard() else {
        panic!("not told");
    };
    assert_eq!((permit, why), (PermitId(1), RefusedWhy::ChatHeld));
    assert!(about(wait, 3_599), "{wait:?}");
    alone.run(alone.now + 30 * SECOND);
    assert!(alone.said.is_empty(), "once: {:?}", alone.said);
    assert_eq!(alone.limiter.counts().asks, asks);
}

/// Before its record is read, an account's hold is known here alone; its chats keep their places.
#[test]
fn a_chat_of_a_held_account_is_not_told_to_be_held_itself() {
    let mut alone = Alone::idle(2 * MILLI);
    alone.tell(Event::Throttled {
        target: Target::Account {
            scope: SCOPE.to_owned(),
        },
        wait: Duration::from_secs(30),
        reason: "Too Many Requests".to_owned(),
    });
    alone.want(1, "5");
    while let Some(said) = alone.heard() {
        let held = matches!(
            said,
            Effect::Waiting {
                why: RefusedWhy::Held,
                ..
            }
        );
        assert!(held, "{said:?}");
    }
}

#[test]
fn the_21st_message_of_a_group_within_a_minute_is_told_the_rest_of_the_minute() {
    let mut alone = Alone::idle(2 * MILLI);
    let begin = alone.now;
    for permit in 0..20 {
        alone.send(permit, "-100");
    }
    alone.said.clear();
    alone.want(20, "-100");
    let mut longest = Duration::ZERO;
    while let Some(said) = alone.heard() {
        let Effect::Waiting { wait, why, .. } = said else {
            panic!("{said:?}");
        };
        assert_eq!(why, RefusedWhy::Chat);
        longest = longest.max(wait);
    }
    let rest = 61 - (alone.now - begin) / SECOND;
    assert!(about(longest, rest), "{longest:?}, {rest} s are left");
}

/// The same reason again is told once more when the wait has become a long one, and only then.
#[test]
fn a_wait_that_grows_is_told_again_once() {
    let mut alone = Alone::idle(2 * MILLI);
    alone.want(1, "5");
    let mut said = Vec::new();
    for millis in [50, 1_000, 1_001, 40_000, 50, 60_000] {
        let wait = Duration::from_millis(millis);
        let limiter = &mut alone.limiter;
        limiter.tell(PermitId(1), RefusedWhy::Chat, wait, &mut said);
    }
    let mut waits = Vec::new();
    for effect in said {
        if let Effect::Waiting { wait, .. } = effect {
            waits.push(wait.as_millis());
        }
    }
    assert_eq!(waits, [50, 1_001]);
}

#[test]
fn a_lone_message_goes_out_at_the_second_try_at_the_latest_however_long_the_round_trip() {
    for millis in [15, 19, 22, 40, 100, 150] {
        let mut alone = Alone::idle(millis * MILLI);
        for permit in 1..6 {
            let late = alone.limiter.counts().void_late;
            let took = alone.send(permit, &permit.to_string());
            let tries = 1 + alone.limiter.counts().void_late - late;
            let most = if permit == 1 { 2 } else { 1 };
            assert!(tries <= most, "{millis} ms, message {permit}: {tries}");
            // After a try in vain its chat is charged, and has to wait for the rest of its second.
            let most = if tries == 1 {
                millis + 1
            } else {
                1_100 + 4 * millis
            };
            assert!(
                took <= most * MILLI,
                "{millis} ms, message {permit}: {took} µs"
            );
            alone.run(alone.now + 3 * SECOND);
        }
    }
}

#[test]
fn short_round_trips_get_no_leeway_and_take_it_away() {
    let mut alone = Alone::idle(2 * MILLI);
    for permit in 1..6 {
        assert!(alone.send(permit, &permit.to_string()) < 5 * MILLI);
        assert_eq!(alone.limiter.leeway.current(), Duration::ZERO);
    }
    alone.round_trip = 40 * MILLI;
    // The best bound of the last ten seconds lets the first ones pass.
    alone.run(alone.now + 20 * SECOND);
    alone.send(10, "10");
    assert_eq!(alone.limiter.leeway.current(), Duration::from_millis(80));
    alone.round_trip = 2 * MILLI;
    for permit in 11..16 {
        alone.send(permit, &permit.to_string());
    }
    assert_eq!(alone.limiter.leeway.current(), Duration::ZERO);
    let late = alone.limiter.counts().void_late;
    assert!(late <= 1, "{late}");
}

/// The last start that is allowed is what windows count.
#[test]
fn a_grant_with_leeway_is_valid_that_much_longer() {
    let mut clock = LogClock::default();
    clock.read(LogTime(0), Moment(140 * MILLI));
    clock.read_own(Moment(100 * MILLI), LogTime(0), Moment(140 * MILLI));
    let validity = clock.validity(LogTime(0), LogTime(80_000));
    assert_eq!(
        (validity.from, validity.until),
        (Moment(140 * MILLI), Moment(200 * MILLI))
    );
}
