use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tidings_stack::{ChildProcess, Program};
use tokio::time::sleep;
use uuid::Uuid;

use crate::DrillError;

const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Bytes of a log that an error quotes.
const LOG_TAIL: usize = 3_000;

/// What a child does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleKind {
    /// Outbox to Kafka.
    Relay,
    /// Kafka to chats.
    Dispatcher,
}

impl RoleKind {
    /// The subcommand of `tidings`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Relay => "relay",
            Self::Dispatcher => "dispatcher",
        }
    }
}

/// A role as a child process.
pub struct Role {
    name: String,
    program: Program,
    address_file: PathBuf,
    process: Option<ChildProcess>,
}

impl Role {
    /// Describes a role; [`start`](Self::start) runs it. Its files lie in `folder` under its name.
    #[must_use]
    pub fn new(kind: RoleKind, number: usize, binary: &Path, config: &Path, folder: &Path) -> Self {
        let name = format!("{}-{number}", kind.word());
        let address_file = folder.join(format!("{name}.address"));
        let program = Program {
            path: binary.to_owned(),
            arguments: vec![
                kind.word().into(),
                "--config".into(),
                config.into(),
                "--address-file".into(),
                address_file.clone().into(),
            ],
            environment: Vec::new(),
            log: folder.join(format!("{name}.log")),
        };
        Self {
            name,
            program,
            address_file,
            process: None,
        }
    }

    /// With further variables in its environment.
    #[must_use]
    pub fn with_environment(mut self, variables: Vec<(&'static str, OsString)>) -> Self {
        self.program.environment.extend(variables);
        self
    }

    /// Gives way to everything else on this machine when it runs short of processors.
    #[must_use]
    pub fn giving_way(mut self) -> Self {
        let program = std::mem::replace(&mut self.program.path, PathBuf::from("nice"));
        let before = ["-n".into(), "10".into(), program.into_os_string()];
        self.program.arguments.splice(0..0, before);
        self
    }

    /// `relay-1`, `dispatcher-2` …
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it logs.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.program.log
    }

    /// Starts it.
    ///
    /// # Errors
    /// The system's.
    pub async fn start(&mut self) -> Result<(), DrillError> {
        let _ = fs::remove_file(&self.address_file);
        let started = ChildProcess::start(&self.program).await;
        self.process = Some(started.map_err(DrillError::system(format!("start {}", self.name)))?);
        Ok(())
    }

    /// Waits until it says that it is ready.
    ///
    /// # Errors
    /// [`DrillError::Role`] when it ended, or is not ready within `deadline`.
    pub async fn ready(&mut self, deadline: Duration) -> Result<(), DrillError> {
        let until = Instant::now() + deadline;
        loop {
            self.check_running()?;
            if self.get("ready").await.is_some() {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(self.problem(format!("is not ready after {deadline:?}")));
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Its `/health`, when it answers.
    pub async fn health(&self) -> Option<serde_json::Value> {
        serde_json::from_str(&self.get("health").await?).ok()
    }

    /// Its `/metrics`, when it answers.
    pub async fn metrics(&self) -> Option<String> {
        self.get("metrics").await
    }

    /// The address of its admin server, once it runs.
    #[must_use]
    pub fn admin(&self) -> Option<String> {
        self.address()?.get("admin")?.as_str().map(str::to_owned)
    }

    /// The incarnation that attempt ids name, once a dispatcher runs.
    #[must_use]
    pub fn owner(&self) -> Option<Uuid> {
        self.address()?.get("owner")?.as_str()?.parse().ok()
    }

    /// The process id while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(ChildProcess::pid)
    }

    /// kill -9; returns its incarnation, if it had told it.
    ///
    /// # Errors
    /// The system's.
    pub fn kill(&mut self) -> Result<Option<Uuid>, DrillError> {
        let owner = self.owner();
        if let Some(mut process) = self.process.take() {
            process
                .kill()
                .map_err(DrillError::system(format!("kill {}", self.name)))?;
        }
        Ok(owner)
    }

    /// SIGSTOP.
    ///
    /// # Errors
    /// The system's.
    pub fn pause(&mut self) -> Result<(), DrillError> {
        let doing = DrillError::system(format!("pause {}", self.name));
        self.process
            .as_mut()
            .map_or(Ok(()), ChildProcess::pause)
            .map_err(doing)
    }

    /// SIGCONT.
    ///
    /// # Errors
    /// The system's.
    pub fn resume(&mut self) -> Result<(), DrillError> {
        let doing = DrillError::system(format!("resume {}", self.name));
        self.process
            .as_mut()
            .map_or(Ok(()), ChildProcess::resume)
            .map_err(doing)
    }

    /// SIGTERM, then SIGKILL after `deadline`.
    ///
    /// # Errors
    /// The system's.
    pub async fn stop(&mut self, deadline: Duration) -> Result<(), DrillError> {
        match self.process.take() {
            Some(process) => {
                let doing = DrillError::system(format!("stop {}", self.name));
                process.stop(deadline).await.map_err(doing)
            }
            None => Ok(()),
        }
    }

    /// Whether it still runs.
    ///
    /// # Errors
    /// [`DrillError::Role`] when it ended.
    pub fn check_running(&mut self) -> Result<(), DrillError> {
        let ended = match self.process.as_mut() {
            Some(process) => process
                .ended()
                .map_err(DrillError::system("look after a role"))?,
            None => return Err(self.problem("is not started".into())),
        };
        match ended {
            Some(status) => Err(self.problem(format!("ended ({status})"))),
            None => Ok(()),
        }
    }

    fn problem(&self, problem: String) -> DrillError {
        let text = fs::read(&self.program.log).unwrap_or_default();
        let tail = &text[text.len().saturating_sub(LOG_TAIL)..];
        DrillError::Role {
            role: self.name.clone(),
            problem,
            log: self.program.log.clone(),
            tail: String::from_utf8_lossy(tail).into_owned(),
        }
    }

    fn address(&self) -> Option<serde_json::Value> {
        serde_json::from_slice(&fs::read(&self.address_file).ok()?).ok()
    }

    async fn get(&self, path: &str) -> Option<String> {
        let url = format!("http://{}/{path}", self.admin()?);
        let response = reqwest::get(url).await.ok()?.error_for_status().ok()?;
        response.text().await.ok()
    }
}
