//! The cursor against a model of Postgres, in virtual time: transactions that overlap, commit late, roll back or are
//! held, reads cut by their limit, deletes after acknowledgement, two shards. `TIDINGS_SIM_SEEDS` sets the number of
//! seeds, `TIDINGS_SIM_SEED` runs one again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod postgres;
mod random;
mod reader;
mod run;

use run::{Rule, Violation, run};

const DEFAULT_SEEDS: u64 = 300;

fn seeds() -> Vec<u64> {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<u64>().expect("a number"))
    };
    match number("TIDINGS_SIM_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("TIDINGS_SIM_SEEDS").unwrap_or(DEFAULT_SEEDS)).collect(),
    }
}

fn assert_holds(rule: Rule) {
    for seed in seeds() {
        if let Err(violation) = run(seed, rule) {
            panic!("{violation:?}; again with TIDINGS_SIM_SEED={seed}");
        }
    }
}

/// The simulation can fail: a wrong rule is caught, in each of the ways that it is wrong.
fn assert_caught(rule: Rule, expected: &[Violation]) {
    let found: Vec<Violation> = (0..DEFAULT_SEEDS)
        .filter_map(|seed| run(seed, rule).err())
        .collect();
    for violation in expected {
        assert!(
            found.contains(violation),
            "{rule:?} was not caught as {violation:?}"
        );
    }
}

#[test]
fn nothing_is_skipped_and_the_order_holds() {
    assert_holds(Rule::Cursor {
        safety_passes: false,
    });
}

#[test]
fn safety_passes_disturb_nothing() {
    assert_holds(Rule::Cursor {
        safety_passes: true,
    });
}

#[test]
fn a_cursor_that_never_restarts_is_caught() {
    assert_caught(Rule::NoRestart, &[Violation::Skipped, Violation::Order]);
}

/// `xmax` of a snapshot is one past the highest transaction that ended, so what runs above it is not listed.
#[test]
fn a_cursor_that_trusts_the_list_of_running_transactions_is_caught() {
    assert_caught(Rule::ListedOnly, &[Violation::Skipped, Violation::Order]);
}

#[test]
fn a_cursor_that_restarts_at_the_later_position_is_caught() {
    assert_caught(Rule::RestartTooLate, &[Violation::Skipped]);
}

#[test]
fn a_reader_that_does_not_skip_rows_in_flight_is_caught() {
    assert_caught(Rule::NoSkip, &[Violation::Twice]);
}
