use std::time::Duration;

use uuid::Uuid;

use super::*;
use crate::record::{Ask, Body, Entry, Init, Limits, Penalise, Record, Reserve, Reset, Tick};
use crate::{Class, Limit, Rule, ScopeLimits, SourcePreset, Target, exact_limits};

const SCOPE: &str = "telegram:main";

/// A log in virtual time: offsets follow, and append times are whatever the test says.
struct Log {
    machine: Machine,
    millis: i64,
    seq: u64,
}

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

impl Log {
    /// A log whose scope began long ago: nothing is used.
    fn with(limits: ScopeLimits) -> Self {
        let mut log = Self {
            machine: Machine::new(),
            millis: 1_000_000,
            seq: 0,
        };
        log.append(Body::Init(Init {
            incarnation: id(1),
            scope: None,
        }));
        let scope = Some((SCOPE.to_owned(), limits));
        log.append(Body::Init(Init {
            incarnation: id(1),
            scope,
        }));
        log.pass(70_000);
        log
    }

    fn append(&mut self, body: Body) -> Applied {
        let log_id = id(77);
        let value = Record { log_id, body }.encode();
        self.machine
            .apply(self.machine.offset() + 1, self.millis, &value)
            .unwrap()
    }

    /// Lets time pass, with ticks.
    fn pass(&mut self, millis: i64) {
        let end = self.millis + millis;
        while self.millis < end {
            self.millis = end.min(self.millis + 200);
            self.append(Body::Tick(Tick {
                incarnation: id(1),
                snapshot: false,
            }));
        }
    }

    /// Asks for one permit each, and answers when they start and the first refusal.
    fn ask(
        &mut self,
        worker: u128,
        class: Class,
        chats: &[&str],
    ) -> (Vec<LogTime>, Option<Refusal>) {
        self.seq += 1;
        let entry = |chat: &&str| Entry {
            chat: (*chat).to_owned(),
            n: 1,
        };
        let asks = vec![Ask {
            scope: SCOPE.to_owned(),
            waiting: u32::try_from(chats.len()).unwrap(),
            entries: chats.iter().map(entry).collect(),
        }];
        let reserve = Reserve {
            incarnation: id(worker),
            seq: self.seq,
            class,
            leeway: Duration::ZERO,
            asks,
        };
        let What::Served { asks, .. } = self.append(Body::Reserve(reserve)).what else {
            panic!("not served");
        };
        let granted = asks[0]
            .entries
            .iter()
            .flat_map(|entry| entry.granted.clone())
            .collect();
        (
            granted,
            asks[0].entries.iter().find_map(|entry| entry.refused),
        )
    }

    fn penalise(&mut self, target: Target, seconds: u64) {
        self.append(Body::Penalise(Penalise {
            incarnation: id(1),
            target,
            wait: Duration::from_secs(seconds),
            id: None,
            operator: None,
            reason: String::new(),
        }));
    }

    /// How many of endless messages to ever new chats start within a second, asked for every 10 ms.
    fn most_in_a_second(&mut self, seconds: i64) -> usize {
        let mut times: Vec<LogTime> = Vec::new();
        for round in 0..seconds * 100 {
            let chats: Vec<String> = (0..40)
                .map(|chat| (round * 40 + chat).to_string())
                .collect();
            let chats: Vec<&str> = chats.iter().map(String::as_str).collect();
            times.extend(self.ask(1, Class::Normal, &chats).0);
            self.millis += 10;
        }
        let within = |from: &LogTime| {
            times
                .iter()
                .filter(|at| *at >= from && at.0 < from.0 + 1_000_000)
                .count()
        };
        times.iter().map(within).max().unwrap()
    }
}

fn chat(chat: &str) -> Target {
    Target::Chat {
        scope: SCOPE.to_owned(),
        chat: chat.to_owned(),
    }
}

fn account() -> Target {
    Target::Account {
        scope: SCOPE.to_owned(),
    }
}

