//! An upstream service for demos, drills and tests: it commits order events in real business
//! transactions of plain SQL, as any service would, and keeps a ledger that the judge compares with.
//!
//! Each order is confirmed in one transaction (the order, `order.confirmed`, sometimes a
//! `notification.requested`) and shipped in a later one (`order.shipped`). Some transactions are
//! rolled back, some are held open while others of their chat commit, some events are invalid. The
//! plan of each order follows from the seed alone; what overlaps with what follows from time.
//!
//! The program goes on through restarts of Postgres: it reconnects, and settles a commit whose answer
//! was lost by looking whether the ledger has its rows.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod connection;
mod error;
mod event;
mod options;
mod order;
mod pace;
mod report;
mod run;
mod schema;
mod session;
mod work;
mod worker;
mod writer;

pub use error::LoadError;
pub use options::{InvalidOption, LoadOptions};
pub use report::{LoadReport, Progress};
pub use run::run;
pub use schema::prepare;
