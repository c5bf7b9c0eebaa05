//! Other programs beside the servers (roles, in drills and tests) with the same promise: they never outlive us.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use crate::process::{Launch, OwnProcess};

/// A program to start as a child.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file to run.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its environment, beside `PATH` and `TZ`.
    pub environment: Vec<(&'static str, OsString)>,
    /// Where its output is appended.
    pub log: PathBuf,
}

/// A running child. Dropped, it ends at once; killed with us, it ends too.
pub struct ChildProcess {
    process: OwnProcess,
}

impl ChildProcess {
    /// Starts a program.
    ///
    /// # Errors
    /// The system's: the file can not be run, or the log can not be written.
    pub async fn start(program: &Program) -> io::Result<Self> {
        let folder = program.log.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&program.log)?;
        let launch = Launch {
            program: program.path.clone(),
            arguments: program.arguments.clone(),
            environment: program.environment.clone(),
            working_folder: folder.to_owned(),
            user: None,
            death_signal: libc::SIGKILL,
        };
        let process = OwnProcess::start(launch, log).await?;
        Ok(Self { process })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process.identity().pid
    }

    /// How it ended, or `None` while it runs.
    ///
    /// # Errors
    /// The system's.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.process.ended()
    }

    /// Ends it as a crash would (SIGKILL); returns when it is gone.
    ///
    /// # Errors
    /// The system's.
    pub fn kill(&mut self) -> io::Result<()> {
        self.process.kill()
    }

    /// Stops it from running (SIGSTOP) until [`resume`](Self::resume).
    ///
    /// # Errors
    /// The system's.
    pub fn pause(&mut self) -> io::Result<()> {
        self.process.pause()
    }

    /// Lets it run again (SIGCONT).
    ///
    /// # Errors
    /// The system's.
    pub fn resume(&mut self) -> io::Result<()> {
        self.process.resume()
    }

    /// Asks it to end (SIGTERM) and waits; kills it when it takes longer than `deadline`.
    ///
    /// # Errors
    /// The system's.
    pub async fn stop(self, deadline: Duration) -> io::Result<()> {
        self.process
            .stop(libc::SIGTERM, Instant::now() + deadline)
            .await
    }
}
