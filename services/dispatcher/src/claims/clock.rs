use std::sync::atomic::{AtomicI64, Ordering};

use tokio_postgres::Row;

use crate::calls::now_micros;

/// Postgres' wall clock, as far as its answers told: a worker whose own clock is an hour off expires nothing early or
/// late (faults, row 26). Behind by at most the way of one answer.
#[derive(Debug, Default)]
pub(crate) struct DatabaseClock {
    ahead_micros: AtomicI64,
}

impl DatabaseClock {
    /// Takes the time in from an answer's column `now_micros`.
    pub(super) fn learn(&self, rows: &[Row]) {
        if let Some(Ok(now)) = rows.first().map(|row| row.try_get::<_, i64>("now_micros")) {
            let ahead = now.saturating_sub(now_micros());
            self.ahead_micros.store(ahead, Ordering::Relaxed);
        }
    }

    /// Microseconds since the Unix epoch.
    pub(crate) fn now_micros(&self) -> i64 {
        now_micros().saturating_add(self.ahead_micros.load(Ordering::Relaxed))
    }
}
