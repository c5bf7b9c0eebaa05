//! What a stack is started with.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::addresses::hide_secrets;
use crate::programs;

/// How to start a [`Stack`](crate::Stack). The default is a stack of our own in a temporary folder, thrown away.
#[derive(Clone, Debug)]
pub struct StackOptions {
    /// Where data, logs and settings live. `None`: a new temporary folder.
    pub folder: Option<PathBuf>,
    /// Whether the data is still there after the stack has stopped. Otherwise all that the stack made is removed.
    pub keep: bool,
    /// Servers that run already; what is named here is not started.
    pub existing: Existing,
    /// Whether Jaeger is started too. Default false: only who looks at traces needs it.
    pub jaeger: bool,
    /// Whether a Kafka of ours has a [detour](crate::Stack::kafka_detour) for a proxy. Default false.
    pub kafka_detour: bool,
    /// Where `make setup` has put the jars and Jaeger. `None`: `$XDG_CACHE_HOME/tidings`, else `$HOME/.cache/tidings`.
    pub cache_folder: Option<PathBuf>,
    /// How long a part may take to become healthy. Default 60 s (a warm start takes about 3 s on 2 cores).
    pub start_deadline: Duration,
    /// How long a part may take to end in order before it is killed. Default 15 s.
    pub stop_deadline: Duration,
}

impl Default for StackOptions {
    fn default() -> Self {
        Self {
            folder: None,
            keep: false,
            existing: Existing::default(),
            jaeger: false,
            kafka_detour: false,
            cache_folder: None,
            start_deadline: Duration::from_secs(60),
            stop_deadline: Duration::from_secs(15),
        }
    }
}

impl StackOptions {
    /// With Jaeger if `make setup` could build it. Without it everything runs, and there are no traces to look at.
    #[must_use]
    pub fn with_jaeger_if_there(mut self) -> Self {
        self.jaeger = programs::jaeger(self.cache_folder.as_deref()).is_ok();
        self
    }
}

/// Addresses of servers that run already, each used instead of a child of ours.
#[derive(Clone, Default)]
pub struct Existing {
    /// `postgresql://user:password@host:port/database`, or libpq's `key=value` form. The user must be allowed to
    /// create databases if [`Stack::create_database`](crate::Stack::create_database) is used.
    pub postgres_url: Option<String>,
    /// Kafka's bootstrap servers: `host:port`, separated by commas.
    pub kafka_brokers: Option<String>,
    /// The registry's Confluent-compatible API, without a slash at the end: `http://host:port/apis/ccompat/v7`.
    pub registry_url: Option<String>,
}

impl Existing {
    /// Whether nothing is left to start.
    pub(crate) fn is_complete(&self) -> bool {
        self.postgres_url.is_some() && self.kafka_brokers.is_some() && self.registry_url.is_some()
    }
}

impl fmt::Debug for Existing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Existing")
            .field(
                "postgres_url",
                &self.postgres_url.as_deref().map(hide_secrets),
            )
            .field("kafka_brokers", &self.kafka_brokers)
            .field(
                "registry_url",
                &self.registry_url.as_deref().map(hide_secrets),
            )
            .finish()
    }
}
