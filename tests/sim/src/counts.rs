use std::collections::BTreeMap;

/// What must have happened in a run of many seeds: every kind of fault, every way that a part can answer, every end.
pub const EVERYTHING: [&str; 98] = [
    "accounts rested",
    "acknowledgements lost",
    "all workers killed at once",
    "appends of a dropped producer",
    "batches appended twice",
    "batches of a relay that had lost its shard",
    "bumps that waited for claims",
    "calls accepted",
    "calls accepted and answered with nonsense",
    "calls accepted whose answer was lost",
    "calls answered in unknown words",
    "calls not accepted and answered with nonsense",
    "calls not accepted whose answer was lost",
    "calls of a zombie",
    "calls refused for now",
    "calls rejected",
    "calls that arrived after their deadline",
    "calls that did not connect",
    "calls throttled",
    "calls to a dead target",
    "calls to a migrated chat",
    "calls with a refused credential",
    "chats held by the limit",
    "claims given back",
    "claims given back with a deferral",
    "claims of an old epoch refused",
    "commits in inverted order",
    "commits refused or lost",
    "commits to be forgotten",
    "dead letters not acknowledged",
    "dead_lettered",
    "deferrals closed",
    "deferrals not closed: rows remain",
    "deferrals of an old epoch refused",
    "deferrals of what had its end",
    "deferrals of what was deferred",
    "deferred chats given up",
    "deferred chats tried at once",
    "deletes aborted with their session",
    "delivered",
    "drains abandoned at their deadline",
    "duplicates suppressed",
    "expired",
    "extra posts",
    "held chats let go",
    "members timed out",
    "messages deferred",
    "messages loaded",
    "offsets that fell back",
    "outages of Kafka",
    "parked",
    "partitions fenced",
    "partitions moved",
    "partitions paused for a bound",
    "partitions taken back in order",
    "penalties told to the limit",
    "permits void at the last look",
    "permits void before their call",
    "poison records",
    "produce deadlines passed",
    "produce requests lost",
    "producers dropped after a failure",
    "records left to Postgres",
    "records left to another worker",
    "records left to the next owner",
    "records that waited for a schema",
    "rejected",
    "relays frozen",
    "relays frozen at a step",
    "relays killed",
    "relays killed at a step",
    "relays restarted in order",
    "restarts of Postgres",
    "restarts of upstream's database",
    "rollbacks",
    "rows moved to outbox_rejected",
    "rows that were gone already",
    "safety passes",
    "sessions ended for silence",
    "sessions of relays killed",
    "shards stopped in order",
    "statements broken by a restart of Postgres",
    "statements carried out late",
    "statements lost",
    "statements not answered",
    "statements of dead workers carried out",
    "transactions held open",
    "traps for relays",
    "traps for workers",
    "undeliverable",
    "workers cut off from Kafka",
    "workers cut off from Postgres",
    "workers frozen",
    "workers frozen at a step",
    "workers killed",
    "workers killed at a step",
    "workers restarted in order",
    "writes of an old fence refused",
];

/// How often things happened, by name: an idle simulation proves nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    pub(crate) fn add(&mut self, what: &'static str) {
        self.add_many(what, 1);
    }

    pub(crate) fn add_many(&mut self, what: &'static str, times: u64) {
        *self.0.entry(what).or_default() += times;
    }

    /// Adds another world's counts.
    pub fn merge(&mut self, other: &Self) {
        for (what, times) in &other.0 {
            self.add_many(what, *times);
        }
    }

    /// How often `what` happened.
    #[must_use]
    pub fn get(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// All names with their numbers, ascending by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(what, times)| (*what, *times))
    }
}
