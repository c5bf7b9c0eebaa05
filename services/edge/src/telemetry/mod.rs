//! What operators see of a process: its log and its metrics.

mod logging;
pub mod metric_names;
mod metrics;

pub use logging::{LoggingError, init_logging};
pub use metrics::{Metrics, MetricsError, MetricsHandle};
