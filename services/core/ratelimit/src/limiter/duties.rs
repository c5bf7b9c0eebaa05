//! What a worker does for all: ticks, snapshots, new scopes.

use std::collections::VecDeque;
use std::time::Duration;

use super::{ClosedWhy, Effect, Limiter, Mode, Options};
use crate::machine::Machine;
use crate::random::Random;
use crate::record::{Body, Init, MAX_PART_BYTES, MAX_PARTS, Tick};
use crate::{LogTime, Moment, Snapshot, StateHash};

/// States of our own that snapshots are compared with.
const KEPT_HASHES: usize = 16;
/// How long others wait at most, each for a time of its own, to write a snapshot that a late reader asked for.
const ASKED_WITHIN: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Duties {
    /// When a tick is due, if nothing is read before.
    tick_at: Moment,
    /// When to write the snapshot that is kept, unless somebody else did.
    write_at: Option<Moment>,
    kept: Option<Kept>,
    hashes: VecDeque<(i64, StateHash)>,
    /// When to ask for one, whatever happens.
    keepalive_at: Moment,
    /// When to begin the scopes that the log lacks.
    propose_at: Option<Moment>,
}

/// A state that is to be written.
#[derive(Debug)]
struct Kept {
    as_of: i64,
    time: LogTime,
    hash: StateHash,
    state: Vec<u8>,
}

impl Duties {
    pub(super) fn new(options: &Options, random: &mut Random) -> Self {
        Self {
            tick_at: Moment(0).after(options.tick_after + random.up_to(options.tick_spread)),
            write_at: None,
            kept: None,
            hashes: VecDeque::new(),
            keepalive_at: Moment(0).after(options.snapshot_keepalive),
            propose_at: None,
        }
    }

    /// A record was read: no tick is due for a while.
    pub(super) fn read(&mut self, now: Moment, options: &Options, random: &mut Random) {
        self.tick_at = now.after(options.tick_after + random.up_to(options.tick_spread));
    }

    pub(super) fn went_live(&mut self, now: Moment, options: &Options, random: &mut Random) {
        self.read(now, options, random);
        self.propose_at = Some(now);
        self.put_off_keepalive(now, options, random);
    }

    pub(super) fn propose_at(&mut self, at: Moment) {
        self.propose_at = Some(self.propose_at.map_or(at, |known| known.min(at)));
    }

    pub(super) fn forget_snapshots(&mut self) {
        self.write_at = None;
        self.kept = None;
        self.hashes.clear();
    }

    pub(super) fn next_timer(&self, machine: &Machine) -> Option<Moment> {
        let tick = is_live(machine).then_some(self.tick_at);
        [
            tick,
            self.write_at,
            Some(self.keepalive_at),
            self.propose_at,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn put_off_keepalive(&mut self, now: Moment, options: &Options, random: &mut Random) {
        let spread = random.up_to(options.snapshot_keepalive / 4);
        self.keepalive_at = now.after(options.snapshot_keepalive + spread);
    }
}

/// While something is, time must pass.
fn is_live(machine: &Machine) -> bool {
    machine.live_until() > machine.time()
}

impl Limiter {
    pub(super) fn perform_duties(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        if self.duties.propose_at.is_some_and(|at| at <= now) {
            self.propose_scopes(now, effects);
        }
        if self.duties.write_at.is_some_and(|at| at <= now) {
            self.write_snapshot(effects);
        }
        let keepalive = self.duties.keepalive_at <= now;
        if keepalive || (is_live(&self.machine) && self.duties.tick_at <= now) {
            self.tick(keepalive, now, effects);
        }
    }

    fn tick(&mut self, snapshot: bool, now: Moment, effects: &mut Vec<Effect>) {
        let tick = Tick {
            incarnation: self.options.incarnation,
            snapshot,
        };
        self.append(Body::Tick(tick), effects);
        self.counts.ticks += 1;
        if snapshot {
            self.duties
                .put_off_keepalive(now, &self.options, &mut self.random);
        }
        self.duties.read(now, &self.options, &mut self.random);
    }

    /// Begins the scopes of our accounts that the log does not have.
    fn propose_scopes(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        let missing: Vec<_> = self
            .proposals
            .iter()
            .filter(|(name, _)| !self.machine.has_scope(name))
            .map(|(name, limits)| (name.to_string(), limits.clone()))
            .collect();
        self.duties.propose_at =
            (!missing.is_empty()).then(|| now.after(self.options.repeat_after));
        for scope in missing {
            let init = Init {
                incarnation: self.options.incarnation,
                scope: Some(scope),
            };
            self.append(Body::Init(init), effects);
        }
    }

    /// A snapshot is due: keeps the state, and notes when it is ours to write.
    pub(super) fn keep_snapshot(&mut self, as_of: i64, ours: bool, asked: bool, now: Moment) {
        let state = self.machine.encode();
        let hash = StateHash::of(&state);
        self.duties.hashes.push_back((as_of, hash));
        if self.duties.hashes.len() > KEPT_HASHES {
            self.duties.hashes.pop_front();
        }
        let wait = match (ours, asked) {
            (true, _) => Duration::ZERO,
            (false, true) => self.random.up_to(ASKED_WITHIN),
            (false, false) => {
                let takeover = self.options.snapshot_takeover;
                takeover + self.random.up_to(takeover)
            }
        };
        if self.mode == Mode::Live {
            self.duties.write_at = Some(now.after(wait));
            self.duties.kept = Some(Kept {
                as_of,
                time: self.machine.time(),
                hash,
                state,
            });
        }
    }

    fn write_snapshot(&mut self, effects: &mut Vec<Effect>) {
        self.duties.write_at = None;
        let Some(kept) = self.duties.kept.take() else {
            return;
        };
        let parts: Vec<&[u8]> = kept.state.chunks(MAX_PART_BYTES).collect();
        let Ok(count) = u32::try_from(parts.len()) else {
            return;
        };
        if count > MAX_PARTS {
            return;
        }
        self.counts.snapshots += 1;
        for (part, state) in (0..).zip(parts) {
            let snapshot = Snapshot {
                incarnation: self.options.incarnation,
                as_of: kept.as_of,
                time: kept.time,
                hash: kept.hash,
                part,
                parts: count,
                state: state.to_vec(),
            };
            self.append(Body::Snapshot(snapshot), effects);
        }
    }

    /// Somebody wrote a snapshot: ours need not be written, and both must agree.
    pub(super) fn compare(&mut self, snapshot: &Snapshot, now: Moment, effects: &mut Vec<Effect>) {
        let as_of = snapshot.as_of;
        if self
            .duties
            .kept
            .as_ref()
            .is_some_and(|kept| kept.as_of <= as_of)
        {
            self.duties.kept = None;
            self.duties.write_at = None;
        }
        self.duties
            .put_off_keepalive(now, &self.options, &mut self.random);
        let own = self
            .duties
            .hashes
            .iter()
            .find(|(offset, _)| *offset == as_of);
        if own.is_some_and(|(_, hash)| *hash != snapshot.hash) {
            self.close(ClosedWhy::HashMismatch { as_of }, now, effects);
        }
    }
}
