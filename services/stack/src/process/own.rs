//! A child process of ours.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::at_exit;
use super::proc_files::Identity;
use super::spawner;
use super::system::{self, Signal, User};

const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// A killed process is gone in milliseconds, unless the disk hangs.
const KILL_DEADLINE: Duration = Duration::from_secs(10);

/// What to start.
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// The whole environment of the child but for `PATH` and `TZ`: what is set for the user's own servers (`KAFKA_*`, `PG*`,
    /// `QUARKUS_*`) must not change ours.
    pub(crate) environment: Vec<(&'static str, OsString)>,
    pub(crate) working_folder: PathBuf,
    /// Another user than ours.
    pub(crate) user: Option<User>,
    /// What the kernel sends it when we are killed, and what we send when it is to end at once.
    pub(crate) death_signal: Signal,
}

/// A running child. Dropped, it ends at once, with its own children.
pub(crate) struct OwnProcess {
    child: Child,
    identity: Identity,
    death_signal: Signal,
    ended: Option<ExitStatus>,
}

impl OwnProcess {
    /// Starts the child with its output in `log`.
    pub(crate) async fn start(launch: Launch, log: File) -> io::Result<Self> {
        let death_signal = launch.death_signal;
        let mut child = spawner::spawn(command(launch, log)?, death_signal).await?;
        let pid = child.id();
        // Only a reaped process has no identity, and this one is not reaped.
        let identity =
            Identity::of(pid).ok_or_else(|| io::Error::other("the child is not in /proc"));
        match identity
            .and_then(|identity| at_exit::remember_process(pid, death_signal).map(|()| identity))
        {
            Ok(identity) => Ok(Self {
                child,
                identity,
                death_signal,
                ended: None,
            }),
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error)
            }
        }
    }

    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// How it ended, or `None` while it runs.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.ended.is_none() && !self.identity.is_running() {
            at_exit::forget_process(self.identity.pid);
            self.ended = Some(self.child.wait()?);
        }
        Ok(self.ended)
    }

    /// Waits until it has ended by itself, at most until `deadline`.
    pub(crate) async fn wait(&mut self, deadline: Instant) -> io::Result<Option<ExitStatus>> {
        loop {
            let ended = self.ended()?;
            if ended.is_some() || Instant::now() >= deadline {
                return Ok(ended);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Asks it to end with `signal`, waits until `deadline`, then kills it.
    pub(crate) async fn stop(mut self, signal: Signal, deadline: Instant) -> io::Result<()> {
        self.resume()?;
        self.signal(signal)?;
        if self.wait(deadline).await?.is_none() {
            self.kill()?;
        }
        Ok(())
    }

    /// Ends it and its children as a crash would, and returns when all are gone: the same data can be used again.
    pub(crate) fn kill(&mut self) -> io::Result<()> {
        let family = self.freeze()?;
        for child in &family {
            ignore_gone(system::signal(child.pid, libc::SIGKILL))?;
        }
        self.signal(libc::SIGKILL)?;
        let started = Instant::now();
        while self.ended()?.is_none() || family.iter().any(Identity::is_running) {
            if started.elapsed() > KILL_DEADLINE {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "a killed process does not end",
                ));
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Stops it and its children from running, until [`Self::resume`].
    pub(crate) fn pause(&mut self) -> io::Result<()> {
        for child in self.freeze()? {
            ignore_gone(system::signal(child.pid, libc::SIGSTOP))?;
        }
        Ok(())
    }

    /// Lets it and its children run again.
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        for child in self.identity.children() {
            ignore_gone(system::signal(child.pid, libc::SIGCONT))?;
        }
        self.signal(libc::SIGCONT)
    }

    /// Pauses the process itself, so that it makes no more children, and returns those that it has.
    fn freeze(&mut self) -> io::Result<Vec<Identity>> {
        self.signal(libc::SIGSTOP)?;
        Ok(self.identity.children())
    }

    fn signal(&mut self, signal: Signal) -> io::Result<()> {
        match self.ended {
            Some(_) => Ok(()),
            None => ignore_gone(system::signal(self.identity.pid, signal)),
        }
    }

    /// As [`Self::kill`], but in the way that lets a server free what outlives a process (shared memory).
    fn end_at_once(&mut self) -> io::Result<()> {
        if self.ended()?.is_some() {
            return Ok(());
        }
        self.signal(self.death_signal)?;
        self.resume()?;
        let started = Instant::now();
        while self.ended()?.is_none() {
            if started.elapsed() > KILL_DEADLINE {
                return self.kill();
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

impl Drop for OwnProcess {
    fn drop(&mut self) {
        if let Err(error) = self.end_at_once() {
            tracing::warn!(pid = self.identity.pid, %error, "a server of the local stack could not be ended");
        }
    }
}

fn command(launch: Launch, log: File) -> io::Result<Command> {
    let mut command = Command::new(launch.program);
    command
        .args(launch.arguments)
        .env_clear()
        .envs(
            ["PATH", "TZ"]
                .into_iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        )
        .envs(launch.environment)
        .current_dir(launch.working_folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        // Not in our group: Ctrl-C in a terminal is for us, and we stop our servers in order.
        .process_group(0);
    if let Some(user) = launch.user {
        command.uid(user.uid).gid(user.gid);
    }
    Ok(command)
}

fn ignore_gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        other => other,
    }
}
