//! Where a worker begins to read: the newest valid snapshot, or the log's beginning (design §9).

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{Effect, Limiter, Mode};
use crate::record::{Body, Init, Record, Tick};
use crate::{Machine, Moment, Snapshot, StateHash};

/// The most snapshots whose parts are collected at once.
const MAX_COLLECTED: usize = 4;

/// What is known while the log is looked through.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// The first offset that the broker has.
    first: i64,
    /// Where reading began.
    from: i64,
    end_reached: bool,
    candidate: Option<Candidate>,
    parts: BTreeMap<(i64, Uuid), Collected>,
    /// Snapshots cannot be believed: a wrong one was seen. The log is begun anew instead.
    distrusted: bool,
    /// When the log is begun anew, if no snapshot comes.
    begin_at: Option<Moment>,
}

/// A state that reading can go on from.
#[derive(Debug)]
struct Candidate {
    /// The last offset that it contains.
    as_of: i64,
    machine: Machine,
}

/// The parts of one snapshot.
#[derive(Debug)]
struct Collected {
    hash: StateHash,
    parts: Vec<Option<Vec<u8>>>,
}

impl Search {
    pub(super) fn next_timer(&self) -> Option<Moment> {
        self.begin_at
    }

    pub(super) fn distrust(&mut self, distrusted: bool) {
        self.distrusted |= distrusted;
    }

    /// The first offset that the broker has, once all that is there was looked through and nothing was found to begin from.
    pub(super) fn lacks_beginning(&self) -> Option<i64> {
        (self.end_reached && self.candidate.is_none() && self.begin_at.is_some())
            .then_some(self.first)
    }

    /// Adds a part, and answers the whole state once all are there.
    fn collect(&mut self, snapshot: Snapshot) -> Option<(Vec<u8>, StateHash)> {
        let key = (snapshot.as_of, snapshot.incarnation);
        let count = usize::try_from(snapshot.parts).unwrap_or(0);
        let collected = self.parts.entry(key).or_insert_with(|| Collected {
            hash: snapshot.hash,
            parts: vec![None; count],
        });
        if collected.hash != snapshot.hash || collected.parts.len() != count {
            return None;
        }
        let place = usize::try_from(snapshot.part)
            .ok()
            .and_then(|part| collected.parts.get_mut(part));
        if let Some(place) = place {
            *place = Some(snapshot.state);
        }
        if collected.parts.iter().any(Option::is_none) {
            while self.parts.len() > MAX_COLLECTED {
                self.parts.pop_first();
            }
            return None;
        }
        let collected = self.parts.remove(&key)?;
        let state: Vec<u8> = collected.parts.into_iter().flatten().flatten().collect();
        Some((state, collected.hash))
    }
}

impl Limiter {
    pub(super) fn opened(&mut self, first: i64, end: i64, effects: &mut Vec<Effect>) {
        if matches!(self.mode, Mode::Stopped(_)) {
            return;
        }
        let from = end.saturating_sub(self.options.search_back).max(first);
        self.search = Search {
            first,
            from,
            distrusted: self.search.distrusted,
            ..Search::default()
        };
        self.machine = Machine::supporting(self.options.machine_version);
        self.change_mode(Mode::Searching, effects);
        effects.push(Effect::Read { from });
    }

    pub(super) fn searched(
        &mut self,
        offset: i64,
        record: Option<Record>,
        now: Moment,
        effects: &mut Vec<Effect>,
    ) {
        let Some(Record { log_id, body }) = record else {
            return;
        };
        match body {
            Body::Init(Init { scope: None, .. }) if !log_id.is_nil() => {
                self.found_beginning(offset)
            }
            Body::Snapshot(snapshot) => self.found_snapshot(offset, log_id, snapshot, now, effects),
            Body::Init(_)
            | Body::Reserve(_)
            | Body::Penalise(_)
            | Body::Reset(_)
            | Body::Limits(_)
            | Body::Tick(_) => {}
        }
        if self.search.end_reached && self.search.candidate.is_some() {
            self.replay(effects);
        }
    }

