//! Holds the load program's workers where a test wants them.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::watch;

/// Closed until it is opened. Copies are the same gate.
#[derive(Clone)]
pub struct Gate {
    /// Whether somebody came to the gate.
    reached: Arc<watch::Sender<bool>>,
    open: Arc<watch::Sender<bool>>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            reached: Arc::new(watch::Sender::new(false)),
            open: Arc::new(watch::Sender::new(false)),
        }
    }
}

impl Gate {
    /// Blocks the calling task until the gate is open.
    pub fn pass(&self) {
        self.reached.send_replace(true);
        let mut open = self.open.subscribe();
        tokio::task::block_in_place(|| {
            Handle::current().block_on(async { open.wait_for(|open| *open).await.map(drop) })
        })
        .unwrap();
    }

    /// Waits until somebody is at the gate.
    pub async fn awaited(&self) {
        let mut reached = self.reached.subscribe();
        reached.wait_for(|reached| *reached).await.unwrap();
    }

    pub fn open(&self) {
        self.open.send_replace(true);
    }
}
