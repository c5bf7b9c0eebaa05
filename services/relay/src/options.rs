//! What a relay is started with.

use std::time::Duration;

pub use tidings_edge::config::RelayTuning as Tuning;

use tidings_edge::config::Config;

/// What a relay is started with.
#[derive(Debug, Clone)]
pub struct RelayOptions {
    /// The configuration; the relay uses `kafka`, `upstream`, `state`, `registry`, `relay` and the names of the platforms.
    pub config: Config,
    /// Bounds that need no change in ordinary use: `relay.tuning`, unless a test has its own.
    pub tuning: Tuning,
}

impl RelayOptions {
    /// A configuration with its own tuning.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let tuning = config.relay.tuning.clone();
        Self { config, tuning }
    }
}

/// Logs a failure that is tried again after `pause`.
pub(crate) fn warn_retry(
    what: &'static str,
    error: &(dyn std::error::Error + 'static),
    pause: Duration,
) {
    tracing::warn!(error, ?pause, "{what}; it is tried again");
}
