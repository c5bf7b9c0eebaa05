//! `tidings doctor` on wrong configurations and deployments, on real parts: each fault is found, named and explained,
//! and nothing else is called a problem.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod accounts;
mod claim_check;
mod databases;
mod diagnosis;
mod registry;
mod settings;
mod topics;
mod world;
