//! Why evidence could not be read, and what to do about it.

use std::error::Error;
use std::path::PathBuf;

use rdkafka::error::KafkaError;
use thiserror::Error;

/// Evidence that could not be read. No text holds a URL or a password.
#[derive(Debug, Error)]
pub enum GatherError {
    /// A database cannot be reached.
    #[error("cannot connect to the {database} database; check {option} and that it runs")]
    Connect {
        /// `upstream` or `state`.
        database: &'static str,
        /// The option that names it.
        option: &'static str,
        /// What the client says.
        source: tokio_postgres::Error,
    },
    /// A database did not answer in time.
    #[error("the {database} database did not answer in time; check {option} and that it runs")]
    Slow {
        /// `upstream` or `state`.
        database: &'static str,
        /// The option that names it.
        option: &'static str,
    },
    /// A table is missing.
    #[error("the {database} database has no table {table}: {remedy}")]
    MissingTable {
        /// `upstream` or `state`.
        database: &'static str,
        /// The table.
        table: &'static str,
        /// What makes it.
        remedy: &'static str,
    },
    /// A query failed.
    #[error("cannot read {what} from the {database} database")]
    Query {
        /// `upstream` or `state`.
        database: &'static str,
        /// What was read.
        what: &'static str,
        /// What the server says.
        source: tokio_postgres::Error,
    },
    /// A row holds what the judge does not know.
    #[error("unreadable row in {table}")]
    Row {
        /// The table.
        table: &'static str,
        /// What is wrong with it.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The simulator's log cannot be fetched.
    #[error("cannot fetch the simulator's log; check --simulator and that it runs")]
    Simulator {
        /// What the HTTP client says, without the URL.
        source: reqwest::Error,
    },
    /// The log file cannot be read.
    #[error("cannot read the log file {path}; check --simulator-log", path = path.display())]
    LogFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A line of the log is not an entry.
    #[error(
        "line {line} of the simulator's log is not an entry; are judge and simulator of one version?"
    )]
    LogLine {
        /// Counted from 1.
        line: u64,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// A line of the log is longer than any entry can be.
    #[error("line {line} of the simulator's log is longer than {max_bytes} bytes")]
    LogLineTooLong {
        /// Counted from 1.
        line: u64,
        /// The cap.
        max_bytes: usize,
    },
    /// Kafka cannot be read.
    #[error("cannot {what}; check --brokers and that Kafka runs")]
    Kafka {
        /// What was tried.
        what: &'static str,
        /// What the client says.
        source: KafkaError,
    },
    /// A partition cannot be read to its end.
    #[error("Kafka gave no record for {seconds} s before the end of all partitions of {topics}")]
    KafkaStalled {
        /// The longest wait for a record.
        seconds: u64,
        /// What was being read.
        topics: String,
    },
    /// A blocking reader died.
    #[error("the Kafka reader stopped early")]
    Reader(#[from] tokio::task::JoinError),
}
