//! Closing clients: each in a thread of its own, because a close can hang (rust-rdkafka #509, #453).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tracing::warn;

/// Drops things that may take for ever, and counts those that do.
pub(super) struct Closer {
    deadline: Duration,
    hanging: Arc<AtomicUsize>,
}

impl Closer {
    pub(super) fn new(deadline: Duration) -> Self {
        Self {
            deadline,
            hanging: Arc::new(AtomicUsize::new(0)),
        }
    }

    /// How many have not come to their end.
    pub(super) fn hanging(&self) -> usize {
        self.hanging.load(Ordering::Relaxed)
    }

    /// Drops it, and waits for that not longer than the deadline. Tells whether it is gone.
    pub(super) fn close(&self, what: impl Send + 'static) -> bool {
        let (gone, answer) = mpsc::channel();
        let hanging = Arc::clone(&self.hanging);
        hanging.fetch_add(1, Ordering::Relaxed);
        let spawned = thread::Builder::new()
            .name("rate-limit-close".into())
            .spawn(move || {
                drop(what);
                hanging.fetch_sub(1, Ordering::Relaxed);
                let _ = gone.send(());
            });
        let closed = spawned.is_ok() && answer.recv_timeout(self.deadline).is_ok();
        if !closed {
            warn!("a client of the rate-limit topic does not close; the process' end takes it");
        }
        closed
    }
}
