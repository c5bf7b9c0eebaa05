//! One part's life: started on free ports, watched until healthy, stopped, killed and started again.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::error::StackError;
use crate::part::Part;
use crate::ports::Reservation;
use crate::process::{Identity, OwnProcess};
use crate::servers::{PartLog, Server};

/// How often other ports are tried when one was taken between our look and the server's start.
const PORT_ATTEMPTS: u32 = 3;
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// A process of an earlier stack whose owner was just killed ends in milliseconds, PostgreSQL's in 5 s at most.
const PREDECESSOR_DEADLINE: Duration = Duration::from_secs(10);

/// How long things may take.
#[derive(Clone, Copy)]
pub(crate) struct Deadlines {
    pub(crate) start: Duration,
    pub(crate) stop: Duration,
}

/// A server of ours with its process, if it runs.
pub(crate) struct Supervised {
    server: Server,
    files: Files,
    ports: Vec<u16>,
    deadlines: Deadlines,
    process: Mutex<Option<OwnProcess>>,
}

impl Supervised {
    /// Starts the server for the first time, on the ports that it had before in this folder if they are free.
    pub(crate) async fn start(
        server: Server,
        stack_folder: &Path,
        deadlines: Deadlines,
    ) -> Result<Self, StackError> {
        let files = Files {
            folder: stack_folder.join(server.part().name()),
        };
        files.wait_for_predecessor(server.part()).await?;
        let mut held = files
            .remembered_ports()
            .filter(|ports| ports.len() == server.port_count())
            .and_then(|ports| Reservation::of(&ports));
        let mut attempt = 1;
        loop {
            let held = held
                .take()
                .map_or_else(|| Reservation::new(server.port_count()), Ok)?;
            let ports = held.ports()?;
            let started = Instant::now();
            server
                .prepare(&ports, &files.log(), started + deadlines.start)
                .await?;
            drop(held);
            match run(&server, &files, &ports, deadlines.start).await {
                Ok(process) => {
                    files.remember_ports(&ports)?;
                    tracing::debug!(part = %server.part(), ?ports, took = ?started.elapsed(), "a server of the local stack is healthy");
                    return Ok(Self {
                        server,
                        files,
                        ports,
                        deadlines,
                        process: Mutex::new(Some(process)),
                    });
                }
                Err(error) if attempt < PORT_ATTEMPTS && was_port_taken(&error, &ports) => {
                    tracing::debug!(part = %server.part(), ?ports, "another program took a port; trying others");
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn part(&self) -> Part {
        self.server.part()
    }

    pub(crate) fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// The process, or `None` if it does not run.
    pub(crate) async fn pid(&self) -> Option<u32> {
        let process = self.process.lock().await;
        process
            .as_ref()
            .map(OwnProcess::identity)
            .filter(Identity::is_running)
            .map(|identity| identity.pid)
    }

    /// Starts it again, on the same ports and data.
    pub(crate) async fn start_again(&self) -> Result<(), StackError> {
        let mut process = self.process.lock().await;
        if process
            .as_ref()
            .is_some_and(|process| process.identity().is_running())
        {
            return Err(StackError::AlreadyRunning(self.part()));
        }
        *process = Some(run(&self.server, &self.files, &self.ports, self.deadlines.start).await?);
        Ok(())
    }

    /// Ends it in order; kills it after the deadline.
    pub(crate) async fn stop(&self) -> Result<(), StackError> {
        let process = self
            .process
            .lock()
            .await
            .take()
            .ok_or(StackError::NotRunning(self.part()))?;
        let deadline = Instant::now() + self.deadlines.stop;
        process
            .stop(self.server.stop_signal(), deadline)
            .await
            .map_err(StackError::process(self.part(), "stop"))
    }

    /// Ends it as a crash would.
    pub(crate) async fn kill(&self) -> Result<(), StackError> {
        let mut process = self
            .process
            .lock()
            .await
            .take()
            .ok_or(StackError::NotRunning(self.part()))?;
        process
            .kill()
            .map_err(StackError::process(self.part(), "kill"))
    }

    /// Freezes it: connections stay, nothing answers.
    pub(crate) async fn pause(&self) -> Result<(), StackError> {
        let mut process = self.process.lock().await;
        let process = process
            .as_mut()
            .ok_or(StackError::NotRunning(self.part()))?;
        process
            .pause()
            .map_err(StackError::process(self.part(), "pause"))
    }

    /// Ends a pause.
    pub(crate) async fn resume(&self) -> Result<(), StackError> {
        let mut process = self.process.lock().await;
        let process = process
            .as_mut()
            .ok_or(StackError::NotRunning(self.part()))?;
        process
            .resume()
            .map_err(StackError::process(self.part(), "resume"))
    }
}

/// Starts the process and waits until it is healthy. Dropped in between, it ends the process.
async fn run(
    server: &Server,
    files: &Files,
    ports: &[u16],
    limit: Duration,
) -> Result<OwnProcess, StackError> {
    let part = server.part();
    let log = files.log();
    let deadline = Instant::now() + limit;
    let mut process = OwnProcess::start(server.launch(ports), log.open()?)
        .await
        .map_err(StackError::process(part, "start"))?;
    files.remember_process(process.identity())?;
    loop {
        if let Some(status) = process
            .ended()
            .map_err(StackError::process(part, "watch"))?
        {
            return Err(log.ended(part, status));
        }
        match server.look(ports, &process, &log).await {
            Ok(()) => return Ok(process),
            Err(reason) if Instant::now() >= deadline => {
                return Err(log.unhealthy(part, deadline, reason));
            }
            Err(_) => tokio::time::sleep(LOOK_AGAIN).await,
        }
    }
}

fn was_port_taken(error: &StackError, ports: &[u16]) -> bool {
    matches!(error, StackError::Ended { .. }) && Reservation::of(ports).is_none()
}

/// The part's folder, beside the server's own files in it.
struct Files {
    folder: PathBuf,
}

impl Files {
    fn log(&self) -> PartLog {
        PartLog::begin(self.folder.join("log"))
    }

    fn remembered_ports(&self) -> Option<Vec<u16>> {
        let text = fs::read_to_string(self.folder.join("ports")).ok()?;
        text.split_whitespace()
            .map(|port| port.parse().ok())
            .collect()
    }

    fn remember_ports(&self, ports: &[u16]) -> Result<(), StackError> {
        let text: Vec<_> = ports.iter().map(u16::to_string).collect();
        self.write("ports", &text.join(" "))
    }

    fn remember_process(&self, identity: Identity) -> Result<(), StackError> {
        self.write("pid", &identity.to_string())
    }

    /// A stack that was killed a moment ago may have a server that is still ending.
    async fn wait_for_predecessor(&self, part: Part) -> Result<(), StackError> {
        let text = fs::read_to_string(self.folder.join("pid")).unwrap_or_default();
        let Ok(predecessor) = text.parse::<Identity>() else {
            return Ok(());
        };
        let started = Instant::now();
        while predecessor.is_running() {
            if started.elapsed() > PREDECESSOR_DEADLINE {
                return Err(StackError::StillRunning {
                    part,
                    pid: predecessor.pid,
                });
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), StackError> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(StackError::file("write", path))
    }
}