    fn found_beginning(&mut self, offset: i64) {
        self.search.distrusted = false;
        self.search.candidate = Some(Candidate {
            as_of: offset.saturating_sub(1),
            machine: Machine::supporting(self.options.machine_version),
        });
    }

    fn found_snapshot(
        &mut self,
        offset: i64,
        log_id: Uuid,
        snapshot: Snapshot,
        now: Moment,
        effects: &mut Vec<Effect>,
    ) {
        let as_of = snapshot.as_of;
        let newest = self
            .search
            .candidate
            .as_ref()
            .map_or(i64::MIN, |candidate| candidate.as_of);
        let replayable = as_of.saturating_add(1) >= self.search.first && as_of < offset;
        if self.search.distrusted || as_of <= newest || !replayable {
            return;
        }
        let Some((state, hash)) = self.search.collect(snapshot) else {
            return;
        };
        match Machine::restore(&state, hash, self.options.machine_version) {
            Ok(machine) if machine.log_id() == log_id && machine.offset() == as_of => {
                self.search.candidate = Some(Candidate { as_of, machine });
            }
            Ok(_) | Err(crate::RestoreError::Hash | crate::RestoreError::Malformed(_)) => {
                self.counts.malformed += 1;
            }
            Err(crate::RestoreError::MachineVersion { wanted, supported }) => {
                let why = super::StoppedWhy::MachineVersion { wanted, supported };
                self.stop(why, now, effects);
            }
        }
    }

    pub(super) fn reached_end(&mut self, end: i64, now: Moment, effects: &mut Vec<Effect>) {
        let missing = self.machine.offset().saturating_add(1) < end;
        match self.mode {
            Mode::Searching => self.searched_all(now, effects),
            Mode::Replaying | Mode::Live if missing => {
                let expected = self.machine.offset().saturating_add(1);
                let found = end;
                self.close(super::ClosedWhy::Gap { expected, found }, now, effects);
            }
            Mode::Replaying => {
                self.change_mode(Mode::Live, effects);
                self.search.begin_at = None;
                self.duties.went_live(now, &self.options, &mut self.random);
                self.look_again(None, now);
            }
            Mode::Live | Mode::Closed(_) | Mode::Stopped(_) => {}
        }
    }

    fn searched_all(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        self.search.end_reached = true;
        if self.search.candidate.is_some() {
            self.replay(effects);
        } else if self.search.from > self.search.first {
            self.search.from = self.search.first;
            self.search.end_reached = false;
            self.search.parts.clear();
            effects.push(Effect::Read {
                from: self.search.first,
            });
        } else if self.search.begin_at.is_none() {
            self.ask_for_snapshot(now, effects);
        }
    }

    /// Nothing to begin from. Whoever lives in this log writes a snapshot now; if nobody does, it is begun anew.
    fn ask_for_snapshot(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        let tick = Tick {
            incarnation: self.options.incarnation,
            snapshot: true,
        };
        if !self.search.distrusted {
            self.append_to(Uuid::nil(), Body::Tick(tick), effects);
        }
        let wait = self.options.begin_after;
        self.search.begin_at = Some(now.after(wait + self.random.up_to(wait / 3)));
    }

    pub(super) fn search_timer(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        if self.mode != Mode::Searching || self.search.begin_at.is_none_or(|at| at > now) {
            return;
        }
        let log_id = self.new_id();
        let begin = Init {
            incarnation: self.options.incarnation,
            scope: None,
        };
        self.append_to(log_id, Body::Init(begin), effects);
        let wait = self.options.begin_after;
        self.search.begin_at = Some(now.after(wait + self.random.up_to(wait / 3)));
    }

    fn replay(&mut self, effects: &mut Vec<Effect>) {
        let Some(Candidate { as_of, machine }) = self.search.candidate.take() else {
            return;
        };
        self.machine = machine;
        self.search.parts.clear();
        self.search.begin_at = None;
        self.change_mode(Mode::Replaying, effects);
        effects.push(Effect::Read {
            from: as_of.saturating_add(1),
        });
    }

    fn change_mode(&mut self, mode: Mode, effects: &mut Vec<Effect>) {
        if self.mode != mode {
            effects.push(Effect::Mode(mode.clone()));
        }
        self.mode = mode;
    }
}
