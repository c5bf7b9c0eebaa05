//! The metrics' recorder. It has no listener of its own: the admin server renders it.

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use super::metric_names;

/// Bounds of every `*_seconds` histogram: from the relay's goal of milliseconds (design §13) over call deadlines
/// of tens of seconds to the longest retry waits (design §8: 900 s).
const SECONDS_BUCKETS: [f64; 19] = [
    0.000_5, 0.001, 0.002, 0.004, 0.006, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
    15.0, 60.0, 300.0, 900.0,
];

/// Why there are no metrics.
#[derive(Debug, thiserror::Error)]
#[error("the metrics' recorder could not be installed")]
pub struct MetricsError(#[from] BuildError);

/// Makes the process' metrics.
#[derive(Debug)]
pub struct Metrics;

impl Metrics {
    /// Installs the process-wide recorder that `metrics::counter!` and its like write to.
    ///
    /// # Errors
    /// The process has a recorder already.
    pub fn install() -> Result<MetricsHandle, MetricsError> {
        let handle = builder()?.install_recorder()?;
        metric_names::describe_all();
        Ok(MetricsHandle(handle))
    }

    /// A recorder that is not installed, for tests and for a process with several roles in it.
    ///
    /// # Errors
    /// None in practice; the bounds are constants.
    pub fn local() -> Result<MetricsHandle, MetricsError> {
        Ok(MetricsHandle(builder()?.build_recorder().handle()))
    }
}

fn builder() -> Result<PrometheusBuilder, BuildError> {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS_BUCKETS)
}

/// Renders the metrics.
#[derive(Debug, Clone)]
pub struct MetricsHandle(PrometheusHandle);

impl MetricsHandle {
    /// The metrics in Prometheus' text form. Empties the recorder's buffers, so that they stay bounded between
    /// scrapes as long as something calls this or [`MetricsHandle::upkeep`].
    pub fn render(&self) -> String {
        self.0.run_upkeep();
        self.0.render()
    }

    /// Empties the recorder's buffers; the admin server calls it every few seconds, scraped or not.
    pub fn upkeep(&self) {
        self.0.run_upkeep();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_histograms_and_descriptions_are_rendered() {
        let recorder = builder().unwrap().build_recorder();
        let handle = MetricsHandle(recorder.handle());
        metrics::with_local_recorder(&recorder, || {
            metric_names::describe_all();
            metrics::histogram!(metric_names::ATTEMPT_DURATION_SECONDS).record(0.005);
            metrics::counter!(metric_names::FENCED_TOTAL).increment(2);
        });
        let text = handle.render();
        for line in [
            "tidings_attempt_duration_seconds_bucket{le=\"0.004\"} 0",
            "tidings_attempt_duration_seconds_bucket{le=\"0.006\"} 1",
            "tidings_fenced_total 2",
            "# TYPE tidings_fenced_total counter",
            "# HELP tidings_fenced_total Work abandoned because another worker owns it",
        ] {
            assert!(text.contains(line), "no {line} in\n{text}");
        }
    }
}
