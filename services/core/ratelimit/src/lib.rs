//! One limit for all workers: the machine and its asker (design §9).
//!
//! However many workers run, a platform account sees one sender. Every worker reads the rate-limit topic and runs the
//! same [`Machine`] over it; a permit is asked for by appending a [`Reserve`], and whoever reads it computes the same
//! answer. No leader, no shared clock, no lock in a database.
//!
//! The [`Limiter`] is a worker's side of it: [`Limiter::handle`] takes one [`Event`] and the time and pushes the
//! [`Effect`]s to perform; [`Limiter::start`] says, at the moment of sending, whether a message may go. It does no I/O,
//! reads no clock and draws no randomness but from its seed.
//!
//! ```text
//! Want ─► ask (Append Reserve) ─► read back ─► Granted{from, until} ─► start: Go
//!   ▲                                │ refused            │ penalty, late
//!   └────────────────────────────────┴────────────────────┘
//! ```
//!
//! Reading order: [`record`](Record), `limits` (what is enforced, and why so), [`machine`](Machine), `limiter`.
//!
//! Deliberately absent: Kafka, Postgres, wall clocks, messages.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod limiter;
mod limits;
mod machine;
mod random;
mod record;
mod time;

pub use limiter::{
    AppendId, ClosedWhy, Counts, Effect, Event, KeptPenalty, Limiter, Mode, Operation, Options,
    PermitId, Start, StoppedWhy, Validity, View, VoidWhy,
};
pub use limits::{
    ARRIVAL_MARGIN, EXACT_HEADROOM_PERMILLE, Limit, LimitsError, MAX_COUNT, MAX_PERIOD, MAX_RULES,
    MINUTE_SLACK, Rule, SLACK, ScopeLimits, SourcePreset, TOKEN_BUCKET_HEADROOM_PERMILLE,
    exact_limits, source_limits,
};
pub use machine::{
    Applied, ApplyError, HIGH_HORIZON, HORIZON, Hold, HoldView, MACHINE_VERSION, MAX_ADVANCE,
    MAX_INCARNATIONS, MAX_LIVE_CHATS, MAX_SCOPES, Machine, Refusal, RefusedWhy, RestoreError,
    SNAPSHOT_AFTER, SNAPSHOT_OFFSETS, ScopeView, Served, ServedAsk, WaiterView, What, horizon,
};
pub use record::{
    Ask, Body, Class, DecodeError, Entry, Init, LONG_PENALTY, Limits, MAX_ASKS, MAX_ENTRIES,
    MAX_LEEWAY, MAX_NAME_BYTES, MAX_OPERATOR_BYTES, MAX_PART_BYTES, MAX_PARTS, MAX_PERMITS,
    MAX_REASON_BYTES, MAX_RECORD_BYTES, Penalise, Record, Reserve, Reset, SCHEMA, SCHEMA_VERSION,
    Snapshot, StateHash, Target, Tick,
};
pub use time::{LogTime, Moment};
