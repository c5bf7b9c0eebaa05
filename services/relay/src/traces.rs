//! The relay's part of a message's trace (reference/conventions.md, "Traces"): `create`, on upstream's behalf, and `send`.
//!
//! One `send` span a message, not one a batch: librdkafka forms the batches and does not tell them, and Jaeger does not
//! join linked traces, so that a span of its own is the only one that the message's trace shows. It is a child of
//! `create`, is linked to it, and carries how many records were acknowledged together. Only sampled rows cost anything.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidings_edge::telemetry::Traces;
use tidings_edge::telemetry::traces::{FinishedSpan, SpanKind, SpanRef, attributes};
use tidings_envelope::trace::{TraceContext, create_context};
use tidings_envelope::{Envelope, Micros};

use crate::row::OutboxRow;

/// Bit 0 of W3C's trace flags.
const SAMPLED: u8 = 1;

/// The context of a row's `create` span, with what this relay's sampler decides where it decides (the variables of
/// `OTEL_TRACES_SAMPLER`); with tracing off it says what upstream said.
pub(crate) fn context_of(traces: &Traces, row: &OutboxRow) -> TraceContext {
    let mut context = create_context(row.envelope.message_id, row.traceparent.as_deref());
    if traces.is_on() {
        let sampled = match upstream_of(&context) {
            Some(upstream) => traces.samples_child(upstream, "create", SpanKind::Producer),
            None => traces.samples_root(context.trace_id, "create", SpanKind::Producer),
        };
        context.flags = (context.flags & !SAMPLED) | u8::from(sampled);
    }
    context
}

/// The sampled rows between the producer's queue and their acknowledgement. Bounded by `relay.max_in_flight_rows`.
pub(crate) struct RowTraces {
    traces: Traces,
    waiting: HashMap<i64, Waiting>,
}

/// What the spans of a row will tell.
struct Waiting {
    context: TraceContext,
    queued_at: SystemTime,
    recorded_at: Micros,
    topic: String,
    partition: i32,
    facts: Facts,
}

struct Facts {
    message_id: String,
    key: String,
    event_type: String,
    producer: String,
    conversation_id: Option<String>,
}

impl RowTraces {
    /// Nothing sent yet.
    pub(crate) fn new(traces: Traces) -> Self {
        Self {
            traces,
            waiting: HashMap::new(),
        }
    }

    /// A row's record is about to be queued for `topic`; [`forget`](Self::forget) if it was not.
    pub(crate) fn queue(
        &mut self,
        row: &OutboxRow,
        context: TraceContext,
        topic: &str,
        partition: i32,
        key: &str,
    ) {
        if !self.traces.is_on() || !context.is_sampled() {
            return;
        }
        let waiting = Waiting {
            context,
            queued_at: SystemTime::now(),
            recorded_at: row.envelope.recorded_at,
            topic: topic.to_owned(),
            partition,
            facts: Facts::of(&row.envelope, key),
        };
        self.waiting.insert(row.id, waiting);
    }

    /// The producer did not take a row's record.
    pub(crate) fn forget(&mut self, id: i64) {
        self.waiting.remove(&id);
    }

    /// Kafka has the records of these rows.
    pub(crate) fn acknowledged(&mut self, ids: &[i64]) {
        if self.waiting.is_empty() {
            return;
        }
        let now = SystemTime::now();
        for id in ids {
            if let Some(waiting) = self.waiting.remove(id) {
                self.traces.record(|| waiting.create());
                self.traces
                    .record(|| waiting.send(&self.traces, now, ids.len()));
            }
        }
    }

    /// A row can not be encoded: its trace ends here.
    pub(crate) fn refused(&self, row: &OutboxRow, code: &'static str, problem: &str) {
        let context = context_of(&self.traces, row);
        if !self.traces.is_on() || !context.is_sampled() {
            return;
        }
        self.traces.record(|| {
            // Its topic may be what is wrong with it.
            let name = "create".to_owned();
            let span = create(&context, row.envelope.recorded_at, SystemTime::now(), name);
            let key = row.envelope.aggregate_id.as_deref().unwrap_or_default();
            Facts::of(&row.envelope, key)
                .describe(span)
                .failed(code, problem)
        });
    }
}

impl Waiting {
    /// From the row's insert to its way out: what it waited in the outbox.
    fn create(&self) -> FinishedSpan {
        let name = format!("create {}", self.topic);
        let span = create(&self.context, self.recorded_at, self.queued_at, name);
        let span = span.messaging("create", &self.topic, self.partition);
        self.facts.describe(span)
    }

    /// From the producer's queue to the acknowledgement of all in-sync replicas.
    fn send(&self, traces: &Traces, acknowledged_at: SystemTime, together: usize) -> FinishedSpan {
        let create = reference(&self.context);
        let at = traces.new_span(create.trace_id);
        let name = format!("send {}", self.topic);
        let span = FinishedSpan::new(name, SpanKind::Client, at, self.queued_at, acknowledged_at)
            .created_by(create)
            .messaging("send", &self.topic, self.partition)
            .with(
                attributes::MESSAGING_BATCH_COUNT,
                i64::try_from(together).unwrap_or(i64::MAX),
            );
        self.facts.describe(span)
    }
}

impl Facts {
    fn of(envelope: &Envelope, key: &str) -> Self {
        Self {
            message_id: envelope.message_id.to_string(),
            key: key.to_owned(),
            event_type: envelope.event_type.clone(),
            producer: envelope.producer.clone(),
            conversation_id: envelope.correlation_id.clone(),
        }
    }

    fn describe(&self, span: FinishedSpan) -> FinishedSpan {
        span.with(attributes::MESSAGING_MESSAGE_ID, self.message_id.clone())
            .with(attributes::KAFKA_MESSAGE_KEY, self.key.clone())
            .with(attributes::EVENT_TYPE, self.event_type.clone())
            .with(attributes::PRODUCER, self.producer.clone())
            .with_some(
                attributes::MESSAGING_CONVERSATION_ID,
                self.conversation_id.clone(),
            )
    }
}

fn create(
    context: &TraceContext,
    recorded_at: Micros,
    end: SystemTime,
    name: String,
) -> FinishedSpan {
    let micros = u64::try_from(recorded_at.0).unwrap_or_default();
    let start = UNIX_EPOCH + Duration::from_micros(micros);
    let span = FinishedSpan::new(name, SpanKind::Producer, reference(context), start, end);
    match upstream_of(context) {
        Some(upstream) => span.child_of_remote(upstream),
        None => span,
    }
}

fn reference(context: &TraceContext) -> SpanRef {
    SpanRef {
        trace_id: context.trace_id,
        span_id: context.span_id,
        flags: context.flags,
    }
}

/// Upstream's own span, if it gave one.
fn upstream_of(context: &TraceContext) -> Option<SpanRef> {
    context.parent_span_id.map(|span_id| SpanRef {
        span_id,
        ..reference(context)
    })
}
