//! Two relays around the real cursor: each owns shards through sessions, reads by `ReadPlan`, produces, deletes what is
//! acknowledged, and starts afresh from the table after any failure.

mod producer;
mod round;
mod shard;
mod share;

use std::collections::BTreeMap;
use std::fmt;

use tidings_outbox::Snapshot;

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
    /// Stops in order: lets go of its shards, then ends.
    pub(crate) stopping: bool,
    pub(crate) shards: BTreeMap<u32, ShardTask>,
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

    /// A frozen relay hears of it when it thaws, a dead one never.
    pub(crate) fn relay_news(&mut self, to: ShardRef, news: RelayNews) {
        let relay = &self.relays[to.relay];
        if !relay.alive || relay.life != to.life {
            return;
        }
        if relay.frozen_until > self.now {
            let thaws_at = relay.frozen_until;
            // Its producer's threads go on while it still has to find its session broken.
            let late = match news {
                RelayNews::SessionBroken(_) => self.random.between(0, SECOND),
                RelayNews::Try
                | RelayNews::Acquired(_)
                | RelayNews::NotOurs
                | RelayNews::Read { .. }
                | RelayNews::Left(_)
                | RelayNews::Acknowledged { .. }
                | RelayNews::ProducerFailed(_)
                | RelayNews::Wake
                | RelayNews::Overdue => 0,
            };
            self.at(thaws_at + late, Happening::Relay(to, news));
            return;
        }
        let current = relay.shards.get(&to.shard).map(|task| task.attempt);
        if current == Some(to.attempt) {
            self.shard_news(to, news);
        }
    }
}
