//! The loop over one shard: one session, one producer, one cursor, in one task, so that the order is nobody else's.
//!
//! At any time at most one read and one write are on their way to Postgres, pipelined on the session, while rows of
//! the last read are encoded and produced and acknowledgements of earlier ones arrive.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rdkafka::error::KafkaError;
use tidings_edge::config::RelayConfig;
use tidings_edge::telemetry::metric_names;
use tidings_envelope::{Micros, Rejection};
use tidings_outbox::{Cursor, InFlight, Pace, ReadResult, RowsRead, SafetyPass};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::encoder::Encoder;
use crate::health::RelayHealth;
use crate::options::Tuning;
use crate::publisher::{Publisher, Sent};
use crate::row::OutboxRow;
use crate::session::{Read, ReadBounds, Refused, Session, SessionError};

/// The most rows that are encoded before the task looks at everything else again: about a millisecond of work.
const ROWS_AT_ONCE: usize = 256;
/// A read never asks for fewer rows, however large the last ones were.
const LEAST_READ_ROWS: usize = 16;

/// Why a worker cannot go on. The rows it had in flight are read again by the next.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    /// The session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The producer.
    #[error("the producer failed")]
    Producer(#[from] KafkaError),
    /// Kafka acknowledged nothing for too long.
    #[error("no acknowledgement for {waited_seconds} s while {records} records wait")]
    NoAcknowledgement {
        /// How long.
        waited_seconds: u64,
        /// How many records wait.
        records: usize,
    },
}

/// What the shards of one relay share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) relay: RelayConfig,
    pub(crate) tuning: Tuning,
    pub(crate) encoder: Encoder,
    pub(crate) health: Arc<RelayHealth>,
}

type Statement = Pin<Box<dyn Future<Output = Result<Done, SessionError>> + Send>>;

/// A statement that ended.
enum Done {
    Read {
        read: Read,
        safety: bool,
        took: Duration,
    },
    Deleted(Vec<i64>),
    Rejected(Vec<Refused>),
    Alive,
}

