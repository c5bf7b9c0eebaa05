use std::process::ExitCode;

/// 5: SIGINT or SIGTERM before the end; asking again is safe.
pub(crate) const INTERRUPTED: u8 = 5;

/// Stable exit codes (reference/conventions.md): scripts may rely on them. clap itself ends with 2 on wrong usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done, or a role was stopped as asked
    Done,
    /// 1: failed; the last line says why
    Failed,
    /// 3: what was asked for does not exist
    NothingMatched,
    /// 4: a check found a problem, or a promise forbids what was asked; nothing was changed
    Refused,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => Self::SUCCESS,
            Exit::Failed => Self::FAILURE,
            Exit::NothingMatched => Self::from(3),
            Exit::Refused => Self::from(4),
        }
    }
}
