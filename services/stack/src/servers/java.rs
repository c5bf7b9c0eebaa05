//! How a server in Java is started: small, and quick to be there.

use std::ffi::OsString;
use std::path::Path;

use crate::process::Launch;

/// A launch of `java` with `flags` (what to run, and its arguments), with its temporary files in its own folder.
pub(super) fn launch(java: &Path, folder: &Path, heap: &str, flags: Vec<OsString>) -> Launch {
    let mut arguments: Vec<OsString> = [
        heap,
        // The quick compiler only, and a collector without helper threads: the start is what we wait for.
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        // No file in the system's temporary folder, which nobody would remove after a kill.
        "-XX:-UsePerfData",
        "-Djava.io.tmpdir=.",
    ]
    .map(OsString::from)
    .into();
    arguments.extend(flags);
    Launch {
        program: java.to_owned(),
        arguments,
        environment: Vec::new(),
        working_folder: folder.to_owned(),
        user: None,
        death_signal: libc::SIGKILL,
    }
}
