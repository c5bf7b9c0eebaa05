//! Whole deployments: the stack's real servers, roles as processes, the simulator, and the judge's word.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod backlog;
mod crashes;
mod poison;
mod promises;
mod restarts;
mod texts;
mod world;
