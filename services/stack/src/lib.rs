//! The local stack (design §12): real PostgreSQL, Apache Kafka (KRaft), Apicurio Registry and, if asked for, Jaeger as
//! child processes on loopback, for `tidings up`, the demo, drills and tests.
//!
//! Reading order: [`Stack`] (start, addresses, stop, faults) → `supervised` (one part's life) → `servers` (what each
//! server needs) → `process` (children that never outlive us) → `folder`, `ports`, `programs`.
//!
//! With the feature `containers` they can be containers instead (`TIDINGS_STACK=containers`, module `containers`). The
//! feature is for tests only: the production binary does not have it.
//!
//! The servers have no passwords and listen on loopback only: a stack is for a developer's machine and for CI.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod addresses;
mod child;
#[cfg(feature = "containers")]
mod containers;
mod error;
mod faults;
mod folder;
mod options;
mod part;
mod ports;
mod process;
mod programs;
mod servers;
mod source;
mod stack;
mod supervised;

pub use addresses::{Addresses, Detour};
pub use child::{ChildProcess, Program};
pub use error::StackError;
pub use options::{Existing, StackOptions};
pub use part::Part;
pub use source::StackSource;
pub use stack::Stack;
