//! The span of one fetch of a claim check's content.

use std::time::SystemTime;

use tidings_edge::telemetry::traces::{FinishedSpan, SpanKind, attributes};

use super::Under;

/// What is known of a fetch.
pub(crate) struct FetchFacts {
    pub(crate) began: SystemTime,
    pub(crate) ended: SystemTime,
    /// As the claim check says.
    pub(crate) size_bytes: i64,
    /// Why it gave nothing: a word of few different ones, and for people.
    pub(crate) failure: Option<(&'static str, String)>,
}

impl Under {
    /// A fetch ended; what is recorded next began then.
    pub(crate) fn fetched(&mut self, facts: &FetchFacts) {
        self.traces.record(|| {
            let at = self.traces.new_span(self.parent.trace_id);
            let span = FinishedSpan::new(
                "fetch content",
                SpanKind::Client,
                at,
                facts.began,
                facts.ended,
            )
            .child_of(self.parent)
            .with(attributes::CONTENT_SIZE_BYTES, facts.size_bytes);
            match &facts.failure {
                Some((kind, reason)) => span.failed(*kind, reason),
                None => span,
            }
        });
        self.began = facts.ended;
    }
}
