//! One run: upstream's transactions and the readers take random turns; what is published is checked.

use std::collections::BTreeSet;

use crate::postgres::{Postgres, Row};
use crate::random::Random;
use crate::reader::Reader;

const STEPS: u64 = 1_500;
const SHARDS: u64 = 2;
/// After the last commit, far more steps than a reader needs to read and delete all that is left.
const DRAIN_STEPS: u64 = 20_000;

/// The cursor as it is, or broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    Cursor { safety_passes: bool },
    NoRestart,
    ListedOnly,
    RestartTooLate,
    NoSkip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Violation {
    Skipped,
    Order,
    Twice,
    NotDrained,
}

struct Run {
    random: Random,
    postgres: Postgres,
    readers: Vec<Reader>,
    open: Vec<u64>,
    held: Vec<u64>,
    most_open: usize,
    chats: u64,
    published: BTreeSet<i64>,
}

pub(crate) fn run(seed: u64, rule: Rule) -> Result<(), Violation> {
    let mut run = Run::new(seed, rule);
    for _ in 0..STEPS {
        if run.random.chance(60) {
            run.upstream()
        } else {
            run.read()?
        }
    }
    run.end_all();
    run.drain()?;
    let all: BTreeSet<i64> = run.postgres.rows.keys().copied().collect();
    if all == run.published {
        Ok(())
    } else {
        Err(Violation::Skipped)
    }
}

impl Run {
    fn new(seed: u64, rule: Rule) -> Self {
        let mut random = Random::new(seed);
        let limit = random.pick(&[1, 3, 10, 1_000]).unwrap();
        let max_tracked = random.pick(&[1, 3, 4_096]).unwrap();
        let most_open = random.pick(&[2, 5, 12]).unwrap();
        let chats = random.pick(&[2, 6, 1_000]).unwrap();
        let readers = (0..SHARDS)
            .map(|shard| Reader::new(shard, SHARDS, limit, max_tracked, rule))
            .collect();
        Self {
            random,
            postgres: Postgres::new(),
            readers,
            open: Vec::new(),
            held: Vec::new(),
            most_open,
            chats,
            published: BTreeSet::new(),
        }
    }

    fn upstream(&mut self) {
        let everyone: Vec<u64> = self.open.iter().chain(&self.held).copied().collect();
        let xid = self.random.pick(&everyone);
        match (self.random.below(10), xid) {
            (0..=2, _) if everyone.len() < self.most_open => {
                let xid = self.postgres.assign();
                if self.random.chance(10) {
                    self.held.push(xid)
                } else {
                    self.open.push(xid)
                }
            }
            (3..=6, Some(xid)) => self.postgres.insert(xid, self.random.below(self.chats)),
            (7..=9, _) => self.end_one(),
            (_, _) => {}
        }
    }

    /// Ends an open transaction, rarely a held one.
    fn end_one(&mut self) {
        let from = if self.random.chance(3) {
            &mut self.held
        } else {
            &mut self.open
        };
        let Some(xid) = self.random.pick(from) else {
            return;
        };
        from.retain(|other| *other != xid);
        if self.random.chance(20) {
            self.postgres.roll_back(xid)
        } else {
            self.postgres.commit(xid)
        }
    }

    fn end_all(&mut self) {
        for xid in self.open.drain(..).chain(self.held.drain(..)) {
            self.postgres.commit(xid);
        }
    }

    fn read(&mut self) -> Result<(), Violation> {
        let reader = usize::try_from(self.random.below(SHARDS)).unwrap();
        let ids = self.readers[reader].step(&mut self.postgres, &mut self.random);
        ids.into_iter().try_for_each(|id| self.publish(id))
    }

    fn publish(&mut self, id: i64) -> Result<(), Violation> {
        let row = &self.postgres.rows[&id];
        let unpublished = self
            .postgres
            .rows
            .iter()
            .filter(|(other, _)| !self.published.contains(other));
        let mut before =
            unpublished.filter(|(other, earlier)| precedes((**other, earlier), (id, row)));
        if before.next().is_some() {
            return Err(Violation::Order);
        }
        if self.published.insert(id) {
            Ok(())
        } else {
            Err(Violation::Twice)
        }
    }

    fn drain(&mut self) -> Result<(), Violation> {
        for step in 0..DRAIN_STEPS {
            self.read()?;
            let all = self.published.len() == self.postgres.rows.len();
            // Rows that a wrong rule skips never come: settle for nothing in flight after a while.
            if self.readers.iter().all(Reader::is_drained) && (all || step > DRAIN_STEPS / 2) {
                return Ok(());
            }
        }
        Err(Violation::NotDrained)
    }
}

/// The order promised in design §6.
fn precedes(a: (i64, &Row), b: (i64, &Row)) -> bool {
    let same_transaction = a.1.xid == b.1.xid && a.0 < b.0;
    let committed_before =
        a.1.committed_at
            .is_some_and(|committed_at| committed_at < b.1.inserted_at);
    a.1.chat == b.1.chat && (same_transaction || committed_before)
}
