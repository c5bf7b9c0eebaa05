//! What operators see of a process: its log, its metrics and its traces.

mod logging;
pub mod metric_names;
mod metrics;
pub mod traces;

pub use logging::{LoggingError, init_logging, init_logging_with_traces};
pub use metrics::{Metrics, MetricsError, MetricsHandle};
pub use traces::{Traces, TracesError};
