//! What every call shares.

use std::collections::BTreeMap;

use tokio::sync::watch;

use crate::limits::Limiter;
use crate::log::Log;
use crate::script::Engine;

/// One simulator's state.
pub(crate) struct Shared {
    pub(crate) tokens: BTreeMap<String, String>,
    pub(crate) body_bytes: usize,
    pub(crate) log: Log,
    pub(crate) engine: Engine,
    pub(crate) limits: Limiter,
    /// True once the simulator stops; its sender may be gone by then.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Shared {
    /// Waits until the simulator stops.
    pub(crate) async fn stopped(&self) {
        let mut stopping = self.stopping.clone();
        // An error says that the handle is gone, which is a stop as well.
        let _gone = stopping.wait_for(|stopping| *stopping).await;
    }
}
