//! Which relay works on which shards: a look around every second, as the relay's membership does it.

use tidings_outbox::share::{fair_share, surplus};

use super::{RelayNews, ShardRef, ShardTask};
use crate::happening::Happening;
use crate::settings::SHARDS;
use crate::times::{MEMBERSHIP_INTERVAL, MILLI, SECOND};
use crate::trace::note;
use crate::world::World;

impl World {
    pub(crate) fn start_relay(&mut self, index: usize) {
        let relay = &mut self.relays[index];
        if relay.alive {
            return;
        }
        relay.life += 1;
        relay.alive = true;
        relay.stopping = false;
        relay.frozen_until = 0;
        relay.unheard.clear();
        relay.trap = None;
        let life = relay.life;
        note!(self, "relay {index}.{life} starts");
        self.after(0, MILLI, Happening::RelayLooks { relay: index, life });
    }

    pub(crate) fn relay_looks(&mut self, index: usize, life: u64) {
        let relay = &self.relays[index];
        if !relay.alive || relay.life != life {
            return;
        }
        let next = Happening::RelayLooks { relay: index, life };
        if relay.frozen_until > self.now {
            let thaws_at = relay.frozen_until;
            self.at(thaws_at, next);
            return;
        }
        if relay.stopping {
            if relay.shards.is_empty() {
                self.end_relay(index);
                return;
            }
        } else {
            self.balance(index);
        }
        self.after(MEMBERSHIP_INTERVAL / 2, MEMBERSHIP_INTERVAL, next);
    }

    /// Lets go of what is beyond the fair share, takes what is free within it.
    fn balance(&mut self, index: usize) {
        let members = self.relays.iter().filter(|relay| relay.alive).count() as u32;
        let relay = &self.relays[index];
        let owned: Vec<u32> = relay.shards.keys().copied().collect();
        for shard in surplus(&owned, SHARDS, members) {
            self.stop_shard(index, shard);
        }
        let share = fair_share(SHARDS, members) as usize;
        let free: Vec<u32> = (0..SHARDS)
            .filter(|shard| !self.outbox.locks.contains_key(shard) && !owned.contains(shard))
            .take(share.saturating_sub(owned.len()))
            .collect();
        for shard in free {
            self.start_shard(index, shard);
        }
    }

    fn start_shard(&mut self, index: usize, shard: u32) {
        self.last_attempt += 1;
        let attempt = self.last_attempt;
        let task = ShardTask::new(attempt);
        let relay = &mut self.relays[index];
        let to = ShardRef {
            relay: index,
            life: relay.life,
            shard,
            attempt,
        };
        relay.shards.insert(shard, task);
        self.tell_relay(0, MILLI, to, RelayNews::Try);
    }

    pub(crate) fn stop_relay(&mut self, index: usize) {
        self.relays[index].stopping = true;
        let owned: Vec<u32> = self.relays[index].shards.keys().copied().collect();
        for shard in owned {
            self.stop_shard(index, shard);
        }
    }

    /// The process ends, in order or by kill -9: its sessions end a moment later, what it had on the wire may arrive.
    pub(crate) fn end_relay(&mut self, index: usize) {
        let owned: Vec<u32> = self.relays[index].shards.keys().copied().collect();
        for shard in owned {
            self.close_work(index, shard, IDLE_LOCK_MOST);
        }
        let relay = &mut self.relays[index];
        relay.alive = false;
        relay.shards.clear();
        self.after(
            200 * MILLI,
            3 * SECOND,
            Happening::RelayStarts { relay: index },
        );
    }
}

/// How long a server may take to notice that a client is dead.
const IDLE_LOCK_MOST: u64 = SECOND;
