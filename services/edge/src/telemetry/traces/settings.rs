//! OpenTelemetry's standard variables, as far as they decide whether and how spans leave this process. The exporter and
//! the sampler read theirs themselves.

use std::time::Duration;

use opentelemetry_sdk::trace::{
    BatchConfig, BatchConfigBuilder, OTEL_BSP_MAX_QUEUE_SIZE, OTEL_BSP_SCHEDULE_DELAY,
};

use super::TracesError;

const DISABLED: &str = "OTEL_SDK_DISABLED";
const EXPORTER: &str = "OTEL_TRACES_EXPORTER";
const ENDPOINTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];
const PROTOCOLS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    "OTEL_EXPORTER_OTLP_PROTOCOL",
];
pub(super) const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";

/// Spans that wait for the collector, at most; further ones are dropped and counted. `OTEL_BSP_MAX_QUEUE_SIZE` replaces
/// it. The specification's 2,048 is half a second of a worker that sends 500 messages a second.
const QUEUE_SPANS: usize = 16_384;

/// How long a span waits for others at most. `OTEL_BSP_SCHEDULE_DELAY` replaces it; the specification's 5 s is longer
/// than a person who looks for a trace waits.
const SCHEDULE_DELAY: Duration = Duration::from_secs(1);

/// What the variables say.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) queue_spans: usize,
    pub(super) batch: BatchConfig,
}

/// `None`: tracing is off.
pub(super) fn read(
    get: impl Fn(&'static str) -> Option<String>,
) -> Result<Option<Settings>, TracesError> {
    let value = |name| get(name).map(|text| text.trim().to_owned());
    let is = |name, word: &str| value(name).is_some_and(|text| text.eq_ignore_ascii_case(word));
    let endpoint = ENDPOINTS
        .into_iter()
        .any(|name| value(name).is_some_and(|text| !text.is_empty()));
    if !endpoint || is(DISABLED, "true") || is(EXPORTER, "none") {
        return Ok(None);
    }
    if let Some(variable) = PROTOCOLS.into_iter().find(|name| is(name, "grpc")) {
        return Err(TracesError::Protocol { variable });
    }
    let queue_spans = value(OTEL_BSP_MAX_QUEUE_SIZE)
        .and_then(|text| text.parse().ok())
        .filter(|spans| *spans > 0)
        .unwrap_or(QUEUE_SPANS);
    let mut batch = BatchConfigBuilder::default().with_max_queue_size(queue_spans);
    if value(OTEL_BSP_SCHEDULE_DELAY).is_none() {
        batch = batch.with_scheduled_delay(SCHEDULE_DELAY);
    }
    Ok(Some(Settings {
        queue_spans,
        batch: batch.build(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_from(variables: &[(&str, &str)]) -> Result<Option<Settings>, TracesError> {
        read(|name| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn tracing_is_off_unless_a_collector_is_named() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        for off in [
            &[][..],
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")],
            &[endpoint, ("OTEL_SDK_DISABLED", "TRUE")],
            &[endpoint, ("OTEL_TRACES_EXPORTER", "none")],
        ] {
            assert!(read_from(off).unwrap().is_none(), "{off:?}");
        }
        assert!(read_from(&[endpoint]).unwrap().is_some());
        let traces = (
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "http://h:4318/v1/traces",
        );
        assert!(read_from(&[traces]).unwrap().is_some());
    }

    #[test]
    fn a_protocol_that_is_not_built_in_is_named_with_the_remedy() {
        let error = read_from(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:4317"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ])
        .unwrap_err()
        .to_string();
        assert!(
            error.contains("OTEL_EXPORTER_OTLP_PROTOCOL") && error.contains("http/protobuf"),
            "{error}"
        );
    }

    #[test]
    fn the_queue_is_bounded_by_the_standard_variable() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:4318");
        let spans = |more: &[(&'static str, &'static str)]| {
            let all: Vec<_> = more.iter().copied().chain([endpoint]).collect();
            read_from(&all).unwrap().unwrap().queue_spans
        };
        assert_eq!(spans(&[]), QUEUE_SPANS);
        assert_eq!(spans(&[("OTEL_BSP_MAX_QUEUE_SIZE", "7")]), 7);
        assert_eq!(spans(&[("OTEL_BSP_MAX_QUEUE_SIZE", "0")]), QUEUE_SPANS);
    }
}
