//! The sections of the configuration other than Kafka and the roles.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::{LimitsProposal, Secret};

/// A connection URL of Postgres (`postgres://user@host:port/database`), which may hold a password.
pub type DatabaseUrl = Secret;

/// `[upstream]` and `[state]`: one Postgres database.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseConfig {
    /// The connection URL. A password in it is accepted only from a variable or from `database_file`.
    pub database: DatabaseUrl,
    /// A file that holds the connection URL, instead of `database`; read when the configuration is loaded.
    pub database_file: Option<PathBuf>,
    /// A PEM file with the certificate authority of a server that is reached with `sslmode=require`.
    pub ca_file: Option<PathBuf>,
}

/// `[registry]`: the schema registry.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegistryConfig {
    /// Base of the Confluent-compatible API, e.g. `http://127.0.0.1:8081` or `…/apis/ccompat/v7`.
    pub url: String,
    /// The user of HTTP basic authentication, if the registry asks for it.
    pub username: Option<String>,
    /// Its password. Filled from the two keys below when the configuration is loaded; a literal is refused.
    pub password: Option<Secret>,
    /// A file that holds the password.
    pub password_file: Option<PathBuf>,
    /// The name of the environment variable that holds the password.
    pub password_env: Option<String>,
    /// The longest one request may take.
    #[serde(with = "humantime_serde")]
    pub request_timeout: Duration,
    /// How long a transient failure of an id is remembered before the registry is asked again.
    #[serde(with = "humantime_serde")]
    pub failure_ttl: Duration,
    /// How long "there is no such id" is remembered: a schema may be registered later.
    #[serde(with = "humantime_serde")]
    pub missing_ttl: Duration,
    /// The most schemas kept in memory.
    pub cache_entries: usize,
}

/// `[schemas]`: the event types.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemasConfig {
    /// A folder with the layout of `schemas/`, instead of the event types that are built in.
    pub folder: Option<PathBuf>,
}

/// `[accounts."telegram:main"]`: one platform identity that sends.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountConfig {
    /// Base of the platform's API, without the token; absent: the platform's own public address.
    pub base_url: Option<String>,
    /// The credential. Filled from `token_file` or `token_env` when the configuration is loaded; a literal in
    /// a file is refused. Code that builds a configuration may set it.
    pub token: Option<Secret>,
    /// A file that holds the credential.
    pub token_file: Option<PathBuf>,
    /// The name of the environment variable that holds the credential.
    pub token_env: Option<String>,
    /// Whether each call carries the header `tidings-attempt`: for drills and tests, never for a real platform.
    #[serde(default)]
    pub attempt_header: bool,
    /// The longest one call may take, instead of `dispatcher.call_deadline`; never longer than that.
    #[serde(default, with = "humantime_serde")]
    pub call_deadline: Option<Duration>,
    /// The most calls in flight of this account in one worker, instead of
    /// `dispatcher.max_in_flight_calls_per_account`.
    pub max_in_flight_calls: Option<usize>,
    /// The limits that are proposed for this account's scope; the rate-limit topic has the word once it knows the scope.
    /// Absent: the platform's exact limits.
    pub limits: Option<LimitsProposal>,
}

/// The accounts by their chat key prefix, `platform:alias`.
pub type Accounts = BTreeMap<String, AccountConfig>;

/// `[http]`: the admin server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpConfig {
    /// Where `/health`, `/ready` and `/metrics` are served. Port 0 takes a free one. Loopback by default:
    /// metrics tell much about a business.
    pub listen: SocketAddr,
}

/// `[log]`: the structured log, on standard error.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    /// The shape of a line.
    pub format: LogFormat,
    /// A level (`info`) or a filter of `tracing` (`info,tidings_relay=debug`).
    pub level: String,
}

/// The shape of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line, with the same field names.
    Json,
}
