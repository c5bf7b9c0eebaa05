//! The structured log, on standard error.

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};
use tracing_subscriber::{EnvFilter, Layer, fmt};

use super::Traces;
use crate::config::{LogConfig, LogFormat};

/// Libraries whose debug output holds URLs, and with them tokens (a token sits in Telegram's path), or
/// configuration values. They stay at `warn` whatever the level says.
const QUIET_LIBRARIES: [&str; 6] = [
    "hyper=warn",
    "hyper_util=warn",
    "reqwest=warn",
    "rdkafka=warn",
    "tokio_postgres=warn",
    "schema_registry_converter=warn",
];

/// Why the log could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The level is neither a level nor a filter.
    #[error("log.level = {value}: use a level (info) or a filter (info,tidings_relay=debug)")]
    Level {
        /// The value as configured.
        value: String,
        /// What the parser said.
        #[source]
        source: tracing_subscriber::filter::ParseError,
    },
    /// The process already has a log.
    #[error("the log is set up already")]
    Installed(#[source] TryInitError),
}

/// Sets up the process' log on standard error and says which role speaks.
///
/// # Errors
/// The level cannot be parsed, or the log is set up already.
pub fn init_logging(config: &LogConfig, role: &'static str) -> Result<(), LoggingError> {
    init_logging_with_traces(config, role, &Traces::off())
}

/// The same, and sends the role's spans to `traces`.
///
/// # Errors
/// As [`init_logging`].
pub fn init_logging_with_traces(
    config: &LogConfig,
    role: &'static str,
    traces: &Traces,
) -> Result<(), LoggingError> {
    let log = log_layer(config.format).with_filter(filter(&config.level)?);
    tracing_subscriber::registry()
        .with(traces.layer())
        .with(log)
        .try_init()
        .map_err(LoggingError::Installed)?;
    tracing::info!(role, version = env!("CARGO_PKG_VERSION"), "started");
    Ok(())
}

fn log_layer<S>(format: LogFormat) -> Box<dyn Layer<S> + Send + Sync>
where
    S: tracing::Subscriber + for<'span> tracing_subscriber::registry::LookupSpan<'span>,
{
    let layer = fmt::layer().with_writer(std::io::stderr);
    match format {
        LogFormat::Text => layer.with_ansi(false).boxed(),
        LogFormat::Json => layer
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .boxed(),
    }
}

fn filter(level: &str) -> Result<EnvFilter, LoggingError> {
    let refuse = |source| LoggingError::Level {
        value: level.to_owned(),
        source,
    };
    let mut filter = EnvFilter::builder().parse(level).map_err(refuse)?;
    for directive in QUIET_LIBRARIES {
        filter = filter.add_directive(directive.parse().map_err(refuse)?);
    }
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_print_urls_stay_quiet_at_any_level() {
        let filter = filter("trace").unwrap().to_string();
        for library in QUIET_LIBRARIES {
            assert!(filter.contains(library), "{library} is missing in {filter}");
        }
    }

    #[test]
    fn a_bad_level_is_named() {
        let error = filter("a=b=c").unwrap_err();
        assert!(error.to_string().contains("a=b=c"), "{error}");
    }
}
