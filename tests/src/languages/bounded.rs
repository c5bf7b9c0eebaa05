use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a program or an installation may take: it bounds a broken one, and measures nothing.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// How long a program has to end by itself after that.
const GRACE: Duration = Duration::from_secs(5);

/// A command without input that is ended after [`PATIENCE`], together with all that it started: `go run` and `npm` start
/// programs that would outlive them. Its exit code is 124 then.
#[must_use]
pub fn bounded(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("timeout");
    command
        .arg(format!("--kill-after={}", GRACE.as_secs()))
        .arg(PATIENCE.as_secs().to_string())
        .arg(program)
        .stdin(Stdio::null());
    command
}
