use super::*;
use crate::random::Random;

const SECOND: u64 = 1_000_000;

struct Bench {
    limit: DeadLetterLimit,
    options: DeadLetterLimitOptions,
    now: u64,
}

fn name(event_type: &str) -> Arc<str> {
    Arc::from(event_type)
}

impl Bench {
    fn new() -> Self {
        Self {
            limit: DeadLetterLimit::default(),
            options: DeadLetterLimitOptions::default(),
            now: 0,
        }
    }

    fn refuse(&mut self, event_type: &str, slot: u64) -> Judgement {
        self.fail(event_type, slot, Category::Rejected)
    }

    fn fail(&mut self, event_type: &str, slot: u64, category: Category) -> Judgement {
        let now = Moment(self.now);
        self.limit.would_dead_letter(
            &name(event_type),
            SlotId(slot),
            category,
            now,
            &self.options,
        )
    }

    fn deliver(&mut self, event_type: &str, slot: u64) -> Option<BTreeSet<SlotId>> {
        self.limit
            .settled(&name(event_type), SlotId(slot), &self.options)
    }

    fn waits(&mut self, slot: u64) -> Option<Moment> {
        self.limit
            .waits(&name("order.shipped"), SlotId(slot), Moment(self.now))
    }

    /// Nineteen dead letters of a type, and the first that is held back.
    fn held(&mut self) {
        for slot in 1..20 {
            assert_eq!(self.refuse("order.shipped", slot), Judgement::DeadLetter);
        }
        let judgement = self.refuse("order.shipped", 20);
        assert!(
            matches!(
                judgement,
                Judgement::HeldBack {
                    change: Some(DeadLetterHold::Began { .. }),
                    ..
                }
            ),
            "{judgement:?}"
        );
    }
}

#[test]
fn a_few_dead_letters_among_many_deliveries_are_dead_letters() {
    let mut bench = Bench::new();
    for slot in 0..1_000 {
        match slot % 3 {
            0 => assert_eq!(bench.refuse("order.shipped", slot), Judgement::DeadLetter),
            _ => assert_eq!(bench.deliver("order.shipped", slot), None),
        }
    }
}

#[test]
fn two_causes_that_share_the_half_hold_nothing() {
    let mut bench = Bench::new();
    for slot in 0..400 {
        let judgement = match slot % 5 {
            0 | 1 => bench.fail("order.shipped", slot, Category::Rejected),
            2 | 3 => bench.fail("order.shipped", slot, Category::Exhausted),
            _ => {
                bench.deliver("order.shipped", slot);
                continue;
            }
        };
        assert_eq!(judgement, Judgement::DeadLetter);
    }
}

#[test]
fn other_types_and_other_causes_flow_while_one_is_held() {
    let mut bench = Bench::new();
    bench.held();
    assert_eq!(bench.refuse("order.paid", 100), Judgement::DeadLetter);
    assert_eq!(
        bench.fail("order.shipped", 101, Category::Unrecognised),
        Judgement::DeadLetter
    );
}

#[test]
fn one_message_probes_and_each_failed_probe_doubles_the_wait_to_its_bound() {
    let mut bench = Bench::new();
    bench.held();
    bench.refuse("order.shipped", 21);
    assert_eq!(bench.waits(20), Some(Moment(60 * SECOND)));
    let mut waits = Vec::new();
    bench.now = 60 * SECOND;
    for _ in 0..6 {
        assert_eq!(bench.waits(21), None, "its turn");
        assert!(bench.waits(20).is_some(), "one probe at once");
        assert_eq!(bench.waits(21), None, "it may back off in between");
        let judgement = bench.refuse("order.shipped", 21);
        let Judgement::HeldBack {
            until,
            change: Some(DeadLetterHold::GoesOn { wait, .. }),
        } = judgement
        else {
            panic!("{judgement:?}");
        };
        waits.push(wait.as_secs());
        bench.now = until.0;
    }
    assert_eq!(waits, [120, 240, 480, 900, 900, 900]);
}

#[test]
fn a_probe_that_goes_out_lets_all_of_them_try_again() {
    let mut bench = Bench::new();
    bench.held();
    bench.refuse("order.shipped", 21);
    bench.now = 60 * SECOND;
    assert_eq!(bench.waits(20), None);
    let again = bench.deliver("order.shipped", 20);
    assert_eq!(again, Some(BTreeSet::from([SlotId(20), SlotId(21)])));
    assert_eq!(bench.waits(21), None);
    assert_eq!(bench.refuse("order.shipped", 21), Judgement::DeadLetter);
}

#[test]
fn deliveries_of_newer_messages_end_the_hold_when_they_are_most() {
    let mut bench = Bench::new();
    bench.held();
    for slot in 100..120 {
        assert_eq!(bench.deliver("order.shipped", slot), None);
    }
    assert!(bench.deliver("order.shipped", 120).is_some());
}

#[test]
fn a_probe_that_left_the_worker_is_followed_by_another() {
    let mut bench = Bench::new();
    bench.held();
    bench.refuse("order.shipped", 21);
    bench.now = 60 * SECOND;
    assert_eq!(bench.waits(20), None);
    bench.limit.forget(&name("order.shipped"), SlotId(20));
    let Some(next) = bench.waits(21) else {
        panic!("the probe has just begun");
    };
    bench.now = next.0;
    assert_eq!(bench.waits(21), None);
}

/// While the cause lasts at most the first twenty become dead letters and there is one probe a wait at most; once it is
/// gone, everything held back is tried again within the longest wait.
#[test]
fn random_times_and_orders_hold_back_what_they_must() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut bench = Bench::new();
        let mut held: BTreeSet<u64> = BTreeSet::new();
        let (mut letters, mut probes) = (0, 0);
        for slot in 0..400 {
            match bench.refuse("order.shipped", slot) {
                Judgement::DeadLetter => letters += 1,
                Judgement::HeldBack { .. } => {
                    held.insert(slot);
                }
            }
            bench.now += (random.unit() * 4e6) as u64;
            for waiting in held.clone() {
                if random.unit() < 0.1 && bench.waits(waiting).is_none() {
                    probes += 1;
                    bench.refuse("order.shipped", waiting);
                }
            }
        }
        assert_eq!(letters, 19, "seed {seed}");
        assert!(
            probes <= 1 + bench.now / (60 * SECOND),
            "seed {seed}: {probes}"
        );
        bench.now += 900 * SECOND;
        let first = *held.iter().next().unwrap();
        assert_eq!(bench.waits(first), None, "seed {seed}");
        let again = bench.deliver("order.shipped", first).unwrap();
        assert_eq!(again.len(), held.len(), "seed {seed}");
    }
}
