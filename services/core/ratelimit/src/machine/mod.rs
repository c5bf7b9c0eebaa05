//! The machine that every worker runs over the rate-limit topic (design §9).
//!
//! [`Machine::apply`] takes the records in offset order, with the broker's append times, and nothing else: replicas that
//! read the same log agree byte for byte ([`Machine::hash`]), whatever their clocks and wherever they began
//! ([`Machine::restore`]).
//!
//! Time of the log advances with the append times. A step back counts nothing. A gap of more than 300 ms counts nothing
//! either, because it may be a step of the broker's clock, which would empty windows before their time; the next one in
//! a row counts 300 ms, so that a slow log is slow but not frozen. While anything is live, ticks keep gaps below that.

mod apply;
mod begin;
mod chats;
mod hold;
mod line;
mod scope;
mod serve;
mod state;
#[cfg(test)]
mod tests;
mod usage;
mod usage_wire;
mod view;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

pub use apply::{Applied, Served, ServedAsk, What};
pub use hold::Hold;
pub(crate) use scope::charged_at;
pub use scope::{HIGH_HORIZON, HORIZON, MAX_LIVE_CHATS, horizon};
pub(crate) use serve::Plan;
pub use state::RestoreError;
pub use view::{HoldView, ScopeView, WaiterView};

use crate::record::DecodeError;
use crate::{LogTime, StateHash};
use scope::Scope;

/// The latest version of the machine that this program has. The version in force is in the log.
pub const MACHINE_VERSION: u32 = 1;
/// The most that the log's time advances from one record to the next (design §9).
pub const MAX_ADVANCE: Duration = Duration::from_millis(300);
/// A snapshot is due with the record that crosses a multiple of this offset (design §9).
pub const SNAPSHOT_OFFSETS: i64 = 10_000;
/// Or when the log's time advanced this much since the last one.
pub const SNAPSHOT_AFTER: Duration = Duration::from_secs(60);
/// The most scopes of a log. More are refused.
pub const MAX_SCOPES: usize = 4_096;
/// The most processes whose last `seq` is remembered; the one that was not seen for the longest goes first.
pub const MAX_INCARNATIONS: usize = 4_096;
/// The most wishes of operators that are remembered, so that none is carried out twice.
pub(crate) const MAX_WISHES: usize = 256;
/// The most platforms whose address is held.
pub(crate) const MAX_ADDRESSES: usize = 256;

/// Why a permit is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedWhy {
    /// The scope has no room within the horizon.
    Scope,
    /// The record got its share of the horizon.
    Share,
    /// A class that goes first is waiting.
    Class,
    /// The chat is not ready by the scope's next slot.
    Chat,
    /// The chat is held.
    ChatHeld,
    /// The account or the address is held.
    Held,
    /// The scope has [`MAX_LIVE_CHATS`] already.
    TooManyChats,
    /// Nobody began the scope.
    UnknownScope,
}

/// A refused permit: it costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub why: RefusedWhy,
    /// When to expect one.
    pub next_free: LogTime,
}

/// Why a record could not be applied. The machine is unchanged, and must not be used further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Offsets are missing.
    #[error("records are missing between offset {expected} and {found}")]
    Gap {
        /// The next one.
        expected: i64,
        /// What came.
        found: i64,
    },
    /// The log demands a later machine.
    #[error("the log is at machine version {wanted}, and this program has {supported}")]
    MachineVersion {
        /// In force.
        wanted: u32,
        /// Known here.
        supported: u32,
    },
    /// A record of a later schema.
    #[error(transparent)]
    Record(#[from] DecodeError),
}

/// A replica of the log's state.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The latest version that this program has.
    supported: u32,
    state: State,
}

#[derive(Debug, Clone)]
struct State {
    /// Nil until the log is begun.
    log_id: Uuid,
    version: u32,
    /// The last record applied; −1 before the first.
    offset: i64,
    append_time_millis: i64,
    /// The last gap was longer than [`MAX_ADVANCE`].
    long_gap: bool,
    time: LogTime,
    /// Until when some window, bucket or hold is not like new: until then time must pass.
    live_until: LogTime,
    snapshot_time: LogTime,
    incarnations: BTreeMap<Uuid, Incarnation>,
    addresses: BTreeMap<Arc<str>, Hold>,
    /// The last wishes of operators that were carried out.
    wishes: VecDeque<Uuid>,
    scopes: BTreeMap<Arc<str>, Scope>,
}

/// A process as far as its records go.
#[derive(Debug, Clone, Copy)]
struct Incarnation {
    seq: u64,
    seen: LogTime,
}

impl Machine {
    /// Before the first record of a log that nobody began.
    pub fn new() -> Self {
        Self::supporting(MACHINE_VERSION)
    }

    /// As [`Machine::new`], for a program that has versions up to `supported`.
    pub fn supporting(supported: u32) -> Self {
        Self {
            supported,
            state: State {
                log_id: Uuid::nil(),
                version: 1,
                offset: -1,
                append_time_millis: 0,
                long_gap: false,
                time: LogTime(0),
                live_until: LogTime(0),
                snapshot_time: LogTime(0),
                incarnations: BTreeMap::new(),
                addresses: BTreeMap::new(),
                wishes: VecDeque::new(),
                scopes: BTreeMap::new(),
            },
        }
    }

    /// The log's id; nil before it was begun.
    pub fn log_id(&self) -> Uuid {
        self.state.log_id
    }

    /// The machine's version in force.
    pub fn version(&self) -> u32 {
        self.state.version
    }

    /// The last record applied; −1 before the first.
    pub fn offset(&self) -> i64 {
        self.state.offset
    }

    /// The time of the log.
    pub fn time(&self) -> LogTime {
        self.state.time
    }

    /// Until when time must pass (ticks), if nothing more is written.
    pub fn live_until(&self) -> LogTime {
        self.state.live_until
    }

    /// Whether the scope was begun.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.state.scopes.contains_key(scope)
    }

    /// SHA-256 of the whole state.
    pub fn hash(&self) -> StateHash {
        StateHash::of(&self.encode())
    }

    /// When the chat, its scope and its address are free of holds; the past when they are.
    pub fn held_until(&self, scope: &str, chat: &str) -> LogTime {
        let address = self.address_hold(scope);
        let Some(scope) = self.state.scopes.get(scope) else {
            return address;
        };
        let held = scope
            .chats
            .get(chat)
            .map_or(address, |chat| address.max(chat.hold.until));
        held.max(scope.hold.until)
    }

    fn address_hold(&self, scope: &str) -> LogTime {
        let platform = scope.split(':').next().unwrap_or(scope);
        self.state
            .addresses
            .get(platform)
            .map_or(LogTime(i64::MIN), |hold| hold.until)
    }
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}
