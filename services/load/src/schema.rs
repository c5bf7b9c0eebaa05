//! The tables of the load program.

use crate::connection::Link;
use crate::{LoadError, LoadOptions};

const SQL: &str = include_str!("../sql/load.sql");

/// Creates the schema `load` (orders, ledger, commits, rolled_back) where it is missing. [`crate::run()`]
/// does it by itself; tests that write their own ledger rows call it first.
///
/// # Errors
/// When the database cannot be reached or refuses.
pub async fn prepare(options: &LoadOptions) -> Result<(), LoadError> {
    let mut link = Link::new(options);
    loop {
        // The batch is one transaction: the lock in it is held to its end.
        match link.session().await?.batch(SQL).await {
            Ok(()) => return Ok(()),
            Err(lost) => link.lost("create the schema `load`", lost)?,
        }
    }
}
