//! Upstream's side: its transactions, and as much of its Postgres as the relay's cursor rests on.

mod database;
mod sessions;
mod transactions;

pub(crate) use database::OutboxDatabase;
pub(crate) use sessions::{OutboxStatement, OutboxStep, SessionId};
pub(crate) use transactions::UpstreamStep;
