use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use thiserror::Error;

/// Why a program's dependencies are not there.
#[derive(Debug, Error)]
pub enum InstallError {
    /// There is no folder to keep them in.
    #[error("neither XDG_CACHE_HOME nor HOME is set: set one, so that dependencies can be kept")]
    NoCacheFolder,
    /// A file or folder could not be used.
    #[error("cannot {what} {}", path.display())]
    File {
        /// What was tried: a verb.
        what: &'static str,
        /// What it was tried with.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// A package manager could not be started.
    #[error("cannot start {program}")]
    Start {
        /// Its name.
        program: &'static str,
        /// The system's word.
        source: io::Error,
    },
    /// A package manager failed, or was ended after [`super::PATIENCE`] (exit status 124).
    #[error("{program} failed with {status}:\n{output}")]
    Failed {
        /// Its name.
        program: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// The end of what it said.
        output: String,
    },
}

impl InstallError {
    pub(super) fn file(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { what, path, source }
    }
}
