//! What the log's lock guards.

use std::collections::BTreeMap;
use std::io;

use super::entry::{Arrival, Entry, Outcome};
use super::file::{LogFile, Remembered};
use super::store::{Store, entry_bytes};
use super::{LogRefusal, Stats, Ticket};

/// The log's bounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) entries: usize,
    pub(super) bytes: usize,
}

/// Entries, counts and file, always of one state.
pub(super) struct State {
    limits: Limits,
    store: Store,
    counts: Counts,
    next_message_id: i64,
    sink: Sink,
}

/// The file, if there is one.
#[derive(Default)]
struct Sink {
    file: Option<LogFile>,
    /// A write failed: the file lacks an entry, so no further call is taken.
    failed: bool,
}

#[derive(Default)]
struct Counts {
    accepted: u64,
    over_limit: u64,
    in_penalty: u64,
    answered: BTreeMap<Outcome, u64>,
    refused: u64,
}

impl State {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            store: Store::starting_at(1),
            counts: Counts::default(),
            next_message_id: 1,
            sink: Sink::default(),
        }
    }

    /// From now on entries are written to `file`.
    pub(super) fn write_to(&mut self, file: LogFile) {
        self.sink.file = Some(file);
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// Takes an entry read back from the file: the next one, or a later line of one that is there.
    pub(super) fn remember(&mut self, entry: Entry) -> Remembered {
        if self.store.len() == 0 {
            self.store = Store::starting_at(entry.seq);
        }
        if entry.seq == self.store.next_seq() {
            return self.remember_new(entry);
        }
        match entry
            .answer
            .map(|outcome| self.set_answer(entry.seq, outcome))
        {
            Some(Some(_)) => Remembered::Yes,
            Some(None) | None => Remembered::Gap,
        }
    }

    fn remember_new(&mut self, entry: Entry) -> Remembered {
        if self.is_full(&entry) {
            return Remembered::Full;
        }
        let (seq, answer) = (entry.seq, entry.answer);
        self.take(Entry {
            answer: None,
            ..entry
        });
        if let Some(outcome) = answer {
            self.set_answer(seq, outcome);
        }
        Remembered::Yes
    }

    pub(super) fn enter(&mut self, arrival: Arrival) -> Result<Ticket, LogRefusal> {
        let seq = self.store.next_seq();
        let message_id = arrival.accepted.then_some(self.next_message_id);
        let entry = arrival.numbered(seq, message_id);
        let refusal = if self.is_full(&entry) {
            Some(LogRefusal::Full)
        } else {
            (!self.sink.write(&entry)).then_some(LogRefusal::File)
        };
        if let Some(refusal) = refusal {
            self.counts.refused += 1;
            return Err(refusal);
        }
        self.take(entry);
        Ok(Ticket { seq, message_id })
    }

    pub(super) fn answer(&mut self, seq: u64, outcome: Outcome) {
        if let Some(entry) = self.store.answer(seq, outcome) {
            self.counts.count(outcome);
            // A failed write is logged there, and refuses the next call.
            self.sink.write(entry);
        }
    }

    pub(super) fn stats(&self) -> Stats {
        let received = self.store.len() as u64;
        let answered: u64 = self.counts.answered.values().sum();
        let named = |(outcome, count): (&Outcome, &u64)| (outcome.name(), *count);
        Stats {
            received,
            accepted: self.counts.accepted,
            over_limit: self.counts.over_limit,
            in_penalty: self.counts.in_penalty,
            unanswered: received.saturating_sub(answered),
            by_answer: self.counts.answered.iter().map(named).collect(),
            refused: self.counts.refused,
            log_bytes: self.store.bytes() as u64,
            next_seq: self.store.next_seq(),
        }
    }

    pub(super) fn reset(&mut self) -> io::Result<()> {
        self.store = Store::starting_at(self.store.next_seq());
        self.counts = Counts::default();
        self.sink.clear()
    }

    fn is_full(&self, entry: &Entry) -> bool {
        self.store.len() >= self.limits.entries
            || self.store.bytes() + entry_bytes(entry) > self.limits.bytes
    }

    fn take(&mut self, entry: Entry) {
        self.counts.accepted += u64::from(entry.accepted);
        self.counts.over_limit += u64::from(entry.over_limit);
        self.counts.in_penalty += u64::from(entry.in_penalty);
        let last_message_id = entry.message_id.unwrap_or_default();
        self.next_message_id = self.next_message_id.max(last_message_id.saturating_add(1));
        self.store.push(entry);
    }

    /// `None` if the entry is not there, or has its answer.
    fn set_answer(&mut self, seq: u64, outcome: Outcome) -> Option<()> {
        self.store.answer(seq, outcome)?;
        self.counts.count(outcome);
        Some(())
    }
}

impl Counts {
    fn count(&mut self, outcome: Outcome) {
        *self.answered.entry(outcome).or_default() += 1;
    }
}

impl Sink {
    /// Whether the file, if there is one, has `entry` now.
    fn write(&mut self, entry: &Entry) -> bool {
        if self.failed {
            return false;
        }
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write(entry));
        if let Err(error) = &written {
            tracing::error!(%error, "the log file cannot be written: calls are refused from now on");
            self.failed = true;
        }
        written.is_ok()
    }

    fn clear(&mut self) -> io::Result<()> {
        let cleared = self.file.as_mut().map_or(Ok(()), LogFile::clear);
        self.failed = cleared.is_err();
        cleared
    }
}