/// One shard at work.
pub(crate) struct Worker<'a> {
    shared: &'a Shared,
    session: Arc<Session>,
    publisher: &'a Publisher,
    statements: FuturesUnordered<Statement>,
    reading: bool,
    writing: bool,

    cursor: Cursor,
    in_flight: InFlight,
    pace: Pace,
    safety: SafetyPass,
    started_at: Instant,
    next_read_at: Instant,
    row_bytes: usize,

    /// Read, not yet produced.
    pending: VecDeque<OutboxRow>,
    value: Vec<u8>,
    blocked: bool,
    unacknowledged: usize,
    progress_at: Instant,
    sampled: VecDeque<(i64, Micros)>,

    /// Acknowledged, not yet deleted.
    acknowledged: Vec<i64>,
    refused: Vec<Refused>,
    next_write_at: Instant,
    statement_at: Instant,
    stopping: bool,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(shared: &'a Shared, session: Session, publisher: &'a Publisher) -> Self {
        let now = Instant::now();
        let relay = &shared.relay;
        Self {
            shared,
            session: Arc::new(session),
            publisher,
            statements: FuturesUnordered::new(),
            reading: false,
            writing: false,
            cursor: Cursor::with_max_tracked(shared.tuning.max_tracked_transactions),
            in_flight: InFlight::new(),
            pace: Pace::new(relay.poll_min, relay.poll_max),
            safety: SafetyPass::new(relay.safety_pass_min, Duration::ZERO),
            started_at: now,
            next_read_at: now,
            row_bytes: 1,
            pending: VecDeque::new(),
            value: Vec::new(),
            blocked: false,
            unacknowledged: 0,
            progress_at: now,
            sampled: VecDeque::new(),
            acknowledged: Vec::new(),
            refused: Vec::new(),
            next_write_at: now,
            statement_at: now,
            stopping: false,
        }
    }

    /// Works until `stop` says so and everything produced is acknowledged and deleted, or until something fails.
    pub(crate) async fn run(
        &mut self,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<(), WorkerError> {
        loop {
            self.take_acknowledgements()?;
            self.produce()?;
            self.start_statements();
            if self.stopping && self.is_drained() {
                return Ok(());
            }
            let busy = !self.pending.is_empty() && !self.blocked;
            let wake_at = self.wake_at();
            tokio::select! {
                biased;
                Some(done) = self.statements.next() => self.finish(done?),
                () = self.publisher.delivered() => {}
                () = tokio::task::yield_now(), if busy => {}
                () = tokio::time::sleep_until(wake_at) => self.check_progress()?,
                _ = stop.wait_for(|stop| *stop), if !self.stopping => self.stop(),
            }
        }
    }

    fn take_acknowledgements(&mut self) -> Result<(), WorkerError> {
        let taken = self.publisher.take()?;
        if taken.ids.is_empty() {
            return Ok(());
        }
        self.blocked = false;
        self.progress_at = Instant::now();
        self.unacknowledged = self.unacknowledged.saturating_sub(taken.ids.len());
        self.shared.health.add_published(taken.ids.len() as u64);
        for (topic, count) in taken.by_topic {
            metrics::counter!(metric_names::RELAY_PUBLISHED_TOTAL, "topic" => topic)
                .increment(count);
        }
        self.observe_latency(&taken.ids);
        self.acknowledged.extend(taken.ids);
        Ok(())
    }

    /// The latency of each read's first row stands for the read.
    fn observe_latency(&mut self, acknowledged: &[i64]) {
        if self.sampled.is_empty() {
            return;
        }
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        self.sampled.retain(|(id, recorded_at)| {
            let arrived = acknowledged.contains(id);
            if arrived {
                let recorded =
                    Duration::from_micros(u64::try_from(recorded_at.0).unwrap_or_default());
                let latency = since_epoch.saturating_sub(recorded);
                metrics::histogram!(metric_names::RELAY_LATENCY_SECONDS).record(latency);
            }
            !arrived
        });
    }

    /// Encodes and produces pending rows, in the order of the read.
    fn produce(&mut self) -> Result<(), WorkerError> {
        if self.blocked {
            return Ok(());
        }
        for _ in 0..ROWS_AT_ONCE {
            let Some(row) = self.pending.front() else {
                break;
            };
            match self.shared.encoder.encode(row, &mut self.value) {
                Ok(record) => match self.publisher.send(row.id, record)? {
                    Sent::Queued => self.queued(),
                    Sent::Full => {
                        self.blocked = true;
                        break;
                    }
                },
                Err(rejection) => self.refuse(row.id, &rejection),
            }
            self.pending.pop_front();
        }
        Ok(())
    }

    fn queued(&mut self) {
        if self.unacknowledged == 0 {
            self.progress_at = Instant::now();
        }
        self.unacknowledged += 1;
    }

    fn refuse(&mut self, id: i64, rejection: &Rejection) {
        let code = rejection.code.as_str();
        self.refused.push(Refused {
            id,
            code,
            field: rejection.field.clone(),
            reason: rejection.to_string(),
        });
    }

    fn start_statements(&mut self) {
        let now = Instant::now();
        if !self.writing {
            self.start_write(now);
        }
        if !self.reading && self.has_room() && now >= self.next_read_at {
            self.start_read(now);
        }
        // Postgres ends a session that is silent for too long, which is meant for relays that are frozen.
        if self.statements.is_empty() && now >= self.keep_alive_at() {
            self.start_statement(now, |session| async move {
                session.delete(&[]).await.map(|()| Done::Alive)
            });
        }
    }

    fn start_write(&mut self, now: Instant) {
        if !self.refused.is_empty() {
            let refused = std::mem::take(&mut self.refused);
            self.writing = true;
            self.start_statement(now, |session| async move {
                session
                    .reject(&refused)
                    .await
                    .map(|()| Done::Rejected(refused))
            });
        } else if self.delete_is_due(now) {
            let ids = std::mem::take(&mut self.acknowledged);
            self.writing = true;
            self.next_write_at = now + self.shared.tuning.delete_interval;
            self.start_statement(now, |session| async move {
                session.delete(&ids).await.map(|()| Done::Deleted(ids))
            });
        }
    }

    fn delete_is_due(&self, now: Instant) -> bool {
        let many = self.acknowledged.len() >= self.shared.relay.batch_rows;
        !self.acknowledged.is_empty() && (many || self.stopping || now >= self.next_write_at)
    }

    fn start_read(&mut self, now: Instant) {
        let safety = self.safety.due(now - self.started_at);
        let plan = self.cursor.plan(&self.in_flight, safety);
        let bounds = self.read_bounds();
        self.reading = true;
        self.start_statement(now, move |session| async move {
            let read = session.read(&plan, bounds).await?;
            Ok(Done::Read {
                read,
                safety,
                took: now.elapsed(),
            })
        });
    }

    fn start_statement<F>(&mut self, now: Instant, statement: impl FnOnce(Arc<Session>) -> F)
    where
        F: Future<Output = Result<Done, SessionError>> + Send + 'static,
    {
        self.statement_at = now;
        self.statements
            .push(Box::pin(statement(Arc::clone(&self.session))));
    }

    /// Rows are read ahead of the producer by one read, and in all up to the bound.
    fn has_room(&self) -> bool {
        let most = self.shared.relay.max_in_flight_rows;
        let least = self.shared.relay.batch_rows.min(most.div_ceil(4));
        !self.stopping
            && self.pending.len() < self.shared.relay.batch_rows
            && self.in_flight.len().saturating_add(least) <= most
    }

    fn read_bounds(&self) -> ReadBounds {
        let relay = &self.shared.relay;
        let room = relay
            .max_in_flight_rows
            .saturating_sub(self.in_flight.len());
        let fitting = (relay.batch_bytes / self.row_bytes).max(LEAST_READ_ROWS);
        ReadBounds {
            rows: relay.batch_rows.min(room).min(fitting).max(1),
            bytes: relay.batch_bytes,
            payload_bytes: self.shared.encoder.payload_bytes(),
        }
    }

    fn finish(&mut self, done: Done) {
        match done {
            Done::Read { read, safety, took } => {
                self.reading = false;
                if safety {
                    self.safety.passed(self.started_at.elapsed(), took);
                }
                self.absorb(read);
            }
            Done::Deleted(ids) => {
                self.writing = false;
                self.leave(ids.iter().copied());
            }
            Done::Rejected(refused) => {
                self.writing = false;
                self.leave(refused.iter().map(|row| row.id));
                self.report(&refused);
            }
            Done::Alive => {}
        }
    }

    fn absorb(&mut self, read: Read) {
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
        let pause = if rows.is_some_and(|rows| rows.truncated) {
            Duration::ZERO
        } else {
            pause
        };
        self.next_read_at = Instant::now() + pause;
        self.measure(&read.rows);
        for row in read.rows {
            self.in_flight.insert(row.id);
            self.pending.push_back(row);
        }
    }

    fn measure(&mut self, rows: &[OutboxRow]) {
        if let Some(first) = rows.first() {
            let bytes: usize = rows
                .iter()
                .filter_map(|row| row.data.as_ref())
                .map(String::len)
                .sum();
            self.row_bytes = (bytes / rows.len()).max(1);
            self.sampled
                .push_back((first.id, first.envelope.recorded_at));
        }
    }

    fn leave(&mut self, ids: impl Iterator<Item = i64>) {
        for id in ids {
            self.in_flight.remove(id);
        }
    }

    fn report(&mut self, refused: &[Refused]) {
        self.shared.health.add_rejected(refused.len() as u64);
        for row in refused {
            self.sampled.retain(|(id, _)| *id != row.id);
            metrics::counter!(metric_names::RELAY_REJECTED_TOTAL, "reason" => row.code)
                .increment(1);
            tracing::warn!(outbox_id = row.id, code = row.code, field = %row.field, reason = %row.reason, "a row was rejected");
        }
    }

    /// What is produced is waited for; what is only read stays in the table.
    fn stop(&mut self) {
        self.stopping = true;
        self.pending.clear();
    }

    fn is_drained(&self) -> bool {
        self.unacknowledged == 0
            && self.acknowledged.is_empty()
            && self.refused.is_empty()
            && self.pending.is_empty()
            && self.statements.is_empty()
    }

    fn check_progress(&self) -> Result<(), WorkerError> {
        let waited = self.progress_at.elapsed();
        if self.unacknowledged > 0 && waited >= self.shared.relay.produce_deadline {
            let waited_seconds = waited.as_secs();
            return Err(WorkerError::NoAcknowledgement {
                waited_seconds,
                records: self.unacknowledged,
            });
        }
        Ok(())
    }

    /// When there is something to do by the clock alone.
    fn wake_at(&self) -> Instant {
        let mut wake_at = self.keep_alive_at();
        if !self.statements.is_empty() {
            // A statement that runs keeps the session alive, and its own deadline watches over it.
            wake_at = Instant::now() + self.shared.tuning.statement_deadline;
        }
        if self.unacknowledged > 0 {
            wake_at = wake_at.min(self.progress_at + self.shared.relay.produce_deadline);
        }
        if !self.reading && self.has_room() {
            wake_at = wake_at.min(self.next_read_at);
        }
        if !self.writing && !self.acknowledged.is_empty() {
            wake_at = wake_at.min(self.next_write_at);
        }
        wake_at
    }

    fn keep_alive_at(&self) -> Instant {
        self.statement_at + self.shared.tuning.idle_session_timeout / 3
    }
}
