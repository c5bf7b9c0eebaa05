//! A home for `tests/`, whole deployments of real parts, judged; and what several of them use.

mod deployed;
pub mod languages;
pub mod s3;

pub use deployed::{binary, connect};
