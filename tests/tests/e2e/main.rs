//! Whole deployments: the stack's real servers, roles as processes, the simulator, and the judge's word.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod accounts;
mod answers;
mod backlog;
mod claim_check;
mod crashes;
mod dead_letter_limit;
mod deferred;
mod limits_command;
mod poison;
mod promises;
mod registry_away;
mod restarts;
mod schemas_command;
mod targets;
mod texts;
mod versions;
mod world;
