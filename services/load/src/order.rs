//! The plan of one order: it follows from the seed and the order's number alone.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

use crate::LoadOptions;

/// Names as they come: with what markup, quoting and encodings stumble over.
const NAMES: [&str; 6] = [
    "Ada Lovelace",
    "Miles O'Brien",
    "Zoë <b>Ångström</b>",
    "R&D \"Röhre\" GmbH",
    "李小龍",
    "👩‍🚀 Sally_*Ride*",
];
const GOODS: [(&str, &str); 4] = [
    ("T-100", "Tea, black"),
    ("T-200", "Tea (green)"),
    ("C-1", "Cup #1"),
    ("K-7", "Kettle 1.7 l"),
];
const CARRIERS: [&str; 6] = ["DHL", "DPD", "FEDEX", "GLS", "UPS", "POST"];
const CURRENCIES: [&str; 3] = ["EUR", "USD", "PLN"];
/// U+0000 is valid in JSON and in no text of Postgres.
const REMARKS: [&str; 3] = [
    "Leave at the door.",
    "Ring twice\u{0} please",
    "Line\nbreak & <tag>",
];

/// All that is decided about an order before it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OrderPlan {
    /// Letters and digits only, so that every markup leaves it as it is: the ledger's marker.
    pub(crate) order_id: String,
    pub(crate) chat_id: i64,
    pub(crate) customer_name: &'static str,
    /// A decimal number with two digits after the point.
    pub(crate) amount: String,
    pub(crate) currency: &'static str,
    pub(crate) items: Vec<Item>,
    pub(crate) remark: Option<&'static str>,
    pub(crate) carrier: &'static str,
    pub(crate) tracking_code: Option<String>,
    pub(crate) confirm: Habits,
    pub(crate) ship: Habits,
    pub(crate) note: Option<Note>,
    pub(crate) flaw: Option<Flaw>,
    /// Whether version 2 of `order.confirmed` tells of it.
    pub(crate) second_version: bool,
    pub(crate) roll_back_first: bool,
    /// Orders of the same chat that commit while this one's first transaction is open.
    pub(crate) held_over: u32,
}

/// How one transaction of the order goes about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Habits {
    /// Whether its events go to the lane `high`.
    pub(crate) high: bool,
    /// Whether it publishes before its business row, so that publish is what gives it an id.
    pub(crate) publish_first: bool,
    /// W3C trace context of the business operation.
    pub(crate) traceparent: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub(crate) sku: &'static str,
    pub(crate) name: &'static str,
    pub(crate) quantity: u32,
}

/// How a notification's text is marked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    Plain,
    Html,
    Markdown,
}

/// What is wrong with an invalid event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    UnknownType,
    UnknownVersion,
    MissingField,
    UnknownCarrier,
    HugeNumber,
}

impl Flaw {
    pub(crate) const ALL: [Self; 5] = [
        Self::UnknownType,
        Self::UnknownVersion,
        Self::MissingField,
        Self::UnknownCarrier,
        Self::HugeNumber,
    ];
}

impl OrderPlan {
    /// Order number `index` of the run.
    pub(crate) fn new(options: &LoadOptions, index: u32) -> Self {
        let random = &mut random_of(options.seed, index);
        Self {
            order_id: format!("{}{index:06}", order_prefix(&options.run)),
            chat_id: chat(options, random),
            customer_name: choose(&NAMES, random),
            amount: format!(
                "{}.{:02}",
                random.random_range(1..5_000),
                random.random_range(0..100)
            ),
            currency: choose(&CURRENCIES, random),
            items: items(random),
            remark: random.random_bool(0.2).then(|| choose(&REMARKS, random)),
            carrier: choose(&CARRIERS, random),
            tracking_code: random
                .random_bool(0.9)
                .then(|| format!("T{:08X}", random.random::<u32>())),
            confirm: Habits::new(options, random),
            ship: Habits::new(options, random),
            note: random
                .random_bool(options.notification_share)
                .then(|| choose(&[Note::Plain, Note::Html, Note::Markdown], random)),
            flaw: random
                .random_bool(options.bad_share)
                .then(|| choose(&Flaw::ALL, random)),
            roll_back_first: random.random_bool(options.rollback_share),
            held_over: if random.random_bool(options.inverted_share) {
                random.random_range(1..=3)
            } else {
                0
            },
            // Drawn last: a seed keeps its plans whatever the share is.
            second_version: random.random_bool(options.second_version_share),
        }
    }
}

