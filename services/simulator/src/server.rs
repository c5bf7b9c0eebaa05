//! Starting and stopping.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::connection::{Connection, CuttableListener};
use crate::error::SimulatorError;
use crate::limits::{AccountStats, Limiter, Limits, LimitsError};
use crate::log::{Entry, Log, LogFileError, Stats};
use crate::options::SimulatorOptions;
use crate::script::{Engine, Script, ScriptError, ScriptReport};
use crate::shared::Shared;
use crate::{control, telegram};

/// How long stopping waits for connections that do not end.
const STOP_DEADLINE: Duration = Duration::from_secs(5);

/// A running simulator. Dropping it stops it without waiting.
pub struct Simulator {
    address: SocketAddr,
    shared: Arc<Shared>,
    stopping: watch::Sender<bool>,
    server: JoinHandle<io::Result<()>>,
}

impl Simulator {
    /// Listens and serves in the background; must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`SimulatorError`] if the script or a limit is not valid, the log's file cannot be used, or the address cannot be
    /// listened on.
    pub async fn start(options: SimulatorOptions) -> Result<Self, SimulatorError> {
        let (stopping, stop) = watch::channel(false);
        let shared = Arc::new(Shared {
            log: Log::open(&options)?,
            engine: Engine::new(options.script)?,
            limits: Limiter::new(options.tokens.values(), &options.limits)?,
            tokens: options.tokens,
            body_bytes: options.body_bytes,
            stopping: stop,
        });
        let (listener, address) = listen(options.listen).await?;
        let listener = CuttableListener::new(listener, options.connections);
        let server = tokio::spawn(serve(listener, Arc::clone(&shared)));
        tracing::info!(%address, "simulator listens");
        Ok(Self {
            address,
            shared,
            stopping,
            server,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base address that an account is configured with.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Puts `script` in force for calls from now on; counts of rules start at zero.
    ///
    /// # Errors
    /// [`ScriptError`] if it is not valid; the one before stays.
    pub fn set_script(&self, script: Script) -> Result<(), ScriptError> {
        self.shared.engine.replace(script).map(drop)
    }

    /// The script in force and how often each rule was used.
    pub fn script(&self) -> ScriptReport {
        self.shared.engine.report()
    }

    /// Holds the account `alias` to `limits` from now on; what has arrived so far, and penalties, stay.
    ///
    /// # Errors
    /// [`LimitsError`] for a value out of range or an unknown account; the limits before stay.
    pub fn set_limits(&self, alias: &str, limits: Limits) -> Result<(), LimitsError> {
        let limits = BTreeMap::from([(alias.to_owned(), limits)]);
        self.shared.limits.replace(&limits)
    }

    /// The limits in force, by alias.
    pub fn limits(&self) -> BTreeMap<String, Limits> {
        self.shared.limits.limits()
    }

    /// Counts by alias since the start or the last reset; with those of each second from the Unix second `seconds_from` on.
    pub fn account_stats(&self, seconds_from: Option<u64>) -> BTreeMap<String, AccountStats> {
        self.shared.limits.stats(seconds_from)
    }

    /// The log's entries from number `seq` on (the first is 1), all of them at once.
    pub fn log_from(&self, seq: u64) -> Vec<Entry> {
        self.shared.log.read(seq, usize::MAX)
    }

    /// Counts since the start or the last reset.
    pub fn stats(&self) -> Stats {
        self.shared.log.stats()
    }

    /// Forgets the log, the script, and what has arrived and been counted for accounts; their limits stay in force, and
    /// numbers and message ids go on. Calls in progress end as they would have.
    ///
    /// # Errors
    /// [`SimulatorError::LogFile`] if the log's file cannot be emptied; calls are then refused.
    pub fn reset(&self) -> Result<(), SimulatorError> {
        control::reset(&self.shared).map_err(|source| {
            SimulatorError::LogFile(LogFileError::Io {
                path: "the log file".into(),
                source,
            })
        })
    }

    /// Stops: calls in progress are cut off, and connections end.
    ///
    /// # Errors
    /// [`SimulatorError`] if the server had failed, or did not end within five seconds.
    pub async fn stop(self) -> Result<(), SimulatorError> {
        let Self {
            stopping,
            mut server,
            ..
        } = self;
        stopping.send_replace(true);
        match tokio::time::timeout(STOP_DEADLINE, &mut server).await {
            Ok(Ok(ended)) => ended.map_err(SimulatorError::Serve),
            Ok(Err(panicked)) => Err(SimulatorError::Serve(io::Error::other(panicked))),
            Err(_) => {
                server.abort();
                Err(SimulatorError::StopTimeout)
            }
        }
    }
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), SimulatorError> {
    let failed = |source| SimulatorError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

async fn serve(listener: CuttableListener, shared: Arc<Shared>) -> io::Result<()> {
    let routes = Router::new()
        .route("/sim/log", get(control::log))
        .route("/sim/script", get(control::script).put(control::put_script))
        .route("/sim/limits", get(control::limits).put(control::put_limits))
        .route("/sim/stats", get(control::stats))
        .route("/sim/reset", post(control::post_reset))
        .route("/sim/health", get(control::health))
        .route("/{bot}/{method}", post(telegram::call))
        .fallback(telegram::not_found)
        .with_state(Arc::clone(&shared));
    let service = routes.into_make_service_with_connect_info::<Connection>();
    axum::serve(listener, service)
        .with_graceful_shutdown(async move { shared.stopped().await })
        .await
}
