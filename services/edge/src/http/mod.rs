//! HTTP: the admin server that operators and schedulers ask, and the client that calls platforms.

mod admin;
mod platform_client;

pub use admin::{AdminError, AdminServer, HealthReport, HealthSource, HealthStatus};
pub use platform_client::{
    CallOutcome, Lost, NotSent, PlatformCall, PlatformClient, PlatformClientError,
    PlatformClientSettings, PlatformResponse, TooLate,
};
