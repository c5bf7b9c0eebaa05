//! As much of Kafka as delivery rests on: logs in order, committed offsets, and a group that moves partitions.

mod group;
mod log;

pub(crate) use group::{Group, GroupStep, Owner};
pub(crate) use log::{Kafka, Record};
