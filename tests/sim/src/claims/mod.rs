//! Tidings' own Postgres: claims with fences and leases by its clock, and the epochs of partitions.

mod deferrals;
mod deferring;
mod server;
mod statements;
mod table;

pub(crate) use deferrals::{DeferAsk, Deferrals, LoadAsk};
pub(crate) use deferring::Deferring;
pub(crate) use statements::{ClaimStep, Statement, StatementRef};
pub(crate) use table::{ClaimAsk, Claims, Row, State, Taken, Tried};
