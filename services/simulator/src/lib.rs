//! A simulator of the chat platforms (Telegram for now): the same paths and bodies, answers and faults by script, and a
//! log of every call that forgets nothing silently.
//!
//! It stands where a platform stands, so it trusts nobody: what a person would have seen is what the log marks as
//! `accepted`, and what the platform's limits would have refused is marked, counted, and refused if asked for.
//!
//! | path | what it does |
//! | --- | --- |
//! | `POST /bot<TOKEN>/sendMessage` | Telegram's call ([`telegram`]) |
//! | `GET /sim/log?from=<seq>` | the log from that entry on, one JSON object a line ([`log::Entry`]) |
//! | `GET`, `PUT /sim/script` | what is answered ([`script::Script`]) |
//! | `GET`, `PUT /sim/limits` | what each account is held to: an object of [`limits::Limits`] by alias |
//! | `GET /sim/stats` | counts: [`log::Stats`], and in `accounts` [`limits::AccountStats`] by alias; `?seconds_from=<Unix second>` adds each second from that one on |
//! | `POST /sim/reset` | forgets log, script, arrivals and counts; limits stay, numbers go on |
//! | `GET /sim/health` | `{"status":"ok"}` |
//!
//! Reading order: [`Simulator`], [`script`], [`limits`], [`telegram`], [`log`].

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod limits;
pub mod log;
pub mod script;
pub mod telegram;

mod connection;
mod control;
mod error;
mod options;
mod server;
mod shared;

pub use error::SimulatorError;
pub use options::SimulatorOptions;
pub use server::Simulator;
