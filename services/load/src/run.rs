//! A run: its workers, and what they share.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::order::OrderPlan;
use crate::pace::Pace;
use crate::report::{LoadReport, Progress, Tally};
use crate::{LoadError, LoadOptions, event, prepare, worker};

/// Commits all orders of `options` and says what it did. `progress` is called after each shipped
/// order, from several tasks, and must not block.
///
/// # Errors
/// See [`LoadError`]. What was committed until then stays, with its ledger rows.
pub async fn run(
    options: LoadOptions,
    progress: impl Fn(Progress) + Send + Sync + 'static,
) -> Result<LoadReport, LoadError> {
    options.validate()?;
    prepare(&options).await?;
    tracing::info!(run = %options.run, seed = options.seed, orders = options.orders, "load begins");
    let start = Instant::now();
    let shared = Arc::new(Shared::new(options, Box::new(progress)));
    let mut workers = JoinSet::new();
    for _ in 0..shared.options.workers {
        workers.spawn(worker::work(Arc::clone(&shared)));
    }
    let mut tally = Tally::default();
    // An error drops the set, which aborts the others.
    while let Some(worker) = workers.join_next().await {
        tally = tally + worker??;
    }
    let options = &shared.options;
    Ok(tally.report(&options.run, options.seed, start.elapsed()))
}

/// What the workers share.
pub(crate) struct Shared {
    pub(crate) options: LoadOptions,
    pub(crate) pace: Pace,
    pub(crate) next_transaction: AtomicI64,
    next_order: AtomicU32,
    shipped_orders: AtomicU64,
    shipped_events: AtomicU64,
    progress: Box<dyn Fn(Progress) + Send + Sync>,
}

impl Shared {
    fn new(options: LoadOptions, progress: Box<dyn Fn(Progress) + Send + Sync>) -> Self {
        Self {
            pace: Pace::new(options.rate_per_second),
            options,
            next_transaction: AtomicI64::new(1),
            next_order: AtomicU32::new(0),
            shipped_orders: AtomicU64::new(0),
            shipped_events: AtomicU64::new(0),
            progress,
        }
    }

    /// The plan of the next order that nobody has begun.
    pub(crate) fn next_order(&self) -> Option<OrderPlan> {
        let index = self.next_order.fetch_add(1, Ordering::Relaxed);
        (index < self.options.orders).then(|| OrderPlan::new(&self.options, index))
    }

    /// Says that all events of an order are committed.
    pub(crate) fn shipped(&self, plan: &OrderPlan) {
        let events = event::confirmed(plan).len() as u64 + 1;
        let committed_events = self.shipped_events.fetch_add(events, Ordering::Relaxed) + events;
        let orders = self.shipped_orders.fetch_add(1, Ordering::Relaxed) + 1;
        (self.progress)(Progress {
            orders,
            total_orders: u64::from(self.options.orders),
            committed_events,
        });
    }
}
