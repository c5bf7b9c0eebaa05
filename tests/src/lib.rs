//! A home for `tests/`, whole deployments of real parts, judged; and what several of them use.

mod deployed;
pub mod languages;

pub use deployed::{binary, connect};
