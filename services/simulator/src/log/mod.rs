//! Every received call, in order: in memory within bounds, and in a file if one is given.
//!
//! An entry is there, and written through to the system, before its call is answered. When the log is full, or its file
//! fails, calls are refused: nothing is forgotten silently.

mod entry;
mod file;
mod state;
mod store;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub(crate) use entry::Arrival;
pub use entry::{Entry, Outcome};
use file::LogFile;
pub use file::LogFileError;
use state::{Limits, State};

use crate::options::SimulatorOptions;

/// Counts since the start or the last reset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Calls in the log.
    pub received: u64,
    /// Of these, those that a person would see.
    pub accepted: u64,
    /// Of these, those that were too much for a limit.
    #[serde(default)]
    pub over_limit: u64,
    /// Of these, those inside a penalty that was announced.
    #[serde(default)]
    pub in_penalty: u64,
    /// Of these, those in progress, or whose caller left before an answer.
    pub unanswered: u64,
    /// Of these, the others by answer: the status, else `lost`, `hang` or `reset`.
    pub by_answer: BTreeMap<String, u64>,
    /// Calls refused because the log could not take them; they are in no other count.
    pub refused: u64,
    /// Memory taken, in bytes, about.
    pub log_bytes: u64,
    /// The number that the next call gets.
    pub next_seq: u64,
}

/// Why a call cannot be logged, and so is not taken.
#[derive(Debug, Error)]
pub(crate) enum LogRefusal {
    #[error("the simulator's log is full: reset it, or raise log_entries or log_bytes")]
    Full,
    #[error("the simulator's log file could not be written: free its disk and reset it")]
    File,
}

/// What a logged call is known by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticket {
    pub(crate) seq: u64,
    pub(crate) message_id: Option<i64>,
}

/// The log. Its lock is held for one entry, or one piece of reading, never across a wait.
pub(crate) struct Log {
    state: Mutex<State>,
}

impl Log {
    /// An empty log, or what the options' file holds.
    ///
    /// # Errors
    /// [`LogFileError`] if the file cannot be used, or holds anything but a log.
    pub(crate) fn open(options: &SimulatorOptions) -> Result<Self, LogFileError> {
        let mut state = State::new(Limits {
            entries: options.log_entries,
            bytes: options.log_bytes,
        });
        if let Some(path) = &options.log_file {
            let file = LogFile::open(path, |entry| state.remember(entry))?;
            state.write_to(file);
        }
        Ok(Self {
            state: Mutex::new(state),
        })
    }

    /// Takes a call into the log, and so decides its place in the order.
    ///
    /// # Errors
    /// [`LogRefusal`] if the log cannot hold it: then the call must be refused.
    pub(crate) fn enter(&self, arrival: Arrival) -> Result<Ticket, LogRefusal> {
        self.state().enter(arrival)
    }

    /// Fills in what the call was answered; nothing if a reset has forgotten it.
    pub(crate) fn answer(&self, seq: u64, outcome: Outcome) {
        self.state().answer(seq, outcome);
    }

    /// Up to `limit` entries from `seq` on.
    pub(crate) fn read(&self, seq: u64, limit: usize) -> Vec<Entry> {
        self.state().store().read(seq, limit)
    }

    /// The number that the next call gets.
    pub(crate) fn next_seq(&self) -> u64 {
        self.state().store().next_seq()
    }

    pub(crate) fn stats(&self) -> Stats {
        self.state().stats()
    }

    /// Forgets every entry, in memory and in the file. Numbers and message ids go on.
    ///
    /// # Errors
    /// The file's, if it cannot be emptied; calls are then refused.
    pub(crate) fn reset(&self) -> io::Result<()> {
        self.state().reset()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
