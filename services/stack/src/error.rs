//! What can go wrong with a stack.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use crate::part::Part;

/// Why a stack, or a part of it, could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// A program or a file that the stack needs is not on this machine.
    #[error("{what} is missing (looked in {searched}); run `make setup`")]
    Missing {
        /// What is missing.
        what: &'static str,
        /// Where it was looked for.
        searched: String,
    },
    /// A file or folder could not be read or written.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried, as a verb: `create`, `read`, …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Another stack runs in the folder.
    #[error("another stack is running in {}; stop it, or choose another folder", folder.display())]
    FolderInUse {
        /// The folder.
        folder: PathBuf,
    },
    /// PostgreSQL does not run as root, and its user cannot enter the folder.
    #[error("the user {user} cannot enter {}, and PostgreSQL does not run as root; choose a folder that others may enter", folder.display())]
    FolderClosed {
        /// The closed folder, the stack's or one above it.
        folder: PathBuf,
        /// The user that PostgreSQL runs as.
        user: String,
    },
    /// No free loopback port was found.
    #[error("no free port on 127.0.0.1")]
    NoPort(#[source] io::Error),
    /// The system could not start, signal or watch a process.
    #[error("cannot {action} {part}")]
    Process {
        /// The part.
        part: Part,
        /// What was tried, as a verb: `start`, `signal`, …
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// A part ended while it was starting or being prepared.
    #[error("{part} ended while starting ({status}); the end of its log {}:\n{tail}", log.display())]
    Ended {
        /// The part.
        part: Part,
        /// How it ended.
        status: ExitStatus,
        /// The whole log.
        log: PathBuf,
        /// The end of the log, at most 4 KiB.
        tail: String,
    },
    /// A part did not become healthy in time.
    #[error("{part} was not healthy after {} s; the end of its log {}:\n{tail}", deadline.as_secs(), log.display())]
    Unhealthy {
        /// The part.
        part: Part,
        /// How long it was given.
        deadline: Duration,
        /// The whole log.
        log: PathBuf,
        /// The end of the log, at most 4 KiB.
        tail: String,
        /// What the last look at its health said.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A process of an earlier stack still runs on the part's data.
    #[error(
        "process {pid} of an earlier stack still runs on the data of {part}; end it, or choose another folder"
    )]
    StillRunning {
        /// The part.
        part: Part,
        /// The process.
        pid: u32,
    },
    /// The part is an existing server, which this stack neither stops nor harms.
    #[error("{0} was not started by this stack, so it is left alone")]
    NotOurs(Part),
    /// The part does not run now.
    #[error("{0} is not running")]
    NotRunning(Part),
    /// The part runs already.
    #[error("{0} is running already")]
    AlreadyRunning(Part),
    /// Docker, or its client, does not do what is asked.
    #[error("cannot {action}; is Docker there? `make test-containers` installs and starts it")]
    Docker {
        /// What was tried, as words after "cannot".
        action: &'static str,
        /// Its answer, or the system's.
        source: io::Error,
    },
    /// A part as a container did not start, or did not stay.
    #[error("cannot {action} {part} as a container; the end of its output:\n{tail}")]
    Container {
        /// The part.
        part: Part,
        /// What was tried, as a verb: `start`, `watch`.
        action: &'static str,
        /// The end of its output, at most 4 KiB; empty if it wrote nothing.
        tail: String,
        /// What Docker, or the last look at its health, said.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A database's name is not usable without quotes.
    #[error(
        "{0:?} is no database name: use up to 63 of a–z, 0–9 and _, not beginning with a digit"
    )]
    DatabaseName(String),
    /// PostgreSQL refused a connection or a statement.
    #[error("PostgreSQL: cannot {action}")]
    Postgres {
        /// What was tried, as a verb.
        action: &'static str,
        /// PostgreSQL's answer.
        source: tokio_postgres::Error,
    },
    /// An environment variable that chooses the stack has a value that means nothing, or is missing.
    #[error("{variable}: {problem}")]
    Environment {
        /// The variable.
        variable: &'static str,
        /// What is wrong, and what is possible.
        problem: String,
    },
}

impl StackError {
    pub(crate) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }

    #[cfg(feature = "containers")]
    pub(crate) fn docker(action: &'static str, source: io::Error) -> Self {
        Self::Docker { action, source }
    }

    #[cfg(feature = "containers")]
    pub(crate) fn container(
        part: Part,
        action: &'static str,
        tail: &str,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Container {
            part,
            action,
            tail: tail.to_owned(),
            source: source.into(),
        }
    }

    pub(crate) fn process(part: Part, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Process {
            part,
            action,
            source,
        }
    }
}
