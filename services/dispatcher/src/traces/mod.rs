//! One message's part of its trace (reference/conventions.md, "Traces"): `process` from intake to its end, and under it
//! the statements about its claim, each call of the platform, the dead letter's append and the settlement.
//!
//! Begin → (statement | call | dead letter)* → settled → finish. A message that is not sampled has no [`MessageTrace`]
//! and costs one look at its `traceparent`.

mod attempt;
mod content;
mod parent;

use std::sync::Arc;
use std::time::SystemTime;

use rdkafka::Message as _;
use rdkafka::message::OwnedMessage;
use tidings_delivery::{DeadLetterFacts, Outcome, Settlement};
use tidings_edge::telemetry::Traces;
use tidings_edge::telemetry::traces::{FinishedSpan, SpanKind, SpanRef, attributes};

use crate::state::Performed;
use crate::stats::{Line, word};

pub(crate) use attempt::{CallEnd, CallFacts, Server};
pub(crate) use content::FetchFacts;
pub(crate) use parent::trace_id;

/// The most bytes of a record's key that a span keeps; a chat id has tens.
const KEY_BYTES: usize = 128;

/// A sampled message between its intake and its end.
pub(crate) struct MessageTrace(Box<Begun>);

struct Begun {
    traces: Traces,
    at: SpanRef,
    parent: SpanRef,
    began: SystemTime,
    settling_since: Option<SystemTime>,
    failure: Option<(&'static str, Arc<str>)>,
}

/// Where spans go that begin and end in a task of their own.
#[derive(Clone)]
pub(crate) struct Under {
    traces: Traces,
    parent: SpanRef,
    began: SystemTime,
}

impl MessageTrace {
    /// Begins the `process` span of a record under the context that its `traceparent` names, if that is sampled.
    pub(crate) fn begin(traces: &Traces, record: &OwnedMessage) -> Option<Self> {
        if !traces.is_on() {
            return None;
        }
        let parent = parent::of(record)?;
        if !traces.samples_child(parent, "process", SpanKind::Consumer) {
            return None;
        }
        Some(Self(Box::new(Begun {
            traces: traces.clone(),
            at: traces.new_span(parent.trace_id),
            parent,
            began: SystemTime::now(),
            settling_since: None,
            failure: None,
        })))
    }

    /// The `process` span's context, for the header of a dead letter.
    pub(crate) fn traceparent(&self) -> String {
        self.0.at.to_traceparent()
    }

    /// What begins now, under `process`.
    pub(crate) fn under(&self) -> Under {
        Under {
            traces: self.0.traces.clone(),
            parent: self.0.at,
            began: SystemTime::now(),
        }
    }

    /// A statement about this message's claim was answered. One statement is about many messages: each has a span of
    /// its own with the statement's times.
    pub(crate) fn statement(&self, statement: &Performed) {
        self.0.record_statement(statement, self.0.at);
    }

    /// The message gets its end; it may be asked for again while Postgres is away.
    pub(crate) fn settling(&mut self) {
        self.0.settling_since.get_or_insert_with(SystemTime::now);
    }

    /// The end is recorded, or was tried to be.
    pub(crate) fn settled(&self, record: &OwnedMessage, statement: &Performed) {
        let begun = &self.0;
        let at = begun.traces.new_span(begun.at.trace_id);
        begun.record_statement(statement, at);
        let began = begun.settling_since.unwrap_or(statement.began);
        begun.traces.record(|| {
            let name = format!("settle {}", record.topic());
            let span = FinishedSpan::new(name, SpanKind::Client, at, began, SystemTime::now())
                .child_of(begun.at)
                .messaging("settle", record.topic(), record.partition())
                .with(attributes::KAFKA_OFFSET, record.offset());
            failed_statement(span, statement)
        });
    }

    /// The message is given up.
    pub(crate) fn gives_up(&mut self, facts: &DeadLetterFacts) {
        self.0.failure = Some((facts.category.word(), Arc::clone(&facts.reason)));
    }

