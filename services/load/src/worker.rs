//! One worker: confirms orders, ships them later.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::LoadError;
use crate::order::OrderPlan;
use crate::report::Tally;
use crate::run::Shared;
use crate::work::Work;
use crate::writer::Writer;

/// Works off orders until none is left.
pub(crate) async fn work(shared: Arc<Shared>) -> Result<Tally, LoadError> {
    let mut worker = Worker {
        main: Writer::new(Arc::clone(&shared)),
        side: Writer::new(Arc::clone(&shared)),
        confirmed: VecDeque::new(),
        shared,
    };
    while let Some(plan) = worker.shared.next_order() {
        worker.begin(plan).await?;
        let keep = worker.shared.options.ship_after as usize;
        worker.ship_down_to(keep).await?;
    }
    worker.ship_down_to(0).await?;
    Ok(worker.main.into_tally() + worker.side.into_tally())
}

struct Worker {
    shared: Arc<Shared>,
    main: Writer,
    /// Where a transaction stays open while others commit on `main`.
    side: Writer,
    /// Orders to be shipped, oldest first.
    confirmed: VecDeque<OrderPlan>,
}

impl Worker {
    async fn begin(&mut self, plan: OrderPlan) -> Result<(), LoadError> {
        if plan.roll_back_first {
            self.main.roll_back(&Work::confirm(&plan)).await?;
        }
        if plan.held_over > 0 {
            self.confirm_held(&plan).await?;
        } else {
            self.main.commit(&Work::confirm(&plan)).await?;
        }
        self.confirmed.push_back(plan);
        Ok(())
    }

    /// Writes the order first and commits it last: in between, others of its chat commit one after
    /// the other. The relay must skip none and keep the order of those (fault matrix, row 15).
    async fn confirm_held(&mut self, plan: &OrderPlan) -> Result<(), LoadError> {
        let work = Work::confirm(plan);
        let written = self.side.write(&work).await?;
        for _ in 0..plan.held_over {
            let Some(mut other) = self.shared.next_order() else {
                break;
            };
            other.chat_id = plan.chat_id;
            self.main.commit(&Work::confirm(&other)).await?;
            self.confirmed.push_back(other);
        }
        if self.side.finish(&work, written).await? {
            self.side.tally.held_open += 1;
            return Ok(());
        }
        self.side.commit(&work).await
    }

    async fn ship_down_to(&mut self, keep: usize) -> Result<(), LoadError> {
        while self.confirmed.len() > keep {
            let Some(plan) = self.confirmed.pop_front() else {
                break;
            };
            self.main.commit(&Work::ship(&plan, now_micros())).await?;
            self.main.tally.orders += 1;
            self.shared.shipped(&plan);
        }
        Ok(())
    }
}

/// Microseconds since the Unix epoch.
fn now_micros() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = elapsed.unwrap_or_default().as_micros();
    i64::try_from(micros).unwrap_or(i64::MAX)
}
