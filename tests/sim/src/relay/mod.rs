//! Two relays around the real cursor: each owns shards through sessions, reads by `ReadPlan`, produces, deletes what is
//! acknowledged, and starts afresh from the table after any failure.

mod producer;
mod round;
mod shard;
mod share;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use tidings_outbox::Snapshot;

use crate::chaos::{Blow, RelayStep};
use crate::happening::Happening;
use crate::outbox::SessionId;
use crate::times::SECOND;
use crate::world::World;

pub(crate) use producer::{Producer, ProducerId, ProducerStep};
pub(crate) use shard::ShardTask;

/// One attempt of one relay process at one shard: what comes for another is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShardRef {
    pub(crate) relay: usize,
    pub(crate) life: u64,
    pub(crate) shard: u32,
    pub(crate) attempt: u64,
}

impl fmt::Display for ShardRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            relay,
            life,
            shard,
            attempt,
        } = self;
        write!(f, "relay {relay}.{life}, shard {shard}, attempt {attempt}")
    }
}

/// A relay process.
#[derive(Debug, Default)]
pub(crate) struct Relay {
    pub(crate) life: u64,
    pub(crate) alive: bool,
    pub(crate) frozen_until: u64,
    /// What came while it was frozen.
    unheard: VecDeque<(ShardRef, RelayNews)>,
    /// Stops in order: lets go of its shards, then ends.
    pub(crate) stopping: bool,
    pub(crate) shards: BTreeMap<u32, ShardTask>,
    /// A fault that waits for the relay's next such step.
    pub(crate) trap: Option<(RelayStep, Blow)>,
}

/// What a shard's task of a relay gets to know.
#[derive(Debug)]
pub(crate) enum RelayNews {
    /// It is time for another attempt.
    Try,
    Acquired(SessionId),
    NotOurs,
    Read {
        snapshot: Snapshot,
        ids: Vec<i64>,
        mark: u64,
        truncated: bool,
        safety: bool,
        took: u64,
    },
    /// Deleted, or moved to the rejected rows.
    Left(Vec<i64>),
    /// By Kafka.
    Acknowledged {
        producer: ProducerId,
        partition: tidings_delivery::PartitionId,
    },
    ProducerFailed(ProducerId),
    SessionBroken(SessionId),
    /// Something is due by the clock.
    Wake,
    /// A drain has taken too long.
    Overdue,
}

impl World {
    pub(crate) fn tell_relay(&mut self, least: u64, most: u64, shard: ShardRef, news: RelayNews) {
        self.after(least, most, Happening::Relay(shard, news));
    }

    /// A frozen relay hears of it when it thaws, in order; a dead one never.
    pub(crate) fn relay_news(&mut self, to: ShardRef, news: RelayNews) {
        let relay = &mut self.relays[to.relay];
        if !relay.alive || relay.life != to.life {
            return;
        }
        if relay.frozen_until <= self.now && relay.unheard.is_empty() {
            self.relay_hears(to, news);
            return;
        }
        relay.unheard.push_back((to, news));
        if relay.unheard.len() == 1 {
            let thaws_at = relay.frozen_until;
            self.relay_thaws_at(thaws_at, to.relay, to.life);
        }
    }

    fn relay_thaws_at(&mut self, at: u64, relay: usize, life: u64) {
        self.at(at, Happening::RelayThaws { relay, life });
    }

    pub(crate) fn thaw_relay(&mut self, index: usize, life: u64) {
        let relay = &mut self.relays[index];
        if !relay.alive || relay.life != life {
            return;
        }
        if relay.frozen_until > self.now {
            let thaws_at = relay.frozen_until;
            self.relay_thaws_at(thaws_at, index, life);
            return;
        }
        for (to, news) in std::mem::take(&mut relay.unheard) {
            if matches!(news, RelayNews::SessionBroken(_)) {
                // Its producer's threads go on while it still has to find its session broken.
                self.tell_relay(0, SECOND, to, news);
            } else {
                self.relay_hears(to, news);
            }
        }
    }

    fn relay_hears(&mut self, to: ShardRef, news: RelayNews) {
        let relay = &self.relays[to.relay];
        let task = relay.shards.get(&to.shard);
        let current = task.is_some_and(|task| task.attempt == to.attempt);
        if relay.alive && relay.life == to.life && current {
            self.shard_news(to, news);
        }
    }
}
