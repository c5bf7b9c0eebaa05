//! What a simulator is started with.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::limits::Limits;
use crate::script::Script;

/// Settings of a [`crate::Simulator`]; [`SimulatorOptions::new`] has the defaults.
#[derive(Clone)]
pub struct SimulatorOptions {
    /// Where to listen; port 0 takes a free one. Anybody who reaches it may change the script: keep it on loopback.
    pub listen: SocketAddr,
    /// Where the log is kept besides memory, as one JSON object a line (default: nowhere). What an existing file holds is
    /// remembered.
    pub log_file: Option<PathBuf>,
    /// The known tokens and the alias of each account, under which the log names it. Any other token is answered 401.
    pub tokens: BTreeMap<String, String>,
    /// What accounts are held to, by alias (default: an account that is not named here has no limits).
    pub limits: BTreeMap<String, Limits>,
    /// The most calls that the log holds (default 2,000,000); when it is full, calls are refused with 507.
    pub log_entries: usize,
    /// The most bytes of texts and ids that the log holds (default 512 MiB); as above when it is full.
    pub log_bytes: usize,
    /// The largest request body, in bytes (default 256 KiB); larger ones are answered 413.
    pub body_bytes: usize,
    /// The most connections at once (default 4,096); more wait to be accepted.
    pub connections: usize,
    /// What is answered at first (default: everything that is valid is accepted at once).
    pub script: Script,
}

impl SimulatorOptions {
    /// The defaults at `listen`, with no account.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            log_file: None,
            tokens: BTreeMap::new(),
            limits: BTreeMap::new(),
            log_entries: 2_000_000,
            log_bytes: 512 * 1024 * 1024,
            body_bytes: 256 * 1024,
            connections: 4_096,
            script: Script::default(),
        }
    }

    /// The same with one account more.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>, alias: impl Into<String>) -> Self {
        self.tokens.insert(token.into(), alias.into());
        self
    }

    /// The same with the account `alias` held to `limits`.
    #[must_use]
    pub fn limits(mut self, alias: impl Into<String>, limits: Limits) -> Self {
        self.limits.insert(alias.into(), limits);
        self
    }
}

/// Shows aliases, never tokens.
impl fmt::Debug for SimulatorOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatorOptions")
            .field("listen", &self.listen)
            .field("log_file", &self.log_file)
            .field("accounts", &self.tokens.values().collect::<Vec<_>>())
            .field("limits", &self.limits)
            .field("log_entries", &self.log_entries)
            .field("log_bytes", &self.log_bytes)
            .field("body_bytes", &self.body_bytes)
            .field("connections", &self.connections)
            .field("script", &self.script)
            .finish()
    }
}