    /// The record leaves.
    pub(crate) fn finish(self, line: &Line<'_>) {
        let begun = &self.0;
        begun.traces.record(|| {
            let name = format!("process {}", line.record.topic());
            let now = SystemTime::now();
            let span = FinishedSpan::new(name, SpanKind::Consumer, begun.at, begun.began, now)
                .created_by(begun.parent);
            begun.with_outcome(described(span, line), line)
        });
    }
}

impl Begun {
    fn record_statement(&self, statement: &Performed, parent: SpanRef) {
        self.traces.record(|| {
            let at = self.traces.new_span(parent.trace_id);
            let (operation, summary) = statement.kind.summary();
            let span = FinishedSpan::new(
                summary,
                SpanKind::Client,
                at,
                statement.began,
                statement.ended,
            )
            .child_of(parent)
            .with(attributes::DB_SYSTEM, "postgresql")
            .with(attributes::DB_OPERATION, operation)
            .with(attributes::DB_QUERY_SUMMARY, summary)
            .with(attributes::STATEMENT, statement.kind.word())
            .with(
                attributes::MESSAGING_BATCH_COUNT,
                i64::from(statement.messages),
            );
            failed_statement(span, statement)
        });
    }

    fn with_outcome(&self, span: FinishedSpan, line: &Line<'_>) -> FinishedSpan {
        let category = self.failure.as_ref().map(|(category, _)| *category);
        let span = span.with_some(attributes::CATEGORY, category);
        let reason = self
            .failure
            .as_ref()
            .map_or(line.reason, |(_, reason)| reason);
        if is_failure(line.outcome) {
            span.failed(category.unwrap_or(word(line.outcome)), reason)
        } else {
            span
        }
    }
}

impl Under {
    /// The dead letter's append ended.
    pub(crate) fn dead_lettered(&self, topic: &str, acknowledged: bool) {
        self.traces.record(|| {
            let at = self.traces.new_span(self.parent.trace_id);
            let name = format!("send {topic}");
            let span = FinishedSpan::new(name, SpanKind::Client, at, self.began, SystemTime::now())
                .child_of(self.parent)
                .with(attributes::MESSAGING_SYSTEM, "kafka")
                .with(attributes::MESSAGING_OPERATION_NAME, "send")
                .with(attributes::MESSAGING_OPERATION_TYPE, "send")
                .with(attributes::MESSAGING_DESTINATION, topic.to_owned());
            if acknowledged {
                span
            } else {
                span.failed("not_acknowledged", "the append was not acknowledged")
            }
        });
    }
}

fn failed_statement(span: FinishedSpan, statement: &Performed) -> FinishedSpan {
    if statement.failed {
        span.failed(
            "no_answer",
            "the statement has no answer; it is asked again",
        )
    } else {
        span
    }
}

fn described(span: FinishedSpan, line: &Line<'_>) -> FinishedSpan {
    let record = line.record;
    let key = record.key().unwrap_or_default();
    let key = String::from_utf8_lossy(&key[..key.len().min(KEY_BYTES)]).into_owned();
    let envelope = line.message.map(|message| &message.envelope);
    let chat = envelope.and_then(|envelope| Some(envelope.destination.as_ref()?.chat_key()));
    span.messaging("process", record.topic(), record.partition())
        .with(attributes::KAFKA_OFFSET, record.offset())
        .with(attributes::KAFKA_MESSAGE_KEY, key)
        .with(attributes::MESSAGING_CONSUMER_GROUP, line.group.to_owned())
        .with_some(
            attributes::MESSAGING_MESSAGE_ID,
            envelope.map(|envelope| envelope.message_id.to_string()),
        )
        .with_some(
            attributes::MESSAGING_CONVERSATION_ID,
            envelope.and_then(|envelope| envelope.correlation_id.clone()),
        )
        .with_some(
            attributes::EVENT_TYPE,
            line.message.map(|message| message.event.name().to_owned()),
        )
        .with_some(attributes::CHAT, chat)
        .with(attributes::OUTCOME, word(line.outcome))
        .with(attributes::ATTEMPTS, i64::from(line.attempts))
}

/// Whether the person did not get what was to be brought.
fn is_failure(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Poison => true,
        Outcome::Settled(settlement) => match settlement {
            Settlement::Undeliverable
            | Settlement::Rejected
            | Settlement::Expired
            | Settlement::DeadLettered
            | Settlement::Parked => true,
            Settlement::Delivered | Settlement::Discarded => false,
        },
        Outcome::Duplicate(_) | Outcome::Fenced | Outcome::Handed | Outcome::Deferred => false,
    }
}
