//! A worker: the real limiter, and what the edge does around it.

use std::collections::BTreeMap;

use tidings_ratelimit::{Class, Limiter, Moment, Options, PermitId};
use uuid::Uuid;

use crate::settings::Settings;

/// A message that waits for its permit.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) scope: usize,
    pub(crate) chat: String,
    pub(crate) class: Class,
    pub(crate) since: u64,
}

pub(crate) struct Worker {
    pub(crate) limiter: Limiter,
    pub(crate) slot: usize,
    pub(crate) alive: bool,
    pub(crate) machine_version: u32,
    born: u64,
    /// Parts per million that its monotonic clock is off.
    drift: i64,
    /// Nothing happens in it before.
    pub(crate) frozen_until: u64,
    /// The next offset that it is given, in which log, under which read.
    pub(crate) position: i64,
    pub(crate) epoch: u64,
    pub(crate) reading: bool,
    pub(crate) generation: u64,
    pub(crate) delivery: Option<u64>,
    pub(crate) timer: Option<u64>,
    /// Records of one producer keep their order.
    pub(crate) last_append: u64,
    pub(crate) messages: BTreeMap<PermitId, Message>,
    pub(crate) next_permit: u64,
    /// Calls that it started, by class.
    pub(crate) started: [u64; 4],
    pub(crate) last_started: [u64; 4],
}

impl Worker {
    pub(crate) fn new(
        number: usize,
        slot: usize,
        seed: u64,
        settings: &Settings,
        now: u64,
    ) -> Self {
        let incarnation = Uuid::from_u128(u128::from(seed) << 64 | (number as u128 + 1));
        let machine_version = if settings.versions && !slot.is_multiple_of(2) {
            1
        } else {
            2
        };
        let options = Options {
            search_back: settings.search_back,
            machine_version,
            ..Options::new(incarnation, seed.wrapping_add(number as u64))
        };
        let mixed = seed.wrapping_mul(31).wrapping_add(number as u64 * 17);
        Self {
            limiter: Limiter::new(options),
            slot,
            alive: true,
            machine_version,
            born: now.saturating_sub(mixed % 3_000_000),
            drift: (mixed % 101) as i64 - 50,
            frozen_until: 0,
            position: 0,
            epoch: 0,
            reading: false,
            generation: 0,
            delivery: None,
            timer: None,
            last_append: now,
            messages: BTreeMap::new(),
            next_permit: 0,
            started: [0; 4],
            last_started: [now; 4],
        }
    }

    /// Its own time.
    pub(crate) fn moment(&self, now: u64) -> Moment {
        let since = (now - self.born) as i64;
        Moment((since + since * self.drift / 1_000_000) as u64)
    }

    /// When its own time will be that.
    pub(crate) fn real(&self, moment: Moment) -> u64 {
        let since = moment.0 as i64;
        let mut real = self.born + (since - since * self.drift / 1_000_000) as u64;
        while self.moment(real) < moment {
            real += 1;
        }
        real
    }

    pub(crate) fn waiting(&self, scope: usize, class: Class) -> usize {
        let same = |message: &&Message| message.scope == scope && message.class == class;
        self.messages.values().filter(same).count()
    }
}
