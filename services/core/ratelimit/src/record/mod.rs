//! What is written to the rate-limit topic (design §9).
//!
//! A record is two bytes (`R` and the version of the schema) and one Avro datum of `schema.avsc`. It is written and read
//! by hand, because reading must be total and bounded: [`Record::decode`] accepts any bytes, allocates no more than they
//! can fill, and never panics.

mod avro;
mod read;
mod write;

use std::time::Duration;

use uuid::Uuid;

use crate::{LogTime, ScopeLimits};

pub(crate) use avro::{Reader, Writer};
pub use read::DecodeError;
pub(crate) use read::read_duration;

/// The Avro schema of the datum, for any other tool that reads the topic.
pub const SCHEMA: &str = include_str!("schema.avsc");

/// The latest schema version that this program has. A record of a later one makes its reader stop: it may mean anything.
/// Each record is written under the earliest version that has what it says.
pub const SCHEMA_VERSION: u8 = 2;
/// The version of everything but a [`Reserve`] with leeway.
const FIRST_VERSION: u8 = 1;

/// The longest scope, chat or platform name, in bytes.
pub const MAX_NAME_BYTES: usize = 256;
/// The longest operator's name, in bytes.
pub const MAX_OPERATOR_BYTES: usize = 256;
/// The longest reason, in bytes.
pub const MAX_REASON_BYTES: usize = 2_000;
/// The most scopes that one `Reserve` asks for.
pub const MAX_ASKS: usize = 256;
/// The most entries of one `Reserve`, over all its scopes.
pub const MAX_ENTRIES: usize = 2_048;
/// The most permits of one entry.
pub const MAX_PERMITS: u32 = 1_000;
/// The most leeway of a `Reserve`: of the horizon of 250 ms (design §9) what is left when a call needs 30 ms.
pub const MAX_LEEWAY: Duration = Duration::from_millis(220);
/// The most bytes of a snapshot's state in one record; more is cut into parts.
pub const MAX_PART_BYTES: usize = 512 * 1_024;
/// The most parts of a snapshot.
pub const MAX_PARTS: u32 = 64;
/// The longest record, in bytes. Longer ones are never written and are ignored when read.
pub const MAX_RECORD_BYTES: usize = 900 * 1_024;

/// A record of the rate-limit topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Which log it was written for: a topic that was deleted and made again is another log. [`Uuid::nil`] when its
    /// writer does not know the log yet.
    pub log_id: Uuid,
    /// What it says.
    pub body: Body,
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Begins a log, or one scope in it.
    Init(Init),
    /// Asks for permits.
    Reserve(Reserve),
    /// Holds a chat, an account or an address.
    Penalise(Penalise),
    /// Ends penalties.
    Reset(Reset),
    /// Changes a scope's limits.
    Limits(Limits),
    /// Lets the log's time pass.
    Tick(Tick),
    /// The state after a record, for late readers.
    Snapshot(Snapshot),
}

/// Begins a log or a scope, with full windows: what was sent before is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Init {
    /// Who writes it.
    pub incarnation: Uuid,
    /// The scope, with the limits that the writer's configuration proposes; none: the whole log begins here, with the
    /// record's `log_id`, and nothing that was said before counts.
    pub scope: Option<(String, ScopeLimits)>,
}

/// The order of precedence: live before backlog before replay (requirement B27), `high` before `normal` (Q2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The lane `high`.
    High,
    /// The lane `normal`.
    Normal,
    /// Live messages older than `backlog_after`.
    Backlog,
    /// The lane `replay`.
    Replay,
}

impl Class {
    /// All, first served first.
    pub const ALL: [Self; 4] = [Self::High, Self::Normal, Self::Backlog, Self::Replay];

    /// The name as logs and metrics carry it.
    pub fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
            Self::Backlog => "backlog",
            Self::Replay => "replay",
        }
    }

    /// Its place in [`Self::ALL`].
    pub fn index(self) -> usize {
        match self {
            Self::High => 0,
            Self::Normal => 1,
            Self::Backlog => 2,
            Self::Replay => 3,
        }
    }

    pub(crate) fn from_index(index: i64) -> Option<Self> {
        usize::try_from(index)
            .ok()
            .and_then(|index| Self::ALL.get(index).copied())
    }
}

