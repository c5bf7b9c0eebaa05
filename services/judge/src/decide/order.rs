//! The order promised (design §6), per chat and lane, over first posts.
//!
//! a precedes b if both are of one transaction and a's ordinal is lower, or a's transaction
//! committed before b was inserted, or both were published under the lock of their chat and a came
//! first. One pass over the posts is enough: a post breaks the order exactly if the latest insert,
//! the highest ordinal of its transaction or the highest lock ordinal among earlier posts is one
//! that it should have preceded.

use std::collections::{BTreeMap, HashMap};

use crate::evidence::{Expectation, Lane, State, Transaction};
use crate::report::{Counts, Findings};

use super::cases::{Case, Cases};

pub(super) fn judge(cases: &Cases<'_>, counts: &mut Counts, findings: &mut Findings) {
    for mut posted in by_chat_and_lane(cases).into_values() {
        posted.sort_by_key(|(seq, _)| *seq);
        let mut earlier = Earlier::default();
        for (seq, case) in posted {
            if let Some((earlier_seq, overtaker)) = earlier.should_have_followed(case) {
                counts.out_of_order += 1;
                findings.add("out_of_order", || {
                    let (late, early) = (case.label(), overtaker.label());
                    format!("{early} was posted by call {earlier_seq}, before {late} by call {seq}")
                });
            }
            earlier.add(seq, case);
        }
    }
}

/// Messages with the arrival of their first posts.
type Posted<'c, 'e> = Vec<(u64, &'c Case<'e>)>;

fn by_chat_and_lane<'c, 'e>(cases: &'c Cases<'e>) -> BTreeMap<(&'e str, bool), Posted<'c, 'e>> {
    let mut groups: BTreeMap<(&str, bool), Posted<'_, '_>> = BTreeMap::new();
    for case in cases.all.iter().filter(|case| is_ordered(case)) {
        if let Some(first) = case.posts().next() {
            let key = (case.row.chat.as_str(), case.row.lane == Lane::High);
            groups.entry(key).or_default().push((first.call.seq, case));
        }
    }
    groups
}

/// Messages that were settled otherwise than by delivery have no place in the order.
fn is_ordered(case: &Case<'_>) -> bool {
    let delivered = matches!(case.settlement(), None | Some(State::Delivered));
    case.row.expect == Expectation::Posted && delivered
}

/// Of the posts so far, those that most demand to come late.
#[derive(Default)]
struct Earlier<'c, 'e> {
    latest_insert: Option<(u64, &'c Case<'e>)>,
    highest_lock: Option<(u64, &'c Case<'e>)>,
    highest_ordinals: HashMap<&'e Transaction, (u64, &'c Case<'e>)>,
}

impl<'c, 'e> Earlier<'c, 'e> {
    /// An earlier post that `case` precedes by the promise.
    fn should_have_followed(&self, case: &Case<'_>) -> Option<(u64, &'c Case<'e>)> {
        let row = case.row;
        let by_commit = self.latest_insert.filter(|(_, earlier)| {
            row.committed_at_micros
                .is_some_and(|committed| committed < earlier.row.inserted_at_micros)
        });
        let by_lock = self.highest_lock.filter(|(_, earlier)| {
            row.lock_ordinal.is_some() && row.lock_ordinal < earlier.row.lock_ordinal
        });
        let by_ordinal = self
            .highest_ordinals
            .get(&row.transaction)
            .copied()
            .filter(|(_, earlier)| row.ordinal < earlier.row.ordinal);
        by_commit.or(by_lock).or(by_ordinal)
    }

    fn add(&mut self, seq: u64, case: &'c Case<'e>) {
        let row = case.row;
        let this = (seq, case);
        let later =
            |(_, old): (u64, &Case<'_>)| row.inserted_at_micros > old.row.inserted_at_micros;
        if self.latest_insert.is_none_or(later) {
            self.latest_insert = Some(this);
        }
        let higher = |(_, old): (u64, &Case<'_>)| row.lock_ordinal > old.row.lock_ordinal;
        if row.lock_ordinal.is_some() && self.highest_lock.is_none_or(higher) {
            self.highest_lock = Some(this);
        }
        let highest = self
            .highest_ordinals
            .entry(&row.transaction)
            .or_insert(this);
        if row.ordinal > highest.1.row.ordinal {
            *highest = this;
        }
    }
}
