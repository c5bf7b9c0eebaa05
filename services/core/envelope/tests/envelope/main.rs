//! The envelope through its public face: the schemas in `schemas/`, what is written, what is read,
//! what is refused, and the texts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod accepted;
mod carried;
mod catalogue;
mod compatibility;
mod content;
mod envelope_rules;
mod evolution;
mod garbage;
mod golden;
mod poison;
mod rejections;
mod support;
mod texts;