impl Habits {
    fn new(options: &LoadOptions, random: &mut StdRng) -> Self {
        // Neither half of a trace context may be zero.
        let trace: u128 = random.random_range(1..=u128::MAX);
        let span: u64 = random.random_range(1..=u64::MAX);
        Self {
            high: random.random_bool(options.high_share),
            publish_first: random.random_bool(0.5),
            traceparent: format!("00-{trace:032x}-{span:016x}-01"),
        }
    }
}

/// Neighbouring numbers get unrelated generators: the constant is that of splitmix64.
fn random_of(seed: u64, index: u32) -> StdRng {
    let step = u64::from(index)
        .wrapping_add(1)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15);
    StdRng::seed_from_u64(seed ^ step)
}

/// Orders of two runs in one database differ.
fn order_prefix(run: &str) -> String {
    let name: String = run
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(12)
        .collect();
    format!("R{name}N")
}

fn chat(options: &LoadOptions, random: &mut StdRng) -> i64 {
    let hot = random.random_bool(options.hot_chat_share);
    let place = random.random_range(0..options.chats.max(1));
    let place = if hot { 0 } else { i64::from(place) };
    options.first_chat_id.saturating_add(place)
}

fn items(random: &mut StdRng) -> Vec<Item> {
    let count = random.random_range(1..=3);
    (0..count)
        .map(|_| {
            let (sku, name) = choose(&GOODS, random);
            let quantity = random.random_range(1..=9);
            Item {
                sku,
                name,
                quantity,
            }
        })
        .collect()
}

/// One of a few; the first of none never happens, as every list here has some.
fn choose<T: Copy, const N: usize>(list: &[T; N], random: &mut StdRng) -> T {
    const { assert!(N > 0) };
    list.choose(random).copied().unwrap_or(list[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> LoadOptions {
        LoadOptions {
            seed: 42,
            run: "0190-ab".to_owned(),
            bad_share: 0.1,
            ..LoadOptions::new("")
        }
    }

    #[test]
    fn the_seed_decides_everything() {
        let other = LoadOptions {
            seed: 43,
            ..options()
        };
        let plans = |options: &LoadOptions| -> Vec<OrderPlan> {
            (0..50).map(|n| OrderPlan::new(options, n)).collect()
        };
        assert_eq!(plans(&options()), plans(&options()));
        assert_ne!(plans(&options()), plans(&other));
    }

    #[test]
    fn order_ids_are_letters_and_digits_and_differ() {
        let first = OrderPlan::new(&options(), 1).order_id;
        assert_eq!(first, "R0190abN000001");
        assert_ne!(first, OrderPlan::new(&options(), 2).order_id);
    }

    #[test]
    fn shares_are_kept_roughly() {
        let options = options();
        let plans: Vec<OrderPlan> = (0..10_000).map(|n| OrderPlan::new(&options, n)).collect();
        let share = |of: &dyn Fn(&OrderPlan) -> bool| plans.iter().filter(|plan| of(plan)).count();
        assert!((300..700).contains(&share(&|plan| plan.roll_back_first)));
        assert!((300..700).contains(&share(&|plan| plan.held_over > 0)));
        assert!((1_700..2_300).contains(&share(&|plan| plan.note.is_some())));
        assert!((700..1_300).contains(&share(&|plan| plan.flaw.is_some())));
        assert!((700..1_300).contains(&share(&|plan| plan.confirm.high)));
    }

    #[test]
    fn chats_stay_in_their_range_and_a_hot_one_takes_its_share() {
        let options = LoadOptions {
            chats: 10,
            first_chat_id: 100,
            hot_chat_share: 0.5,
            ..options()
        };
        let chats: Vec<i64> = (0..1_000)
            .map(|n| OrderPlan::new(&options, n).chat_id)
            .collect();
        assert!(chats.iter().all(|chat| (100..110).contains(chat)));
        assert!(chats.iter().filter(|chat| **chat == 100).count() > 400);
    }
}
