//! The topic: offsets, append times, deletion.

use tidings_ratelimit::{Applied, Machine, StateHash};

use crate::settings::MILLI;

/// A record as the broker keeps it.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) append_time_millis: i64,
    pub(crate) value: Vec<u8>,
}

/// The topic, with a replica that reads each record at the moment of its appending.
pub(crate) struct Log {
    /// How often the topic was deleted and made again.
    pub(crate) epoch: u64,
    pub(crate) first: i64,
    base: i64,
    records: Vec<Stored>,
    clock_millis: i64,
    pub(crate) reference: Machine,
    /// Of the reference after some of the offsets.
    hashes: Vec<Option<StateHash>>,
    last_append: Option<u64>,
    long_gap: bool,
    /// When time of the log went faster than time, and by how much, in microseconds.
    stolen: Vec<(u64, u64)>,
}

/// Every so many offsets hashes are compared.
const COMPARED: usize = 16;

impl Log {
    pub(crate) fn new(first: i64) -> Self {
        Self {
            epoch: 0,
            first,
            base: first,
            records: Vec::new(),
            clock_millis: 1_700_000_000_000,
            reference: Machine::supporting(2),
            hashes: Vec::new(),
            last_append: None,
            long_gap: false,
            stolen: Vec::new(),
        }
    }

    pub(crate) fn end(&self) -> i64 {
        self.base + self.records.len() as i64
    }

    pub(crate) fn get(&self, offset: i64) -> Option<&Stored> {
        if offset < self.first {
            return None;
        }
        self.records.get(usize::try_from(offset - self.base).ok()?)
    }

    pub(crate) fn step_clock(&mut self, millis: i64) {
        self.clock_millis += millis;
    }

    /// Appends, and answers what the record did.
    pub(crate) fn append(&mut self, value: Vec<u8>, now: u64) -> (i64, Applied) {
        let offset = self.end();
        let append_time_millis = self.clock_millis + (now / MILLI) as i64;
        let before = self.reference.time();
        let log_id = self.reference.log_id();
        let applied = self
            .reference
            .apply(offset, append_time_millis, &value)
            .expect("the reference reads everything");
        let gap = self
            .records
            .last()
            .map_or(0, |last| append_time_millis - last.append_time_millis);
        // Nobody can tell a short step, or one that follows a silence, from time. A long one must not count.
        let deceptive = gap <= 300 || self.long_gap;
        self.long_gap = gap > 300;
        if log_id == self.reference.log_id() && deceptive {
            self.note_stolen(before.until(applied.time).as_micros() as u64, now);
        }
        self.last_append = Some(now);
        let compared = self.records.len().is_multiple_of(COMPARED);
        self.hashes.push(compared.then(|| self.reference.hash()));
        self.records.push(Stored {
            append_time_millis,
            value,
        });
        (offset, applied)
    }

    fn note_stolen(&mut self, advanced: u64, now: u64) {
        let elapsed = self.last_append.map_or(u64::MAX, |last| now - last);
        if advanced > elapsed.saturating_add(MILLI) {
            self.stolen.push((now, advanced - elapsed));
        }
    }

    /// How much of a stretch the log's time left out.
    pub(crate) fn stolen(&self, from: u64, to: u64) -> u64 {
        let within = self.stolen.iter().rev().take_while(|(at, _)| *at >= from);
        within.filter(|(at, _)| *at <= to).map(|(_, by)| by).sum()
    }

    /// A worker cannot tell a step that is shorter than its records' way: for ten seconds it may start that much late.
    pub(crate) fn misled(&self, from: u64, to: u64) -> u64 {
        self.stolen(from.saturating_sub(12_000_000), to)
            .min(50 * MILLI)
    }

    pub(crate) fn hash_at(&self, offset: i64) -> Option<StateHash> {
        let index = usize::try_from(offset - self.base).ok()?;
        self.hashes.get(index).copied().flatten()
    }

    /// Deletes everything that is there.
    pub(crate) fn truncate(&mut self) {
        self.first = self.end();
    }

    /// Deletes the topic and makes it anew.
    pub(crate) fn recreate(&mut self) {
        self.epoch += 1;
        self.first = 0;
        self.base = 0;
        self.records.clear();
        self.hashes.clear();
        self.reference = Machine::supporting(2);
        self.last_append = None;
    }
}
