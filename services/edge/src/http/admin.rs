//! The admin server: `/health`, `/ready`, `/metrics` (reference/conventions.md, "HTTP, CLI, files").

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::telemetry::MetricsHandle;

/// What a role tells of itself. Both calls are answered from memory: a probe must not wait for a database.
pub trait HealthSource: Send + Sync + 'static {
    /// The numbers of `/health`.
    fn health(&self) -> HealthReport;

    /// Whether the role does its work: assigned, replayed and connected.
    ///
    /// # Errors
    /// What is missing, one sentence each.
    fn ready(&self) -> Result<(), Vec<String>>;
}

/// The body of `/health`; its first five fields are requirement Q6's.
#[derive(Debug, Clone, Default, Serialize)]
pub struct HealthReport {
    /// Whether the role makes progress.
    pub status: HealthStatus,
    /// Messages delivered (relay: published) since the start.
    pub dispatched: u64,
    /// Messages given up (relay: rejected) since the start.
    pub failed: u64,
    /// Messages taken and not settled.
    pub queue_depth: u64,
    /// By account: permits that could be taken now; null while no limit is in force.
    pub rate_limiter_tokens: BTreeMap<String, Option<f64>>,
    /// What only this role knows.
    #[serde(flatten)]
    pub role_fields: serde_json::Map<String, serde_json::Value>,
}

/// The state that `/health` reports. Any but [`HealthStatus::Stuck`] answers 200.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// It works, or has nothing to do.
    #[default]
    Ok,
    /// It works, but something it needs is away; it will recover by itself.
    Degraded,
    /// It was asked to stop and drains.
    Stopping,
    /// There is work and no progress within the progress deadline: a scheduler should restart it (503).
    Stuck,
}

/// Why the admin server could not start.
#[derive(Debug, thiserror::Error)]
#[error("http.listen = {listen}: cannot listen; is the port taken?")]
pub struct AdminError {
    listen: SocketAddr,
    #[source]
    source: std::io::Error,
}

/// Between two calls of the recorder's upkeep.
const UPKEEP_PERIOD: Duration = Duration::from_secs(5);

/// The running admin server of one role. Dropping it stops it.
#[derive(Debug)]
pub struct AdminServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
    upkeep: JoinHandle<()>,
}

#[derive(Clone)]
struct Admin {
    metrics: MetricsHandle,
    source: Arc<dyn HealthSource>,
}

impl AdminServer {
    /// Listens and serves in the background. Needs a Tokio runtime.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub async fn start(
        listen: SocketAddr,
        metrics: MetricsHandle,
        source: Arc<dyn HealthSource>,
    ) -> Result<Self, AdminError> {
        let refuse = |source| AdminError { listen, source };
        let listener = TcpListener::bind(listen).await.map_err(refuse)?;
        let address = listener.local_addr().map_err(refuse)?;
        let upkeep = tokio::spawn(keep_up(metrics.clone()));
        let router = router(Admin { metrics, source });
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            let until_stopped = async move {
                // An error means that the handle was dropped, which stops the server too.
                let _stopped = stopped.await;
            };
            let served = axum::serve(listener, router).with_graceful_shutdown(until_stopped);
            if let Err(error) = served.await {
                tracing::error!(%error, "the admin server ended");
            }
        });
        tracing::info!(%address, "admin server listens");
        Ok(Self {
            address,
            stop: Some(stop),
            serving,
            upkeep,
        })
    }

    /// The bound address, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers what is being asked, for at most a second, and stops.
    pub async fn stop(mut self) {
        if let Some(stop) = self.stop.take() {
            // An error means that the server ended before.
            let _sent = stop.send(());
        }
        let ended = tokio::time::timeout(Duration::from_secs(1), &mut self.serving).await;
        if ended.is_err() {
            tracing::debug!("the admin server still had open connections");
        }
    }
}

impl Drop for AdminServer {
    fn drop(&mut self) {
        self.serving.abort();
        self.upkeep.abort();
    }
}

async fn keep_up(metrics: MetricsHandle) {
    let mut ticks = tokio::time::interval(UPKEEP_PERIOD);
    loop {
        ticks.tick().await;
        metrics.upkeep();
    }
}

fn router(admin: Admin) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .with_state(admin)
}

async fn health(State(admin): State<Admin>) -> impl IntoResponse {
    let report = admin.source.health();
    let status = match report.status {
        HealthStatus::Ok | HealthStatus::Degraded | HealthStatus::Stopping => StatusCode::OK,
        HealthStatus::Stuck => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, Json(report))
}

#[derive(Serialize)]
struct Readiness {
    ready: bool,
    reasons: Vec<String>,
}

async fn ready(State(admin): State<Admin>) -> impl IntoResponse {
    match admin.source.ready() {
        Ok(()) => {
            let reasons = Vec::new();
            (
                StatusCode::OK,
                Json(Readiness {
                    ready: true,
                    reasons,
                }),
            )
        }
        Err(reasons) => {
            let readiness = Readiness {
                ready: false,
                reasons,
            };
            (StatusCode::SERVICE_UNAVAILABLE, Json(readiness))
        }
    }
}

/// Prometheus' text format, version 0.0.4.
const METRICS_CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

async fn metrics(State(admin): State<Admin>) -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, METRICS_CONTENT_TYPE)],
        admin.metrics.render(),
    )
}

#[cfg(test)]
mod tests;
