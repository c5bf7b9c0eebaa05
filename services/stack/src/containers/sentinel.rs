//! A child that removes a stack's containers when it is told to end: by us when the stack stops or the process exits,
//! by the kernel when the process is killed.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use super::docker::{Mark, STACK_LABEL};
use crate::error::StackError;
use crate::process::{Launch, OwnProcess};
use crate::servers::PartLog;

/// Side by side, since each takes Docker a good half second. A container that is being made just now may be missed: the
/// second look finds it.
const SCRIPT: &str = r#"
trap : TERM
sleep infinity &
wait $!
kill $!
for look in 1 2; do
    docker ps --all --quiet --filter "label=$1" | xargs --no-run-if-empty --max-args=1 --max-procs=4 \
        docker rm --force --volumes
done
"#;

/// Starts it, with its log in `folder`.
pub(super) async fn start(mark: &Mark, folder: &Path) -> Result<OwnProcess, StackError> {
    let log = PartLog::begin(folder.join("sentinel.log"));
    let label = format!("{STACK_LABEL}={}", mark.stack);
    let launch = Launch {
        program: "/bin/sh".into(),
        arguments: ["-c", SCRIPT, "sentinel", &label]
            .map(OsString::from)
            .into(),
        environment: environment(),
        working_folder: folder.to_owned(),
        user: None,
        death_signal: libc::SIGTERM,
    };
    OwnProcess::start(launch, log.open()?)
        .await
        .map_err(|source| StackError::docker("start the sentinel of the containers", source))
}

/// Where Docker's client finds the daemon.
fn environment() -> Vec<(&'static str, OsString)> {
    ["DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "HOME"]
        .into_iter()
        .filter_map(|name| Some((name, env::var_os(name)?)))
        .collect()
}
