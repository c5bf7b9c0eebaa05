//! Tidings' own Postgres: claims with fences and leases by its clock, and the epochs of partitions.

mod server;
mod statements;
mod table;

pub(crate) use statements::{ClaimStep, Statement, StatementRef};
pub(crate) use table::{ClaimAsk, Claims, Row, State, Taken, Tried};
