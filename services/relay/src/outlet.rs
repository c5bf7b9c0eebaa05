//! What a shard sends: rows become records in the order of the read, acknowledgements come back in any order.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rdkafka::error::KafkaError;
use tidings_edge::telemetry::metric_names;
use tidings_envelope::{Micros, Rejection};
use tokio::time::Instant;

use crate::intake::Intake;
use crate::publisher::{Publisher, Sent};
use crate::session::Refused;
use crate::traces::RowTraces;
use crate::worker::Shared;

/// The most rows that are encoded before the shard looks at everything else again: about a millisecond of work.
const ROWS_AT_ONCE: usize = 256;

/// A shard's way out.
pub(crate) struct Outlet<'a> {
    shared: &'a Shared,
    publisher: &'a Publisher,
    /// The buffer for a record's value.
    value: Vec<u8>,
    /// The producer's queue is full.
    blocked: bool,
    unacknowledged: usize,
    progress_at: Instant,
    /// The first row of each read, whose latency is observed.
    sampled: VecDeque<(i64, Micros)>,
    traces: RowTraces,
    /// Acknowledged, to be deleted.
    pub(crate) acknowledged: Vec<i64>,
    /// To be moved aside.
    pub(crate) refused: Vec<Refused>,
}

impl<'a> Outlet<'a> {
    /// Nothing sent yet.
    pub(crate) fn new(shared: &'a Shared, publisher: &'a Publisher) -> Self {
        Self {
            shared,
            publisher,
            value: Vec::new(),
            blocked: false,
            unacknowledged: 0,
            progress_at: Instant::now(),
            sampled: VecDeque::new(),
            traces: RowTraces::new(shared.encoder.traces().clone()),
            acknowledged: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Encodes and produces some of the rows that wait, in the order of the read. Whether it could go on at once.
    pub(crate) fn produce(&mut self, intake: &mut Intake) -> Result<bool, KafkaError> {
        for _ in 0..ROWS_AT_ONCE {
            if self.blocked {
                return Ok(false);
            }
            let Some(row) = intake.front() else {
                return Ok(false);
            };
            match self.shared.encoder.encode(row, &mut self.value) {
                Ok(record) => {
                    if let Some(context) = record.context {
                        let (topic, key) = (record.topic, record.key);
                        self.traces
                            .queue(row, context, topic, record.partition, key);
                    }
                    match self.publisher.send(row.id, record)? {
                        Sent::Queued => self.queued(),
                        Sent::Full => {
                            self.traces.forget(row.id);
                            self.blocked = true;
                            return Ok(false);
                        }
                    }
                }
                Err(rejection) => {
                    let refused = refused(row.id, rejection);
                    self.traces.refused(row, refused.code, &refused.reason);
                    self.refused.push(refused);
                }
            }
            intake.pop();
        }
        Ok(!intake.is_empty())
    }

    fn queued(&mut self) {
        if self.unacknowledged == 0 {
            self.progress_at = Instant::now();
        }
        self.unacknowledged += 1;
    }

    /// Takes in what was acknowledged since the last call.
    pub(crate) fn take_acknowledgements(&mut self) -> Result<(), KafkaError> {
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
        self.traces.acknowledged(&taken.ids);
        self.acknowledged.extend(taken.ids);
        Ok(())
    }

    /// A read's first row stands for the read.
    pub(crate) fn sample(&mut self, first: Option<(i64, Micros)>) {
        self.sampled.extend(first);
    }

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
                metrics::histogram!(metric_names::RELAY_LATENCY_SECONDS)
                    .record(since_epoch.saturating_sub(recorded));
            }
            !arrived
        });
    }

    /// Refused rows are moved aside: counts and tells them.
    pub(crate) fn report(&mut self, refused: &[Refused]) {
        self.shared.health.add_rejected(refused.len() as u64);
        for row in refused {
            self.sampled.retain(|(id, _)| *id != row.id);
            metrics::counter!(metric_names::RELAY_REJECTED_TOTAL, "reason" => row.code)
                .increment(1);
            tracing::warn!(outbox_id = row.id, code = row.code, field = %row.field, reason = %row.reason, "a row was rejected");
        }
    }

    /// How many records wait for their acknowledgement.
    pub(crate) fn unacknowledged(&self) -> usize {
        self.unacknowledged
    }

    /// How long records have waited without any acknowledgement.
    pub(crate) fn waited(&self) -> Duration {
        if self.unacknowledged == 0 {
            Duration::ZERO
        } else {
            self.progress_at.elapsed()
        }
    }

    /// When records will have waited for `deadline`, if any wait.
    pub(crate) fn overdue_at(&self, deadline: Duration) -> Option<Instant> {
        (self.unacknowledged > 0).then(|| self.progress_at + deadline)
    }

    /// Whether everything that was sent is acknowledged and on its way out of the table.
    pub(crate) fn is_drained(&self) -> bool {
        self.unacknowledged == 0 && self.acknowledged.is_empty() && self.refused.is_empty()
    }
}

fn refused(id: i64, rejection: Rejection) -> Refused {
    Refused {
        id,
        code: rejection.code.as_str(),
        reason: rejection.to_string(),
        field: rejection.field,
    }
}
