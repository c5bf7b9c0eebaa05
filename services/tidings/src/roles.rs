//! The long-running roles: configuration, logs, metrics, the signal to stop.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::json;
use tidings_dispatcher::Dispatcher;
use tidings_edge::config::Config;
use tidings_edge::http::AdminServer;
use tidings_edge::telemetry::{Metrics, MetricsHandle, Traces, init_logging_with_traces};
use tidings_relay::{Relay, RelayOptions};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tracing::{error, info};
use uuid::Uuid;

use crate::cli::RoleOptions;
use crate::exit::Exit;
use crate::reload;

pub(crate) async fn relay(options: RoleOptions) -> anyhow::Result<Exit> {
    let (config, metrics, traces) = begin(&options, "relay", "tidings-relay")?;
    let shutdown = asked_to_stop()?;
    let relay = Relay::new(RelayOptions::new(config.clone()))?.with_traces(traces.clone());
    let admin = AdminServer::start(config.http.listen, metrics, relay.health()).await?;
    announce(options.address_file.as_deref(), admin.address(), None)?;
    let ended = relay.run(shutdown).await;
    admin.stop().await;
    traces.shutdown().await;
    Ok(conclude(ended))
}

pub(crate) async fn dispatcher(options: RoleOptions) -> anyhow::Result<Exit> {
    let (config, metrics, traces) = begin(&options, "dispatcher", "tidings-dispatcher")?;
    let shutdown = asked_to_stop()?;
    let changes = reload::at_hangup(options.config.config.clone())?;
    let (started, running) = oneshot::channel();
    let address_file = options.address_file;
    let announced = tokio::spawn(announce_when_running(address_file, running));
    let ended = Dispatcher::new(config, metrics)
        .with_traces(traces.clone())
        .with_changes(changes)
        .run(shutdown, started)
        .await;
    traces.shutdown().await;
    announced.await??;
    Ok(conclude(ended))
}

/// `service` is what the role is called in traces.
fn begin(
    options: &RoleOptions,
    role: &'static str,
    service: &'static str,
) -> anyhow::Result<(Config, MetricsHandle, Traces)> {
    let config = Config::load(options.config.config.as_deref())?;
    let metrics = Metrics::install()?;
    let traces = Traces::from_env(service)?;
    init_logging_with_traces(&config.log, role, &traces)?;
    Ok((config, metrics, traces))
}

async fn announce_when_running(
    file: Option<PathBuf>,
    running: oneshot::Receiver<tidings_dispatcher::Started>,
) -> anyhow::Result<()> {
    match running.await {
        Ok(started) => announce(file.as_deref(), started.admin, Some(started.owner)),
        // It ended before; the role says why.
        Err(_) => Ok(()),
    }
}

/// Whole or not at all: who waits for the file must not read half of it.
fn announce(file: Option<&Path>, admin: SocketAddr, owner: Option<Uuid>) -> anyhow::Result<()> {
    let Some(file) = file else {
        return Ok(());
    };
    let half = file.with_extension("address.part");
    let text = json!({"admin": admin.to_string(), "owner": owner, "pid": std::process::id()});
    fs::write(&half, text.to_string())
        .and_then(|()| fs::rename(&half, file))
        .with_context(|| format!("--address-file {} can not be written", file.display()))
}

/// Ends at SIGTERM or SIGINT. The handlers are there when this returns.
pub(crate) fn asked_to_stop() -> anyhow::Result<impl Future<Output = ()> + Send> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Logged once, here; the exit code tells the supervisor.
fn conclude<E: std::error::Error + Send + Sync + 'static>(ended: Result<(), E>) -> Exit {
    match ended {
        Ok(()) => {
            info!("stopped");
            Exit::Done
        }
        Err(failure) => {
            error!(
                error = format!("{:#}", anyhow::Error::new(failure)),
                "ended"
            );
            Exit::Failed
        }
    }
}
