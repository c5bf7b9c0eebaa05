//! A whole deployment on one machine: the stack's servers, topics, databases, the simulator of the platforms, and the
//! roles as child processes that a drill can kill, freeze and start again.
//!
//! `tidings up` and `tidings demo` run on it, and so do the end-to-end tests: what they show is what runs.

mod account;
mod deployment;
mod error;
mod limit_topic;
mod profile;
mod proxy;
mod role;

pub use account::DrillAccount;
pub use deployment::{Deployment, DeploymentOptions, Place};
pub use error::DrillError;
pub use limit_topic::LimitTopic;
pub use profile::Profile;
pub use proxy::Proxy;
pub use role::{Role, RoleKind};
