use std::sync::Arc;
use std::time::Duration;

/// A chat in a lane partition whose messages wait in Postgres (design §8), as its marker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeferredChat {
    /// The chat key `platform:account:chat_id`.
    pub chat: Arc<str>,
    /// When it goes on.
    pub due: Due,
    /// An operator gave it up: what it has is dead-lettered in order, without a call, for this reason.
    pub give_up: Option<Arc<str>>,
}

/// When a deferred chat goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// After this long; zero is now.
    In(Duration),
    /// When an operator lets go.
    Held,
}

/// What is known of a claim that is given back with a deferral.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptClaim {
    /// The fence that is held.
    pub fence: i64,
    /// Attempts that count, kept for whoever claims the message next.
    pub attempts: u32,
    /// When the first one failed, microseconds since the Unix epoch, kept likewise.
    pub first_failed_at_micros: Option<i64>,
}

/// What Postgres said to the removal of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseAnswer {
    /// The marker is gone.
    Gone,
    /// Rows of the chat remain, so it stays.
    RowsRemain,
    /// The partition's epoch is not ours any more.
    StaleEpoch,
    /// No answer; it may or may not be gone.
    Failed,
}
