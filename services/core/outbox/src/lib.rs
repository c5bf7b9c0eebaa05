//! Where the next read of the outbox starts, so that nothing is skipped and the order of design §6 holds.
//!
//! Pure: no SQL, clock or randomness. The relay performs what [`Cursor::plan`] says in one statement, and hands what
//! came back to [`Cursor::absorb`].
//!
//! * [`cursor`]: the cursor, with the argument why it is right;
//! * [`snapshot`]: which transactions a snapshot of Postgres sees as ended;
//! * [`in_flight`]: the rows that were read and not yet deleted;
//! * [`pace`]: how long to wait before the next read, and when a safety pass is due;
//! * [`share`]: how many shards one of several relays should own.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod cursor;
pub mod in_flight;
pub mod pace;
pub mod share;
pub mod snapshot;

pub use cursor::{Cursor, ReadPlan, ReadResult, RowsRead};
pub use in_flight::InFlight;
pub use pace::{Pace, SafetyPass};
pub use snapshot::{Snapshot, SnapshotError};
