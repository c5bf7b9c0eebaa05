//! The simulator's log, line by line: it can be larger than memory should hold twice.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;

use crate::evidence::Call;

use super::{GatherError, SimulatorLog};

/// The simulator keeps bodies of some megabytes, escaped; no entry of ours comes near.
const MAX_LINE_BYTES: usize = 16 << 20;

/// The longest wait for the next part of the log.
const READ_DEADLINE: Duration = Duration::from_secs(30);

pub(super) async fn read(log: &SimulatorLog) -> Result<Vec<Call>, GatherError> {
    match log {
        SimulatorLog::Url(base) => fetch(base).await,
        SimulatorLog::File(path) => read_file(path).await,
    }
}

async fn fetch(base: &str) -> Result<Vec<Call>, GatherError> {
    let url = format!("{}/sim/log", base.trim_end_matches('/'));
    let client = reqwest::Client::builder()
        .no_proxy()
        .read_timeout(READ_DEADLINE)
        .build()
        .map_err(failed)?;
    let answer = client.get(url).send().await.map_err(failed)?;
    let mut answer = answer.error_for_status().map_err(failed)?;
    let mut lines = Lines::default();
    while let Some(chunk) = answer.chunk().await.map_err(failed)? {
        lines.feed(&chunk)?;
    }
    lines.finish()
}

fn failed(source: reqwest::Error) -> GatherError {
    GatherError::Simulator {
        source: source.without_url(),
    }
}

async fn read_file(path: &Path) -> Result<Vec<Call>, GatherError> {
    let failed = |source| GatherError::LogFile {
        path: path.to_owned(),
        source,
    };
    let mut file = tokio::fs::File::open(path).await.map_err(failed)?;
    let mut lines = Lines::default();
    let mut chunk = vec![0; 1 << 16];
    loop {
        match file.read(&mut chunk).await.map_err(failed)? {
            0 => return lines.finish(),
            read => lines.feed(chunk.get(..read).unwrap_or_default())?,
        }
    }
}

/// Cuts chunks into lines and reads each. A call can have a line when it arrives and another when it
/// is answered: the last line of a number counts.
#[derive(Default)]
struct Lines {
    calls: BTreeMap<u64, Call>,
    /// The line that has not ended yet.
    tail: Vec<u8>,
    number: u64,
}

impl Lines {
    fn feed(&mut self, chunk: &[u8]) -> Result<(), GatherError> {
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            self.tail.extend_from_slice(part);
            if self.tail.len() > MAX_LINE_BYTES {
                return Err(GatherError::LogLineTooLong {
                    line: self.number + 1,
                    max_bytes: MAX_LINE_BYTES,
                });
            }
            if part.ends_with(b"\n") {
                self.end_line()?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Call>, GatherError> {
        self.end_line()?;
        Ok(self.calls.into_values().collect())
    }

    fn end_line(&mut self) -> Result<(), GatherError> {
        let line = std::mem::take(&mut self.tail);
        self.number += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let call: Call = serde_json::from_slice(&line).map_err(|source| GatherError::LogLine {
            line: self.number,
            source,
        })?;
        self.calls.insert(call.seq, call);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Answer;

    const LINE: &str = r#"{"seq":1,"account":"main","chat_id":5,"accepted":true,"answer":200}"#;
    const ARRIVAL: &str = r#"{"seq":2,"account":"main","chat_id":5,"accepted":true,"answer":null}"#;
    const ANSWER: &str = r#"{"seq":2,"account":"main","chat_id":5,"accepted":true,"answer":200}"#;

    #[test]
    fn reads_lines_however_they_are_cut() {
        let log = format!("{LINE}\n\n{ARRIVAL}\n{ANSWER}");
        for size in [1, 7, 64, 4096] {
            let mut lines = Lines::default();
            for chunk in log.as_bytes().chunks(size) {
                lines.feed(chunk).unwrap();
            }
            let calls = lines.finish().unwrap();
            let seen: Vec<_> = calls.iter().map(|call| (call.seq, call.answer)).collect();
            let answered = Answer::Status(200);
            assert_eq!(seen, [(1, answered), (2, answered)], "chunks of {size}");
        }
    }

    #[test]
    fn names_the_line_that_is_no_entry() {
        let mut lines = Lines::default();
        let error = lines.feed(format!("{LINE}\nnonsense\n").as_bytes());
        assert!(matches!(error, Err(GatherError::LogLine { line: 2, .. })));
    }

    #[test]
    fn refuses_an_endless_line() {
        let mut lines = Lines::default();
        let error = lines.feed(&vec![b'x'; MAX_LINE_BYTES + 1]);
        assert!(matches!(
            error,
            Err(GatherError::LogLineTooLong { line: 1, .. })
        ));
    }
}
