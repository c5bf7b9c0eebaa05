use std::process::ExitCode;

/// Stable exit codes (reference/conventions.md); clap itself ends with 2 on wrong usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0
    Done,
    /// 1
    Failed,
    /// 3
    NothingMatched,
    /// 4
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
