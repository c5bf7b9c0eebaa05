//! A home for `tests/`, whole deployments of real parts, judged; and what several of them use.

pub mod languages;
