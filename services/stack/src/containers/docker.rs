//! Whose containers are whose, and the removal of those whose owner has gone.

use std::env;
use std::fs;
use std::io;
use std::process::Stdio;

use tokio::process::Command;

use crate::error::StackError;
use crate::process::Identity;

/// Which stack a container belongs to.
pub(super) const STACK_LABEL: &str = "tidings.stack";
/// Which process that stack belongs to.
pub(super) const OWNER_LABEL: &str = "tidings.stack.owner";

/// The values of the labels of one stack's containers.
pub(super) struct Mark {
    pub(super) stack: String,
    pub(super) owner: String,
}

impl Mark {
    /// Of a new stack of this process. Refuses a Docker of another machine: its loopback is not ours.
    pub(super) fn new() -> Result<Self, StackError> {
        refuse_remote(env::var("DOCKER_HOST").ok().as_deref())?;
        let me = Identity::of(std::process::id())
            .ok_or_else(|| io::Error::other("this process is not in /proc"))
            .map_err(|source| StackError::docker("label containers", source))?;
        Ok(Self {
            stack: format!("{:032x}", rand::random::<u128>()),
            owner: format!("{}{SEPARATOR}{me}", process_numbers()?),
        })
    }
}

/// Removes the containers of stacks whose process has ended, and whose sentinel was killed too.
pub(super) async fn sweep() -> Result<(), StackError> {
    let format = format!("{{{{.ID}}}}{SEPARATOR}{{{{.Label \"{OWNER_LABEL}\"}}}}");
    let filter = format!("label={OWNER_LABEL}");
    let listed = docker(&["ps", "--all", "--filter", &filter, "--format", &format]).await?;
    let here = process_numbers()?;
    let stale: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split_once(SEPARATOR))
        .filter(|(_, owner)| has_ended(owner, &here))
        .map(|(id, _)| id)
        .collect();
    if stale.is_empty() {
        return Ok(());
    }
    tracing::debug!(containers = ?stale, "removing what a killed stack left");
    let mut arguments = vec!["rm", "--force", "--volumes"];
    arguments.extend(stale);
    // Another stack may be sweeping the same ones: that it was quicker is no failure, and what stays is swept next time.
    match docker(&arguments).await {
        Ok(_) => {}
        Err(error) => tracing::debug!(%error, "not all could be removed"),
    }
    Ok(())
}

const SEPARATOR: char = '/';

/// Only of processes whose numbers mean the same as ours: in another container they are counted anew.
fn has_ended(owner: &str, here: &str) -> bool {
    owner
        .rsplit_once(SEPARATOR)
        .filter(|(there, _)| *there == here)
        .and_then(|(_, process)| process.parse::<Identity>().ok())
        .is_some_and(|process| !process.is_running())
}

/// The namespace that our process number belongs to.
fn process_numbers() -> Result<String, StackError> {
    let namespace = fs::read_link("/proc/self/ns/pid")
        .map_err(StackError::file("read", "/proc/self/ns/pid"))?;
    Ok(namespace.to_string_lossy().into_owned())
}

fn refuse_remote(docker_host: Option<&str>) -> Result<(), StackError> {
    match docker_host {
        None | Some("") => Ok(()),
        Some(host) if host.starts_with("unix://") => Ok(()),
        Some(_) => Err(StackError::Environment {
            variable: "DOCKER_HOST",
            problem: "must be a unix:// socket of this machine: the servers are published on loopback only"
                .to_owned(),
        }),
    }
}

/// Runs Docker's client, and returns what it printed.
async fn docker(arguments: &[&str]) -> Result<String, StackError> {
    let failed = |source| StackError::docker("run docker", source);
    let mut command = Command::new("docker");
    command
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = command.output().await.map_err(failed)?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(failed(io::Error::other(words.trim().to_owned())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_containers_of_ended_processes_of_ours_are_swept() {
        let here = process_numbers().unwrap();
        let mine = Mark::new().unwrap().owner;
        assert!(!has_ended(&mine, &here), "{mine}");
        assert!(has_ended(&format!("{here}/4194305 1"), &here));
        assert!(!has_ended("pid:[1]/4194305 1", &here));
        assert!(!has_ended("", &here));
        assert!(!has_ended(&here, &here));
    }

    #[test]
    fn a_docker_elsewhere_is_refused_with_the_reason() {
        assert!(refuse_remote(Some("unix:///run/docker.sock")).is_ok());
        let problem = refuse_remote(Some("tcp://build:2375")).unwrap_err();
        assert!(problem.to_string().contains("DOCKER_HOST"), "{problem}");
    }
}
