//! What a shard has read: from where the next read goes on, and the rows that wait to be produced.

use std::collections::VecDeque;
use std::time::Duration;

use tidings_edge::config::RelayConfig;
use tidings_edge::telemetry::metric_names;
use tidings_envelope::Micros;
use tidings_outbox::{Cursor, InFlight, Pace, ReadPlan, ReadResult, RowsRead, SafetyPass};
use tokio::time::Instant;

use crate::read::{Read, ReadBounds};
use crate::row::OutboxRow;

use crate::worker::Shared;

/// A read never asks for fewer rows, however large the last ones were.
const LEAST_READ_ROWS: usize = 16;

/// A shard's reads.
pub(crate) struct Intake {
    cursor: Cursor,
    in_flight: InFlight,
    pending: VecDeque<OutboxRow>,
    pace: Pace,
    safety: SafetyPass,
    started_at: Instant,
    next_read_at: Instant,
    reading: bool,
    /// The mean length of the last read's data, by which the next one's rows are bounded.
    row_bytes: usize,
}

/// A read that is to be done.
pub(crate) struct Planned {
    pub(crate) plan: ReadPlan,
    pub(crate) bounds: ReadBounds,
    /// It is a safety pass, from the table's start.
    pub(crate) safety: bool,
}

impl Intake {
    /// Nothing read yet.
    pub(crate) fn new(shared: &Shared) -> Self {
        let now = Instant::now();
        let relay = &shared.relay;
        Self {
            cursor: Cursor::with_max_tracked(shared.tuning.max_tracked_transactions),
            in_flight: InFlight::new(),
            pending: VecDeque::new(),
            pace: Pace::new(relay.poll_min, relay.poll_max),
            safety: SafetyPass::new(relay.safety_pass_min, Duration::ZERO),
            started_at: now,
            next_read_at: now,
            reading: false,
            row_bytes: 1,
        }
    }

    /// The row to produce next.
    pub(crate) fn front(&self) -> Option<&OutboxRow> {
        self.pending.front()
    }

    /// The row in front is produced, or refused.
    pub(crate) fn pop(&mut self) {
        self.pending.pop_front();
    }

    /// Whether no row waits to be produced.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Forgets what is read and not produced: it stays in the table.
    pub(crate) fn clear(&mut self) {
        self.pending.clear();
    }

    /// Rows are gone from the table.
    pub(crate) fn leave(&mut self, ids: impl IntoIterator<Item = i64>) {
        for id in ids {
            self.in_flight.remove(id);
        }
    }

    /// When the next read is due, if there is room for its rows: one read ahead of the producer, and in all up to the
    /// bound of what is in flight.
    pub(crate) fn due_at(&self, relay: &RelayConfig) -> Option<Instant> {
        let most = relay.max_in_flight_rows;
        let least = relay.batch_rows.min(most.div_ceil(4));
        let ahead = self.pending.len() < relay.batch_rows;
        let has_room = self.in_flight.len().saturating_add(least) <= most;
        (!self.reading && ahead && has_room).then_some(self.next_read_at)
    }

    /// Begins the next read.
    pub(crate) fn begin(&mut self, relay: &RelayConfig, payload_bytes: usize) -> Planned {
        self.reading = true;
        let safety = self.safety.due(self.started_at.elapsed());
        let room = relay
            .max_in_flight_rows
            .saturating_sub(self.in_flight.len());
        let fitting = (relay.batch_bytes / self.row_bytes).max(LEAST_READ_ROWS);
        Planned {
            plan: self.cursor.plan(&self.in_flight, safety),
            bounds: ReadBounds {
                rows: relay.batch_rows.min(room).min(fitting).max(1),
                bytes: relay.batch_bytes,
                payload_bytes,
            },
            safety,
        }
    }

    /// Takes in what a safety pass took.
    pub(crate) fn passed(&mut self, took: Duration) {
        self.safety.passed(self.started_at.elapsed(), took);
    }

    /// Takes in what a read came back with. Returns its first row's id and time, if it found rows.
    pub(crate) fn absorb(&mut self, read: Read) -> Option<(i64, Micros)> {
        self.reading = false;
        let first = read
            .rows
            .first()
            .map(|row| (row.id, row.envelope.recorded_at));
        let rows = read.rows.last().map(|last| RowsRead {
            last_id: last.id,
            mark: read.mark,
            truncated: read.truncated,
        });
        self.cursor.absorb(ReadResult {
            snapshot: &read.snapshot,
            rows,
        });
        if read.rewound {
            metrics::counter!(metric_names::RELAY_REWINDS_TOTAL).increment(1);
        }
        let pause = self.pace.after_read(rows.is_some());
        // A read that was cut leaves more to read at once.
        let cut = rows.is_some_and(|rows| rows.truncated);
        self.next_read_at = Instant::now() + if cut { Duration::ZERO } else { pause };
        self.take_rows(read.rows);
        first
    }

    fn take_rows(&mut self, rows: Vec<OutboxRow>) {
        if !rows.is_empty() {
            let bytes: usize = rows
                .iter()
                .filter_map(|row| row.data.as_ref())
                .map(String::len)
                .sum();
            self.row_bytes = (bytes / rows.len()).max(1);
        }
        for row in rows {
            self.in_flight.insert(row.id);
            self.pending.push_back(row);
        }
    }
}