/// L2: the source preset alone sends up to 54 in a second; added to the exact limits never more than 30.
#[test]
fn presets_are_added_to_the_exact_limits_and_never_loosen_them() {
    let mut alone = SourcePreset::Telegram.limits();
    for rule in &mut alone.scope {
        rule.headroom_permille = 1_000;
    }
    let source = Log::with(alone.clone()).most_in_a_second(4);
    let ours = Log::with(exact_limits("telegram").with(alone)).most_in_a_second(4);
    println!("in a second: source preset {source}, added to the exact limits {ours}");
    assert!((53..=54).contains(&source), "{source}");
    assert!(ours <= 30, "{ours}");
}

/// Q1: a burst up to capacity, then the rate, less headroom; a message may cost more than one token.
#[test]
fn a_bucket_lets_a_burst_through_and_then_its_rate() {
    let rule = Rule::new(Limit::TokenBucket {
        micro_tokens_per_second: 4_000_000,
        burst: 10,
        cost: 2,
    });
    let mut log = Log::with(ScopeLimits {
        scope: vec![rule],
        ..ScopeLimits::default()
    });
    let begin = log.machine.time();
    let mut count = 0;
    for round in 0..2_000 {
        count += log.ask(1, Class::Normal, &[&round.to_string()]).0.len();
        log.millis += 10;
    }
    assert_eq!(log.machine.time().0 - begin.0, 19_990_000);
    // 5 at once and 20 s of 1.5 a second.
    assert!((33..=36).contains(&count), "{count}");
}

/// A chat that is not ready costs nothing and stops nobody; a group has its own window.
#[test]
fn a_chat_that_is_not_ready_is_refused_uncharged() {
    let mut log = Log::with(exact_limits("telegram"));
    assert_eq!(log.ask(1, Class::Normal, &["7"]).0.len(), 1);
    let (granted, refused) = log.ask(1, Class::Normal, &["7", "8"]);
    assert_eq!(granted.len(), 1);
    let refused = refused.unwrap();
    assert_eq!(refused.why, RefusedWhy::Chat);
    assert_eq!(
        refused.next_free,
        log.machine.time().after(Duration::from_millis(1_025))
    );
    let mut sent = 0;
    for _ in 0..50 {
        sent += log.ask(1, Class::Normal, &["-100"]).0.len();
        log.pass(1_100);
    }
    assert_eq!(sent, 20, "twenty a minute");
}

/// Q2: high goes first; after three seconds of nothing else the oldest refused normal gets the next slot.
#[test]
fn high_goes_first_and_normal_never_starves() {
    let mut log = Log::with(exact_limits("telegram"));
    let mut normal = Vec::new();
    for round in 0..700 {
        let high: Vec<String> = (0..40)
            .map(|chat| format!("{}", round * 40 + chat))
            .collect();
        let high: Vec<&str> = high.iter().map(String::as_str).collect();
        log.ask(1, Class::High, &high);
        if !log.ask(2, Class::Normal, &["999999"]).0.is_empty() {
            normal.push(log.machine.time().0);
        }
        log.millis += 20;
    }
    assert!((4..=5).contains(&normal.len()), "{normal:?}");
    assert!(
        normal.windows(2).all(|pair| pair[1] - pair[0] >= 3_000_000),
        "{normal:?}"
    );
}