/// Asks for permits. The answer is not written anywhere: whoever reads the log computes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reserve {
    /// The process that asks, a new id at each start.
    pub incarnation: Uuid,
    /// Grows with each `Reserve` of the incarnation; one that was seen gets nothing.
    pub seq: u64,
    /// The class of all entries.
    pub class: Class,
    /// How long beyond slack its permits may start late, at most [`MAX_LEEWAY`]; each counts as used that much later.
    /// For a writer whose round trips to the log are longer than slack; 0 in records of schema version 1.
    pub leeway: Duration,
    /// One a scope.
    pub asks: Vec<Ask>,
}

/// What a `Reserve` wants in one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The limit scope (`telegram:main`).
    pub scope: String,
    /// How many messages of this class wait in the writer for this scope, those asked for included: keeps its place in
    /// the line.
    pub waiting: u32,
    /// In the order in which they want to be served.
    pub entries: Vec<Entry>,
}

/// Permits for one chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The chat id.
    pub chat: String,
    /// How many.
    pub n: u32,
}

/// What a penalty or a reset is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// One chat of a scope.
    Chat {
        /// The scope.
        scope: String,
        /// The chat id.
        chat: String,
    },
    /// The whole scope.
    Account {
        /// The scope.
        scope: String,
    },
    /// Our address: every scope of the platform (those named `<platform>:…`).
    Address {
        /// The platform.
        platform: String,
    },
    /// A 429 that named nothing: the chat, and the account once a second chat is answered so within 10 s. For a
    /// penalty only; a reset of it resets the chat.
    Unnamed {
        /// The scope.
        scope: String,
        /// The chat id.
        chat: String,
    },
}

/// A hold, after a 429 or by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Penalise {
    /// Who writes it.
    pub incarnation: Uuid,
    /// What is held.
    pub target: Target,
    /// How long from this record on.
    pub wait: Duration,
    /// The id under which Postgres keeps it, for those longer than [`LONG_PENALTY`].
    pub id: Option<Uuid>,
    /// Who wants it, when it was done by hand.
    pub operator: Option<String>,
    /// Why, for people.
    pub reason: String,
}

/// Penalties longer than this are also kept in Postgres (design §9).
pub const LONG_PENALTY: Duration = Duration::from_secs(60);

/// Ends penalties, by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reset {
    /// Of this wish: however often it is written, it is carried out once.
    pub id: Uuid,
    /// Whose: a chat's alone, an account's with all its chats, or an address'.
    pub target: Target,
    /// Who wants it.
    pub operator: String,
    /// Why.
    pub reason: String,
}

/// The limits in force from this record on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Of this wish: however often it is written, it is carried out once.
    pub id: Uuid,
    /// The machine's version from here on; a worker that lacks it stops.
    pub machine_version: u32,
    /// The scope and its limits; none: only the version changes.
    pub scope: Option<(String, ScopeLimits)>,
    /// Who wants it.
    pub operator: String,
    /// Why.
    pub reason: String,
}

/// Lets the log's time pass while something is live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// Who writes it.
    pub incarnation: Uuid,
    /// Asks for a snapshot of the state after this record.
    pub snapshot: bool,
}

/// The state after the record at `as_of`, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Who writes it.
    pub incarnation: Uuid,
    /// The offset of the last record that the state contains.
    pub as_of: i64,
    /// The time of the log at that record, for people.
    pub time: LogTime,
    /// SHA-256 of the whole state.
    pub hash: StateHash,
    /// Which part this is, from 0.
    pub part: u32,
    /// How many there are.
    pub parts: u32,
    /// The bytes of the part.
    pub state: Vec<u8>,
}

/// SHA-256 of a machine's whole state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StateHash(pub [u8; 32]);
