//! Traces (design §11, reference/conventions.md "Traces"): spans with ids and times of their own for messages, and the
//! `tracing` crate's spans of the roles, both through one bounded queue to an OTLP collector.
//!
//! Everything is set by OpenTelemetry's standard variables: `OTEL_EXPORTER_OTLP_ENDPOINT` (the collector's HTTP port;
//! without it tracing is off), `OTEL_TRACES_SAMPLER` and `_ARG`, `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`,
//! `OTEL_BSP_MAX_QUEUE_SIZE` (16,384 spans), `OTEL_BSP_SCHEDULE_DELAY` (1 s), `OTEL_SDK_DISABLED`.
//!
//! A collector that is down costs nothing but `tidings_trace_export_failures_total` and
//! `tidings_trace_spans_dropped_total`.

pub mod attributes;
mod pipeline;
mod settings;
mod span;

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::trace::{TraceContextExt as _, TraceId, TracerProvider as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{
    Config, IdGenerator as _, RandomIdGenerator, SamplingDecision, SdkTracer, SdkTracerProvider,
    ShouldSample,
};
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::registry::LookupSpan;

pub use opentelemetry::trace::SpanKind;
pub use span::{FinishedSpan, SpanRef};

use pipeline::Queue;
use settings::Settings;

/// The longest that a role's end waits for its last spans; less than the 5 s in which a role has to end.
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(2);

/// Only our own crates' spans: the exporter's client would trace itself otherwise (reference/libraries.md).
const TRACED_CRATES: &str = "tidings";

/// Why tracing cannot be set up, though a collector is named.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    /// A protocol that is not built in.
    #[error("{variable} = grpc: use http/protobuf, with the collector's HTTP port (4318)")]
    Protocol {
        /// The variable that says so.
        variable: &'static str,
    },
    /// The exporter refuses its settings.
    #[error("the OTEL_EXPORTER_OTLP_… variables cannot be used")]
    Exporter(#[from] ExporterBuildError),
}

/// Where finished spans go. Off, it is a `None` and every call returns at once. Clones share the queue.
#[derive(Debug, Clone, Default)]
pub struct Traces(Option<Arc<Running>>);

#[derive(Debug)]
struct Running {
    queue: Queue,
    provider: SdkTracerProvider,
    sampler: Box<dyn ShouldSample>,
    ids: RandomIdGenerator,
}

impl Traces {
    /// Nothing is traced.
    #[must_use]
    pub fn off() -> Self {
        Self(None)
    }

    /// As the process' variables say; `service` is the resource's `service.name` unless `OTEL_SERVICE_NAME` is set.
    ///
    /// # Errors
    /// [`TracesError`]: a collector is named and cannot be used by this program. One that does not answer is no error.
    pub fn from_env(service: &'static str) -> Result<Self, TracesError> {
        match settings::read(|name| std::env::var(name).ok())? {
            Some(settings) => Ok(Self(Some(Arc::new(Running::start(service, settings)?)))),
            None => Ok(Self::off()),
        }
    }

    /// Whether anything may be traced.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Whether a trace that begins here is sampled (`OTEL_TRACES_SAMPLER`).
    #[must_use]
    pub fn samples_root(&self, trace_id: [u8; 16], name: &str, kind: SpanKind) -> bool {
        self.samples(None, trace_id, name, kind)
    }

    /// Whether a span under another process' span is sampled.
    #[must_use]
    pub fn samples_child(&self, parent: SpanRef, name: &str, kind: SpanKind) -> bool {
        self.samples(Some(parent), parent.trace_id, name, kind)
    }

    fn samples(
        &self,
        parent: Option<SpanRef>,
        trace_id: [u8; 16],
        name: &str,
        kind: SpanKind,
    ) -> bool {
        let Some(running) = &self.0 else {
            return false;
        };
        let context =
            parent.map(|parent| Context::new().with_remote_span_context(parent.context(true)));
        let trace_id = TraceId::from_bytes(trace_id);
        let sampled =
            running
                .sampler
                .should_sample(context.as_ref(), trace_id, name, &kind, &[], &[]);
        sampled.decision == SamplingDecision::RecordAndSample
    }

    /// A new span's place in a trace.
    #[must_use]
    pub fn new_span(&self, trace_id: [u8; 16]) -> SpanRef {
        let span_id = self
            .0
            .as_ref()
            .map_or([0; 8], |running| running.ids.new_span_id().to_bytes());
        SpanRef {
            trace_id,
            span_id,
            flags: 1,
        }
    }

    /// Queues the span that `build` makes. When the queue is full it is counted as dropped, and not made.
    pub fn record(&self, build: impl FnOnce() -> FinishedSpan) {
        if let Some(running) = &self.0 {
            running.queue.put(|| build().into_data());
        }
    }

    /// What sends the `tracing` crate's spans of our own crates, from `info` up, the same way; `None` when off.
    pub fn layer<S>(&self) -> Option<impl Layer<S> + Send + Sync + 'static>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        let tracer = self.0.as_ref()?.provider.tracer("tidings");
        let layer: OpenTelemetryLayer<S, SdkTracer> = tracing_opentelemetry::layer()
            .with_tracer(tracer)
            .with_threads(false)
            .with_tracked_inactivity(false);
        let ours = Targets::new().with_target(TRACED_CRATES, LevelFilter::INFO);
        Some(layer.with_filter(ours))
    }

    /// Sends what is queued, for at most 2 s; what is left then is lost. On a thread of its own: a flush that hangs
    /// (reference/libraries.md) must not hold the runtime.
    pub async fn shutdown(self) {
        let Some(running) = self.0 else {
            return;
        };
        let (ended, end) = tokio::sync::oneshot::channel();
        let flush = move || {
            // A failure has been counted; there is nobody left to act on it.
            let _ = running.provider.shutdown_with_timeout(SHUTDOWN_DEADLINE);
            let _ = ended.send(());
        };
        let thread = std::thread::Builder::new()
            .name("traces-shutdown".into())
            .spawn(flush);
        if thread.is_ok() {
            let _ = tokio::time::timeout(SHUTDOWN_DEADLINE, end).await;
        }
    }
}

impl Running {
    fn start(service: &'static str, settings: Settings) -> Result<Self, TracesError> {
        let exporter = SpanExporter::builder().with_http().build()?;
        let resource = resource(service);
        let queue = Queue::start(exporter, settings.queue_spans, settings.batch, &resource);
        let provider = SdkTracerProvider::builder()
            .with_span_processor(queue.clone())
            .with_resource(resource)
            .build();
        Ok(Self {
            queue,
            provider,
            sampler: Config::default().sampler,
            ids: RandomIdGenerator::default(),
        })
    }
}

fn resource(service: &'static str) -> Resource {
    let resource = Resource::builder()
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attribute(KeyValue::new("process.pid", i64::from(std::process::id())));
    let named = std::env::var(settings::SERVICE_NAME).is_ok_and(|name| !name.is_empty());
    if named {
        resource.build()
    } else {
        resource.with_service_name(service).build()
    }
}