/// L9: chat, account, address; unnamed holds the account at the second chat within ten seconds.
#[test]
fn penalties_hold_what_they_name_and_end_by_themselves() {
    let mut log = Log::with(exact_limits("telegram"));
    log.penalise(chat("7"), 5);
    log.penalise(chat("7"), 2);
    assert_eq!(
        log.ask(1, Class::Normal, &["7"]).1.unwrap().why,
        RefusedWhy::ChatHeld
    );
    assert_eq!(log.ask(1, Class::Normal, &["8"]).0.len(), 1);
    log.pass(4_000);
    assert_eq!(
        log.ask(1, Class::Normal, &["7"]).1.unwrap().why,
        RefusedWhy::ChatHeld,
        "merged by maximum"
    );
    log.pass(1_100);
    assert_eq!(log.ask(1, Class::Normal, &["7"]).0.len(), 1);
    let unnamed = |chat: &str| Target::Unnamed {
        scope: SCOPE.to_owned(),
        chat: chat.to_owned(),
    };
    log.penalise(unnamed("1"), 3);
    assert_eq!(log.ask(1, Class::Normal, &["9"]).0.len(), 1);
    log.penalise(unnamed("2"), 3);
    assert_eq!(
        log.ask(1, Class::Normal, &["10"]).1.unwrap().why,
        RefusedWhy::Held
    );
    log.pass(3_100);
    log.penalise(
        Target::Address {
            platform: "telegram".to_owned(),
        },
        2,
    );
    assert_eq!(
        log.ask(1, Class::Normal, &["11"]).1.unwrap().why,
        RefusedWhy::Held
    );
}

/// A producer may write a record twice, and late: a reset must not end a penalty that came after it.
#[test]
fn a_wish_is_carried_out_once() {
    let mut log = Log::with(exact_limits("telegram"));
    let reset = || {
        Body::Reset(Reset {
            id: id(5),
            target: account(),
            operator: "ada".to_owned(),
            reason: "test".to_owned(),
        })
    };
    log.penalise(account(), 5);
    log.append(reset());
    assert_eq!(log.ask(1, Class::Normal, &["1"]).0.len(), 1);
    log.penalise(account(), 5);
    assert_eq!(log.append(reset()).what, What::RepeatedWish(id(5)));
    assert_eq!(
        log.ask(1, Class::Normal, &["2"]).1.unwrap().why,
        RefusedWhy::Held
    );
}

/// S17: what wakes together at the end of a hold goes one by one.
#[test]
fn after_a_hold_messages_are_spread() {
    for asked_after in [1_900, 2_100] {
        let mut log = Log::with(exact_limits("telegram"));
        log.penalise(account(), 2);
        log.pass(asked_after);
        let (granted, _) = log.ask(1, Class::Normal, &["1", "2", "3"]);
        assert_eq!(granted.len(), 3);
        assert!(
            granted
                .windows(2)
                .all(|pair| pair[1].0 - pair[0].0 >= 33_000),
            "{granted:?}"
        );
    }
}

/// B27: what goes after others gets nothing while they wait, but for the slot that it is owed every three seconds.
#[test]
fn replay_goes_after_live_messages() {
    let mut log = Log::with(exact_limits("telegram"));
    let mut replayed = 0;
    for round in 0..600 {
        let live: Vec<String> = (0..40)
            .map(|chat| (round * 40 + chat).to_string())
            .collect();
        let live: Vec<&str> = live.iter().map(String::as_str).collect();
        log.ask(1, Class::Normal, &live);
        log.millis += 10;
        let replay = (1_000_000 + round).to_string();
        replayed += log.ask(2, Class::Replay, &[&replay]).0.len();
        log.millis += 10;
    }
    assert!((2..=4).contains(&replayed), "{replayed}");
}

/// L15: other limits take effect at once, and make no burst.
#[test]
fn a_change_of_limits_makes_no_burst() {
    let mut log = Log::with(exact_limits("telegram"));
    let chats: Vec<String> = (0..40).map(|chat| chat.to_string()).collect();
    let chats: Vec<&str> = chats.iter().map(String::as_str).collect();
    assert_eq!(log.ask(1, Class::Normal, &chats).0.len(), 30);
    // What was sent then is forgotten when the next message comes.
    log.pass(2_000);
    assert_eq!(log.ask(1, Class::Normal, &["45"]).0.len(), 1);
    let rule = Rule::new(Limit::Window {
        count: 20,
        period: Duration::from_secs(10),
    });
    log.append(Body::Limits(Limits {
        id: id(5),
        machine_version: 1,
        scope: Some((
            SCOPE.to_owned(),
            ScopeLimits {
                scope: vec![rule],
                ..ScopeLimits::default()
            },
        )),
        operator: "ada".to_owned(),
        reason: "test".to_owned(),
    }));
    assert!(log.ask(1, Class::Normal, &["50"]).0.is_empty());
    log.pass(8_000);
    assert!(
        log.ask(1, Class::Normal, &["51"]).0.is_empty(),
        "what may have been sent before counts in the new window"
    );
    log.pass(1_000);
    assert_eq!(log.ask(1, Class::Normal, &["52"]).0.len(), 1);
}

