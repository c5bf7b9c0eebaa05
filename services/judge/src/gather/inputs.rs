//! Where the evidence is.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::evidence::{Faults, Scope};

/// Everything that [`crate::gather()`] needs to know. Its `Debug` prints no URL: they carry passwords.
#[derive(Clone)]
pub struct Inputs {
    /// URL of the upstream database: the ledger and the outbox.
    pub upstream_url: String,
    /// URL of Tidings' own database: the claims.
    pub state_url: String,
    /// Where the platform simulator's log is.
    pub simulator: SimulatorLog,
    /// Kafka; without it, lanes and dead-letter topics are no evidence.
    pub kafka: Option<KafkaInputs>,
    /// Which messages are judged.
    pub scope: Scope,
    /// What was done to the workers on purpose.
    pub faults: Faults,
    /// Whether a message that was given up breaks the run.
    pub require_delivery: bool,
    /// How to wait for rest before reading; `None` reads at once.
    pub wait: Option<Wait>,
}

/// Where the simulator's log is.
#[derive(Clone)]
pub enum SimulatorLog {
    /// The simulator's base URL; its log is at `/sim/log`.
    Url(String),
    /// A file of the same NDJSON.
    File(PathBuf),
}

/// Which part of Kafka belongs to the judged deployment.
#[derive(Debug, Clone)]
pub struct KafkaInputs {
    /// `host:port`, comma-separated.
    pub brokers: String,
    /// Prefix of the topics (design §4).
    pub prefix: String,
    /// The dispatchers' consumer group.
    pub group: String,
    /// Platforms whose lanes are looked at.
    pub platforms: Vec<String>,
}

/// The wait for rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Give up when nothing has moved for so long.
    pub quiet: Duration,
    /// Give up after so long in any case.
    pub longest: Duration,
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inputs")
            .field("kafka", &self.kafka)
            .field("scope", &self.scope)
            .field("faults", &self.faults)
            .field("require_delivery", &self.require_delivery)
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}
