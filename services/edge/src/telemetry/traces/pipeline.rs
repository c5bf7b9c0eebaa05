//! From a finished span to the collector: a bounded queue and a thread of its own, both the SDK's; around them what the
//! SDK does not tell: how many spans were dropped, and how many exports failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use metrics::counter;
use opentelemetry::Context;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfig, BatchSpanProcessor, Span, SpanData, SpanExporter, SpanProcessor,
};

use crate::telemetry::metric_names;

/// The queue's end that spans are put into. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Queue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    batches: BatchSpanProcessor,
    waiting: Arc<AtomicUsize>,
    most: usize,
}

impl Queue {
    /// Starts the thread that empties a queue of at most `most` spans into `exporter`.
    pub(super) fn start<E>(
        exporter: E,
        most: usize,
        config: BatchConfig,
        resource: &Resource,
    ) -> Self
    where
        E: SpanExporter + 'static,
    {
        let waiting = Arc::new(AtomicUsize::new(0));
        let counted = Counted {
            exporter,
            waiting: Arc::clone(&waiting),
        };
        let mut batches = BatchSpanProcessor::builder(counted)
            .with_batch_config(config)
            .build();
        batches.set_resource(resource);
        Self(Arc::new(Shared {
            batches,
            waiting,
            most,
        }))
    }

    /// Queues the span that `build` makes; when the queue is full it is not even made.
    pub(super) fn put(&self, build: impl FnOnce() -> SpanData) {
        let shared = &self.0;
        // The SDK's own queue has room for as many, so that it never drops what is let through here.
        if shared.waiting.fetch_add(1, Ordering::AcqRel) >= shared.most {
            shared.waiting.fetch_sub(1, Ordering::AcqRel);
            dropped(1, "queue_full");
            return;
        }
        shared.batches.on_end(build());
    }
}

/// For spans of the `tracing` crate, which come through the SDK.
impl SpanProcessor for Queue {
    fn on_start(&self, _span: &mut Span, _context: &Context) {}

    fn on_end(&self, span: SpanData) {
        self.put(|| span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.batches.shutdown_with_timeout(timeout)
    }
}

fn dropped(spans: usize, reason: &'static str) {
    counter!(metric_names::TRACE_SPANS_DROPPED_TOTAL, "reason" => reason).increment(spans as u64);
}

/// An exporter whose failures are counted, and nothing else: a collector that is away is not this process' trouble.
#[derive(Debug)]
struct Counted<E> {
    exporter: E,
    waiting: Arc<AtomicUsize>,
}

impl<E: SpanExporter> SpanExporter for Counted<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        self.waiting.fetch_sub(spans, Ordering::AcqRel);
        let exported = self.exporter.export(batch).await;
        if exported.is_err() {
            counter!(metric_names::TRACE_EXPORT_FAILURES_TOTAL).increment(1);
            dropped(spans, "export_failed");
        }
        exported
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::UNIX_EPOCH;

    use metrics_exporter_prometheus::PrometheusBuilder;
    use opentelemetry::trace::SpanKind;
    use opentelemetry_sdk::trace::BatchConfigBuilder;

    use super::*;
    use crate::telemetry::traces::{FinishedSpan, SpanRef};

    /// Says what it is given, and waits to be let go.
    #[derive(Debug)]
    struct Held {
        given: Sender<usize>,
        go: Mutex<Receiver<()>>,
    }

    impl SpanExporter for Held {
        async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
            self.given.send(batch.len()).unwrap();
            // The test's end lets everything go.
            let _ = self.go.lock().unwrap().recv();
            Ok(())
        }
    }

    fn span() -> SpanData {
        let at = SpanRef {
            trace_id: [1; 16],
            span_id: [1; 8],
            flags: 1,
        };
        FinishedSpan::new("x", SpanKind::Client, at, UNIX_EPOCH, UNIX_EPOCH).into_data()
    }

    #[test]
    fn a_span_beyond_the_bound_is_counted_and_not_made() {
        let (given, exported) = channel();
        let (release, go) = channel();
        let exporter = Held {
            given,
            go: Mutex::new(go),
        };
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(2)
            .with_max_export_batch_size(2)
            .build();
        let queue = Queue::start(exporter, 2, config, &Resource::builder_empty().build());
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            queue.put(span);
            queue.put(span);
            assert_eq!(exported.recv().unwrap(), 2);
            queue.put(span);
            queue.put(span);
            queue.put(|| panic!("there is no room for it"));
        });
        let counted = recorder.handle().render();
        assert!(
            counted.contains("tidings_trace_spans_dropped_total{reason=\"queue_full\"} 1"),
            "{counted}"
        );
        drop(release);
        queue
            .shutdown_with_timeout(Duration::from_secs(60))
            .unwrap();
        assert_eq!(exported.iter().sum::<usize>(), 2);
    }
}
