//! What each server needs: its ports, its files, how it is started, and how its health is seen.

mod jaeger;
mod java;
mod kafka;
mod log;
mod postgres;
mod registry;

use std::error::Error;
use std::time::{Duration, Instant};

use crate::error::StackError;
use crate::part::Part;
use crate::process::{Launch, OwnProcess};

pub(crate) use jaeger::Jaeger;
pub(crate) use kafka::Kafka;
pub(crate) use log::PartLog;
pub(crate) use postgres::Postgres;
pub(crate) use registry::Registry;

/// Why a server is not healthy yet.
pub(crate) type NotYet = Box<dyn Error + Send + Sync>;

/// How long one look at a server's health may take.
pub(crate) const LOOK_DEADLINE: Duration = Duration::from_secs(2);

/// One server, not its process: what stays the same over restarts.
pub(crate) enum Server {
    Postgres(Postgres),
    Kafka(Kafka),
    Registry(Registry),
    Jaeger(Jaeger),
}

impl Server {
    pub(crate) fn part(&self) -> Part {
        match self {
            Server::Postgres(_) => Part::Postgres,
            Server::Kafka(_) => Part::Kafka,
            Server::Registry(_) => Part::Registry,
            Server::Jaeger(_) => Part::Jaeger,
        }
    }

    pub(crate) fn port_count(&self) -> usize {
        match self {
            Server::Postgres(_) | Server::Registry(_) => 1,
            Server::Kafka(kafka) => kafka.port_count(),
            Server::Jaeger(_) => jaeger::PORTS,
        }
    }

    /// Makes the server's files where they are missing and writes its settings. May be repeated with other ports.
    pub(crate) async fn prepare(
        &self,
        ports: &[u16],
        log: &PartLog,
        deadline: Instant,
    ) -> Result<(), StackError> {
        match self {
            Server::Postgres(postgres) => postgres.prepare(log, deadline).await,
            Server::Kafka(kafka) => kafka.prepare(ports, log, deadline).await,
            Server::Registry(_) => Ok(()),
            Server::Jaeger(jaeger) => jaeger.prepare(ports),
        }
    }

    pub(crate) fn launch(&self, ports: &[u16]) -> Launch {
        match self {
            Server::Postgres(postgres) => postgres.launch(ports),
            Server::Kafka(kafka) => kafka.launch(),
            Server::Registry(registry) => registry.launch(ports),
            Server::Jaeger(jaeger) => jaeger.launch(),
        }
    }

    /// Whether *this* process serves at `ports`: another server that was quicker to take a port does not count.
    pub(crate) async fn look(
        &self,
        ports: &[u16],
        process: &OwnProcess,
        log: &PartLog,
    ) -> Result<(), NotYet> {
        let look = async {
            match self {
                Server::Postgres(postgres) => postgres.look(ports, process).await,
                Server::Kafka(kafka) => kafka.look(ports).await,
                Server::Registry(registry) => registry.look(ports, log).await,
                Server::Jaeger(jaeger) => jaeger.look(ports, log).await,
            }
        };
        tokio::time::timeout(LOOK_DEADLINE, look).await?
    }

    /// The signal that asks the server to end in order, without waiting for its clients.
    pub(crate) fn stop_signal(&self) -> libc::c_int {
        match self {
            // "Fast" shutdown: open transactions are rolled back.
            Server::Postgres(_) => libc::SIGINT,
            Server::Kafka(_) | Server::Registry(_) | Server::Jaeger(_) => libc::SIGTERM,
        }
    }
}

/// Runs a tool that prepares a server's files, to its end.
async fn run_tool(
    part: Part,
    launch: Launch,
    log: &PartLog,
    deadline: Instant,
) -> Result<(), StackError> {
    let mut tool = OwnProcess::start(launch, log.open()?)
        .await
        .map_err(StackError::process(part, "prepare"))?;
    match tool
        .wait(deadline)
        .await
        .map_err(StackError::process(part, "prepare"))?
    {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(log.ended(part, status)),
        None => Err(log.unhealthy(part, deadline, "its files are still being prepared".into())),
    }
}

/// For looking at a part's health. No idle connections: they would belong to one test's runtime, and be used by the next
/// one's.
pub(crate) fn http_client(part: Part) -> Result<reqwest::Client, StackError> {
    reqwest::Client::builder()
        .no_proxy()
        .pool_max_idle_per_host(0)
        .build()
        .map_err(std::io::Error::other)
        .map_err(StackError::process(part, "watch"))
}

fn first(ports: &[u16]) -> u16 {
    ports.first().copied().unwrap_or_default()
}
