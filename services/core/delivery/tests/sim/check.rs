use std::collections::{HashMap, HashSet};

use tidings_delivery::{Outcome, PartitionId, Settlement};

use crate::postgres::State;
use crate::world::{Record, World};

/// One acceptance by the platform.
pub struct Post {
    pub message: usize,
    pub at: u64,
}

/// What happened in one seed, so that a run can show that it was not idle.
#[derive(Debug, Default)]
pub struct Counts {
    pub incarnations: u64,
    pub crashes: u64,
    pub freezes: u64,
    pub rebalances: u64,
    pub zombies: u64,
    pub broken_accounts: u64,
    pub duplicates_suppressed: u64,
    pub handed: u64,
}

impl Counts {
    pub fn outcome(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Duplicate(_) => self.duplicates_suppressed += 1,
            Outcome::Handed | Outcome::Fenced => self.handed += 1,
            Outcome::Settled(_) | Outcome::Poison => {}
        }
    }
}

/// The sums over all seeds.
#[derive(Debug, Default)]
pub struct Totals {
    messages: u64,
    posts: u64,
    extra_posts: u64,
    fenced: u64,
    zombies: u64,
    crashes: u64,
    freezes: u64,
    rebalances: u64,
    duplicates_suppressed: u64,
    settled: HashMap<&'static str, u64>,
}

impl Totals {
    pub fn add(&mut self, world: &World) {
        self.messages += world.messages.len() as u64;
        self.posts += world.posts.len() as u64;
        let first: HashSet<usize> = world.posts.iter().map(|post| post.message).collect();
        self.extra_posts += (world.posts.len() - first.len()) as u64;
        self.fenced += world.postgres.fenced;
        self.zombies += world.counts.zombies;
        self.crashes += world.counts.crashes;
        self.freezes += world.counts.freezes;
        self.rebalances += world.counts.rebalances;
        self.duplicates_suppressed += world.counts.duplicates_suppressed;
        for row in world.postgres.claims.values() {
            if let State::Settled(end) = row.state {
                *self.settled.entry(end.word()).or_default() += 1;
            }
        }
    }

    /// A simulation in which a fault never came would prove nothing about it.
    pub fn assert_everything_happened(&self) {
        for (what, count) in [
            ("extra posts", self.extra_posts),
            ("refused writes", self.fenced),
            ("zombies", self.zombies),
            ("crashes", self.crashes),
            ("freezes", self.freezes),
            ("rebalances", self.rebalances),
            ("suppressed duplicates", self.duplicates_suppressed),
        ] {
            assert!(count > 0, "no {what} in any seed");
        }
        for end in [
            "delivered",
            "undeliverable",
            "rejected",
            "expired",
            "dead_lettered",
            "parked",
        ] {
            assert!(
                self.settled.contains_key(end),
                "no message ended as {end} in any seed"
            );
        }
    }
}

impl World {
    /// Design §7: the commit never passes a record without an end.
    pub fn unsettled_before(&self, partition: PartitionId, offset: usize) -> Option<String> {
        (0..offset).find_map(|at| match self.logs[&partition][at] {
            Record::Poison if self.dead_letters.contains_key(&(partition, at)) => None,
            Record::Poison => Some(format!(
                "offset {at} of {partition:?}: poison passed without a dead letter"
            )),
            Record::Message(message) => {
                match self.postgres.claims.get(&message).map(|row| row.state) {
                    Some(State::Settled(_)) => None,
                    state => Some(format!(
                        "offset {at} of {partition:?}: message {message} passed as {state:?}"
                    )),
                }
            }
        })
    }

    pub fn check_end(&self) -> Result<(), String> {
        for (partition, log) in &self.logs {
            if let Some(problem) = self.unsettled_before(*partition, log.len()) {
                return Err(problem);
            }
        }
        self.check_copies()?;
        self.check_order()?;
        self.check_settlements()
    }

    /// At most one extra per lost answer, crash or freeze under `resend`; none under `park`.
    fn check_copies(&self) -> Result<(), String> {
        let mut copies: HashMap<usize, u32> = HashMap::new();
        for post in &self.posts {
            *copies.entry(post.message).or_default() += 1;
        }
        for (message, copies) in copies {
            let allowed = if self.messages[message].park {
                1
            } else {
                1 + self.ambiguous.get(&message).copied().unwrap_or(0)
            };
            if copies > allowed {
                return Err(format!(
                    "message {message}: posted {copies} times, {allowed} allowed"
                ));
            }
        }
        Ok(())
    }

    /// First posts of a chat follow its log.
    fn check_order(&self) -> Result<(), String> {
        for (partition, log) in &self.logs {
            let mut place: HashMap<usize, usize> = HashMap::new();
            for (offset, record) in log.iter().enumerate() {
                if let Record::Message(message) = record {
                    place.entry(*message).or_insert(offset);
                }
            }
            let mut posted = HashSet::new();
            let mut last: HashMap<usize, usize> = HashMap::new();
            for post in &self.posts {
                let Some(offset) = place.get(&post.message) else {
                    continue;
                };
                if !posted.insert(post.message) {
                    continue;
                }
                let newest = last.entry(self.messages[post.message].chat).or_default();
                if offset < newest {
                    return Err(format!(
                        "at {} ms: message {} of {partition:?} was posted after a later one of its chat",
                        post.at / 1_000,
                        post.message
                    ));
                }
                *newest = *offset;
            }
        }
        Ok(())
    }

    /// `Delivered` says that somebody saw it.
    fn check_settlements(&self) -> Result<(), String> {
        let posted: HashSet<usize> = self.posts.iter().map(|post| post.message).collect();
        for (message, row) in &self.postgres.claims {
            if row.state == State::Settled(Settlement::Delivered) && !posted.contains(message) {
                return Err(format!("message {message}: delivered, and nobody saw it"));
            }
        }
        Ok(())
    }
}