/// Design §9: a step of the broker's clock, either way, neither freezes nor empties windows; a slow log is not frozen.
#[test]
fn steps_of_the_brokers_clock_change_nothing() {
    let mut log = Log::with(exact_limits("telegram"));
    let begin = log.machine.time();
    for step in [3_600_000, -7_200_000, 500] {
        log.millis += step;
        log.append(Body::Tick(Tick {
            incarnation: id(1),
            snapshot: false,
        }));
    }
    assert_eq!(log.machine.time(), begin);
    for _ in 0..10 {
        log.millis += 1_000;
        log.append(Body::Tick(Tick {
            incarnation: id(1),
            snapshot: false,
        }));
    }
    assert!(log.machine.time() > begin.after(Duration::from_secs(2)));
}

/// L5: state is bounded, because only state that is like a new chat's is forgotten, and all of that is.
#[test]
fn idle_chats_cost_nothing() {
    let limits = ScopeLimits {
        scope: Vec::new(),
        ..exact_limits("telegram")
    };
    let mut log = Log::with(limits);
    let before = log.machine.encode().len();
    for number in 0..6_000 {
        log.ask(1, Class::Normal, &[&number.to_string()]);
    }
    assert_eq!(log.machine.view(log.machine.time())[0].live_chats, 6_000);
    log.pass(1_200);
    log.ask(1, Class::Normal, &["6001"]);
    assert_eq!(log.machine.view(log.machine.time())[0].live_chats, 1);
    assert!(log.machine.encode().len() < before + 500);
}

/// Past the bound new chats are refused, known ones go on.
#[test]
fn past_the_bound_new_chats_are_refused() {
    let mut log = Log::with(ScopeLimits {
        scope: Vec::new(),
        ..exact_limits("telegram")
    });
    for number in 0..MAX_LIVE_CHATS {
        log.ask(1, Class::Normal, &[&number.to_string()]);
    }
    assert_eq!(
        log.ask(1, Class::Normal, &["new"]).1.unwrap().why,
        RefusedWhy::TooManyChats
    );
    log.pass(1_100);
    assert_eq!(log.ask(1, Class::Normal, &["new"]).0.len(), 1);
}

#[test]
fn a_restored_replica_goes_on_alike() {
    let mut log = Log::with(exact_limits("telegram"));
    log.ask(1, Class::Normal, &["1", "-2", "3"]);
    log.penalise(chat("1"), 100);
    let bytes = log.machine.encode();
    let mut other = Machine::restore(&bytes, log.machine.hash(), 1).unwrap();
    assert_eq!(other.encode(), bytes);
    let tick = Body::Tick(Tick {
        incarnation: id(1),
        snapshot: false,
    });
    let value = Record {
        log_id: id(77),
        body: tick.clone(),
    }
    .encode();
    log.append(tick);
    other
        .apply(log.machine.offset(), log.millis, &value)
        .unwrap();
    assert_eq!(other.hash(), log.machine.hash());
    assert_eq!(
        Machine::restore(&bytes[1..], log.machine.hash(), 1).unwrap_err(),
        RestoreError::Hash
    );
}

#[test]
fn states_that_are_none_are_errors() {
    let mut log = Log::with(exact_limits("telegram"));
    log.ask(1, Class::Normal, &["1", "-2", "3"]);
    let bytes = log.machine.encode();
    for length in 0..bytes.len() {
        let cut = &bytes[..length];
        assert!(Machine::restore(cut, StateHash::of(cut), 1).is_err());
    }
}
