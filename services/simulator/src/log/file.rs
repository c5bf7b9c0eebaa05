//! The log's file: one JSON object a line. A call has a line when it arrives and another when it is answered; the last
//! line of a number counts.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::entry::Entry;

/// The longest line read back, in bytes: a body of the default bound, escaped, fits.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

/// Why the log's file cannot be used.
#[derive(Debug, Error)]
pub enum LogFileError {
    /// It cannot be opened, read or cut.
    #[error("{path}: cannot be opened, read or cut")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line of it is not an entry.
    #[error("{path}, line {line}: is not a log entry; give another log file, or remove this one")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// Its numbers have a gap.
    #[error(
        "{path}, line {line}: entry {seq} does not follow the ones before; give another log file, or remove this one"
    )]
    Gap {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The number found.
        seq: u64,
    },
    /// It holds more than the log may.
    #[error(
        "{path}: holds more than the log may; raise log_entries or log_bytes, or give another log file"
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
}

/// The open file.
pub(super) struct LogFile {
    file: File,
    line: Vec<u8>,
}

impl LogFile {
    /// Opens or creates `path` and hands each entry in it to `remember`, which says whether it could be taken. A last
    /// line without an end (the process was killed while writing it, so before its answer) is cut off.
    pub(super) fn open(
        path: &Path,
        mut remember: impl FnMut(Entry) -> Remembered,
    ) -> Result<Self, LogFileError> {
        let io = |source| LogFileError::Io {
            path: path.to_owned(),
            source,
        };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false);
        let mut file = file.open(path).map_err(io)?;
        let whole_bytes = read_back(path, &file, &mut remember)?;
        file.set_len(whole_bytes).map_err(io)?;
        file.seek(SeekFrom::Start(whole_bytes)).map_err(io)?;
        Ok(Self::at_its_end(file))
    }

    /// Writes to `file` from where it stands.
    pub(super) fn at_its_end(file: File) -> Self {
        Self {
            file,
            line: Vec::new(),
        }
    }

    /// Writes one entry through to the system.
    pub(super) fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, entry)?;
        self.line.push(b'\n');
        self.file.write_all(&self.line)
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        Ok(())
    }
}

/// What became of an entry read back.
pub(super) enum Remembered {
    /// It is in the log.
    Yes,
    /// Its number is neither the next nor one that is there.
    Gap,
    /// The log is full.
    Full,
}

/// Reads whole lines; returns how many bytes they take.
fn read_back(
    path: &Path,
    file: &File,
    remember: &mut impl FnMut(Entry) -> Remembered,
) -> Result<u64, LogFileError> {
    let path = path.to_owned();
    let mut reader = BufReader::new(file);
    let (mut whole_bytes, mut line) = (0, 0);
    let mut text = Vec::new();
    loop {
        text.clear();
        line += 1;
        let read = io::Read::take(&mut reader, MAX_LINE_BYTES).read_until(b'\n', &mut text);
        if let Err(source) = read {
            return Err(LogFileError::Io { path, source });
        }
        if text.last() != Some(&b'\n') && (text.len() as u64) < MAX_LINE_BYTES {
            return Ok(whole_bytes);
        }
        let entry: Entry = match serde_json::from_slice(&text) {
            Ok(entry) => entry,
            Err(source) => return Err(LogFileError::Line { path, line, source }),
        };
        let seq = entry.seq;
        match remember(entry) {
            Remembered::Yes => whole_bytes += text.len() as u64,
            Remembered::Gap => return Err(LogFileError::Gap { path, line, seq }),
            Remembered::Full => return Err(LogFileError::TooLarge { path }),
        }
    }
}
