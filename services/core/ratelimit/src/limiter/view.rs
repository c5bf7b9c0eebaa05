use uuid::Uuid;

use crate::{HoldView, LogTime, ScopeView};

/// Counters since the process began, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// `Reserve` records appended.
    pub asks: u64,
    /// Permits granted to this process.
    pub granted: u64,
    /// Permits refused to it, for the scope's, the share's or the class' sake.
    pub refused_scope: u64,
    /// Refused because the chat was not ready, or held.
    pub refused_chat: u64,
    /// Refused because account or address was held.
    pub refused_held: u64,
    /// Refused because the scope had too many live chats.
    pub refused_too_many_chats: u64,
    /// Grants that became void: a penalty.
    pub void_penalty: u64,
    /// Grants that became void: too late.
    pub void_late: u64,
    /// Grants that became void: the log.
    pub void_log: u64,
    /// Asks that were not read back in time.
    pub unanswered: u64,
    /// Ticks appended.
    pub ticks: u64,
    /// Snapshots appended.
    pub snapshots: u64,
    /// Times that the limiter closed.
    pub closed: u64,
    /// Values in the topic that are no records.
    pub malformed: u64,
}

/// What `tidings limits` and `/health` show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The log's id.
    pub log_id: Uuid,
    /// The machine's version in force.
    pub machine_version: u32,
    /// About the log's time; ends of holds are relative to it.
    pub time: LogTime,
    /// Each scope.
    pub scopes: Vec<ScopeView>,
    /// Everything that is held, addresses included.
    pub holds: Vec<HoldView>,
}
