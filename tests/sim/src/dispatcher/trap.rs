//! Faults that wait for a step of a record's way.

/// A step of a record's way, at which a fault may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Claim,
    Start,
    Call,
    Answer,
    Settle,
    DeadLetter,
    Release,
    Commit,
}

impl Step {
    pub(crate) const ALL: [Self; 8] = [
        Self::Claim,
        Self::Start,
        Self::Call,
        Self::Answer,
        Self::Settle,
        Self::DeadLetter,
        Self::Release,
        Self::Commit,
    ];
}

/// What then happens to the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blow {
    Kill,
    Freeze,
}
