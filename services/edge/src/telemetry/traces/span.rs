//! One finished span, and what names a span.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::SystemTime;

use opentelemetry::trace::{
    Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use super::attributes;

/// The most characters of a failure's description that a span keeps.
const DESCRIPTION_CHARS: usize = 200;

/// Names a span: what children, links and headers refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanRef {
    /// The trace.
    pub trace_id: [u8; 16],
    /// The span in it.
    pub span_id: [u8; 8],
    /// W3C trace flags; bit 0 is "sampled".
    pub flags: u8,
}

impl SpanRef {
    /// Whether the span is recorded.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        TraceFlags::new(self.flags).is_sampled()
    }

    /// The value of a `traceparent` header that names this span.
    #[must_use]
    pub fn to_traceparent(&self) -> String {
        let mut text = String::with_capacity(55);
        text.push_str("00-");
        push_hex(&self.trace_id, &mut text);
        text.push('-');
        push_hex(&self.span_id, &mut text);
        text.push('-');
        push_hex(&[self.flags], &mut text);
        text
    }

    pub(super) fn context(&self, remote: bool) -> SpanContext {
        SpanContext::new(
            TraceId::from_bytes(self.trace_id),
            SpanId::from_bytes(self.span_id),
            TraceFlags::new(self.flags),
            remote,
            TraceState::NONE,
        )
    }
}

fn push_hex(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
    }
}

/// A span that began and ended; who it is and when it was is the caller's to say.
#[derive(Debug)]
pub struct FinishedSpan(SpanData);

impl FinishedSpan {
    /// A span `at` that began at `start` and ended at `end`; an end before the start counts as the start.
    #[must_use]
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        kind: SpanKind,
        at: SpanRef,
        start: SystemTime,
        end: SystemTime,
    ) -> Self {
        Self(SpanData {
            span_context: at.context(false),
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind: kind,
            name: name.into(),
            start_time: start,
            end_time: end.max(start),
            attributes: Vec::with_capacity(16),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: InstrumentationScope::builder("tidings")
                .with_version(env!("CARGO_PKG_VERSION"))
                .build(),
        })
    }

    /// Under a span of this process.
    #[must_use]
    pub fn child_of(mut self, parent: SpanRef) -> Self {
        self.0.parent_span_id = SpanId::from_bytes(parent.span_id);
        self
    }

    /// Under a span of another process.
    #[must_use]
    pub fn child_of_remote(self, parent: SpanRef) -> Self {
        let mut child = self.child_of(parent);
        child.0.parent_span_is_remote = true;
        child
    }

    /// Under the span that a message was created with, and linked to it: the conventions of messaging want the link,
    /// Jaeger joins only children. It takes a link to the parent in the parent's place, so the link says what it is.
    #[must_use]
    pub fn created_by(self, create: SpanRef) -> Self {
        let mut child = self.child_of_remote(create);
        let kind = KeyValue::new(attributes::REF_TYPE, "child_of");
        let link = Link::new(create.context(true), vec![kind], 0);
        child.0.links.links.push(link);
        child
    }

    /// With an attribute; names are in [`attributes`].
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.0.attributes.push(KeyValue::new(name, value));
        self
    }

    /// With an attribute, if there is a value.
    #[must_use]
    pub fn with_some(self, name: &'static str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// With the messaging attributes that all spans about a record of `topic` have.
    #[must_use]
    pub fn messaging(self, operation: &'static str, topic: &str, partition: i32) -> Self {
        self.with(attributes::MESSAGING_SYSTEM, "kafka")
            .with(attributes::MESSAGING_OPERATION_NAME, operation)
            .with(attributes::MESSAGING_OPERATION_TYPE, operation)
            .with(attributes::MESSAGING_DESTINATION, topic.to_owned())
            .with(attributes::MESSAGING_PARTITION, partition.to_string())
    }

    /// As failed: `error_type` is a word of few different ones, the description is for people and must hold no secret.
    #[must_use]
    pub fn failed(mut self, error_type: impl Into<Value>, description: &str) -> Self {
        let description: String = description.chars().take(DESCRIPTION_CHARS).collect();
        self.0.status = Status::error(description);
        self.with(attributes::ERROR_TYPE, error_type)
    }

    pub(super) fn into_data(self) -> SpanData {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    const AT: SpanRef = SpanRef {
        trace_id: [0xab; 16],
        span_id: [0x0c; 8],
        flags: 1,
    };

    #[test]
    fn a_span_is_named_as_w3c_wants() {
        assert_eq!(
            AT.to_traceparent(),
            "00-abababababababababababababababab-0c0c0c0c0c0c0c0c-01"
        );
        assert!(AT.is_sampled());
    }

    #[test]
    fn clocks_that_differ_make_no_negative_span() {
        let start = UNIX_EPOCH + Duration::from_secs(5);
        let span = FinishedSpan::new("x", SpanKind::Client, AT, start, UNIX_EPOCH).into_data();
        assert_eq!(span.end_time, start);
    }

    #[test]
    fn a_description_is_cut_between_characters() {
        let span = FinishedSpan::new("x", SpanKind::Client, AT, UNIX_EPOCH, UNIX_EPOCH)
            .failed("503", &"é".repeat(500))
            .into_data();
        assert_eq!(span.status, Status::error("é".repeat(DESCRIPTION_CHARS)));
    }
}
