//! The configuration: one documented TOML with defaults, a file and variables over it, checked as a whole
//! before anything starts (reference/conventions.md, "HTTP, CLI, files").

mod claim_check;
mod duration_list;
mod examine;
mod failure;
mod kafka;
mod layers;
mod limits;
mod load;
mod print;
mod roles;
mod secret;
mod sections;
mod suggest;
mod tuning;
mod validate;
mod variables;

pub use claim_check::{ClaimCheckConfig, ContentStoreKind, S3Config};
pub use examine::Examined;
pub use failure::{BrokenAccountConfig, CircuitConfig, DeadLetterLimitConfig, TargetsConfig};
pub use kafka::{GroupProtocol, KafkaConfig, SecurityConfig, SecurityProtocol};
pub use layers::Origin;
pub use limits::{LimitsConfig, LimitsProposal, WindowError, WindowLimit};
pub use load::{ConfigError, DEFAULT_TOML};
pub use print::Setting;
pub use roles::{
    DispatcherConfig, HeaderSet, InteractiveRetry, RelayConfig, RetryConfig, StandardRetry,
    UnknownPolicy,
};
pub use secret::{Secret, SecretError, read_secret_file, read_secret_variable};
pub use sections::{
    AccountConfig, Accounts, DatabaseConfig, DatabaseUrl, HttpConfig, LogConfig, LogFormat,
    RegistryConfig, SchemasConfig,
};
pub use tuning::RelayTuning;
pub use validate::ConfigProblem;

use serde::Deserialize;

/// The whole configuration of every role. Fields are public, so that demos and tests build on
/// [`Config::defaults`]; [`Config::validate`] is what makes one fit for use.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The cluster, the topics' shape and the connection's security.
    pub kafka: KafkaConfig,
    /// The upstream database, which holds the outbox.
    pub upstream: DatabaseConfig,
    /// Tidings' own database: claims, epochs, schemas.
    pub state: DatabaseConfig,
    /// The schema registry.
    pub registry: RegistryConfig,
    /// The event types.
    pub schemas: SchemasConfig,
    /// The relay.
    pub relay: RelayConfig,
    /// The dispatcher.
    pub dispatcher: DispatcherConfig,
    /// The client of the rate-limit topic.
    pub limits: LimitsConfig,
    /// The store of content that is too large for a message.
    pub claim_check: ClaimCheckConfig,
    /// The platform identities, by `platform:alias`.
    pub accounts: Accounts,
    /// The admin server.
    pub http: HttpConfig,
    /// The structured log.
    pub log: LogConfig,
}
