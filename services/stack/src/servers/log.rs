//! A server's log file.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Instant;

use super::NotYet;
use crate::error::StackError;
use crate::part::Part;

/// How much of a log an error quotes.
const TAIL_BYTES: u64 = 4 * 1024;

/// What a server has written since it was started last. Earlier lines stay in the file.
pub(crate) struct PartLog {
    path: PathBuf,
    from: u64,
    opened: Instant,
}

impl PartLog {
    pub(crate) fn begin(path: PathBuf) -> Self {
        let from = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        Self {
            path,
            from,
            opened: Instant::now(),
        }
    }

    /// The file, to append to.
    pub(crate) fn open(&self) -> Result<File, StackError> {
        File::options()
            .create(true)
            .append(true)
            .open(&self.path)
            .map_err(StackError::file("open", &self.path))
    }

    /// Whether a line with `text` was written.
    pub(crate) fn says(&self, text: &str) -> io::Result<bool> {
        Ok(self.read(self.from)?.contains(text))
    }

    pub(crate) fn ended(&self, part: Part, status: ExitStatus) -> StackError {
        StackError::Ended {
            part,
            status,
            log: self.path.clone(),
            tail: self.tail(),
        }
    }

    /// `deadline` has passed.
    pub(crate) fn unhealthy(&self, part: Part, deadline: Instant, source: NotYet) -> StackError {
        let deadline = deadline.saturating_duration_since(self.opened);
        StackError::Unhealthy {
            part,
            deadline,
            log: self.path.clone(),
            tail: self.tail(),
            source,
        }
    }

    fn tail(&self) -> String {
        let length = fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        self.read(self.from.max(length.saturating_sub(TAIL_BYTES)))
            .unwrap_or_else(|error| format!("(unreadable: {error})"))
    }

    fn read(&self, from: u64) -> io::Result<String> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn only_what_was_written_since_the_start_counts() {
        let path = std::env::temp_dir().join(format!(
            "stack-log-{}-{}",
            std::process::id(),
            rand::random::<u32>()
        ));
        fs::write(&path, "listening on 1\n").unwrap();
        let log = PartLog::begin(path.clone());
        assert!(!log.says("listening").unwrap());
        log.open()
            .unwrap()
            .write_all(format!("{}listening on 2\n", "x".repeat(5_000)).as_bytes())
            .unwrap();
        assert!(log.says("listening on 2").unwrap());
        let StackError::Ended { tail, .. } = log.ended(Part::Kafka, ExitStatus::from_raw(0)) else {
            panic!()
        };
        assert!(tail.len() <= 4 * 1024 && tail.ends_with("listening on 2\n"));
        fs::remove_file(path).unwrap();
    }
}
