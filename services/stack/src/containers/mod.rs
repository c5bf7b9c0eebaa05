//! The same servers as containers, through testcontainers: the images of deploy/stack/versions.env, reached on free
//! loopback ports like the local ones.
//!
//! Containers do not die with us by themselves, and testcontainers removes them only when nothing goes wrong
//! (reference/libraries.md). So each is labelled, a sentinel removes them whatever becomes of this process, and the next
//! stack sweeps what even the sentinel could not.

mod docker;
mod image;
mod look;
mod sentinel;

use std::mem::ManuallyDrop;
use std::path::Path;
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, GenericImage, TestcontainersError};

use crate::addresses::Addresses;
use crate::error::StackError;
use crate::options::StackOptions;
use crate::part::Part;
use crate::ports::Reservation;
use crate::process::OwnProcess;
use crate::servers::{Jaeger, Kafka, NotYet, Postgres, Registry};

use docker::Mark;

/// How often other ports are tried when one was taken between our look and the container's start.
const PORT_ATTEMPTS: u32 = 3;
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Bytes of a container's output that an error quotes, as of a local server's log.
const TAIL_BYTES: usize = 4 * 1024;

/// Running containers. Dropped, they are removed, with their data.
pub(crate) struct Containers {
    addresses: Addresses,
    sentinel: OwnProcess,
    stop_deadline: Duration,
}

impl Containers {
    /// Starts PostgreSQL, Kafka, the registry and, if asked for, Jaeger, and waits until all are healthy. `folder` is for
    /// the sentinel's log.
    pub(crate) async fn start(options: &StackOptions, folder: &Path) -> Result<Self, StackError> {
        docker::sweep().await?;
        let mark = Mark::new()?;
        // First: whatever fails from here on, it removes what has been made.
        let sentinel = sentinel::start(&mark, folder).await?;
        let parts = Part::ALL
            .into_iter()
            .chain(options.jaeger.then_some(Part::Jaeger));
        let starts = parts.map(|part| start_part(part, &mark, options.start_deadline));
        let started = try_join_all(starts).await?;
        Ok(Self {
            addresses: addresses(&started),
            sentinel,
            stop_deadline: options.stop_deadline,
        })
    }

    /// Where they are reached.
    pub(crate) fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Removes them.
    pub(crate) async fn stop(self) -> Result<(), StackError> {
        self.sentinel
            .stop(libc::SIGTERM, Instant::now() + self.stop_deadline)
            .await
            .map_err(|source| StackError::docker("remove the containers", source))
    }
}

/// A part's host ports, once it is healthy.
async fn start_part(
    part: Part,
    mark: &Mark,
    limit: Duration,
) -> Result<(Part, Vec<u16>), StackError> {
    let deadline = Instant::now() + limit;
    let mut attempt = 1;
    loop {
        let held = Reservation::new(image::container_ports(part).len())?;
        let ports = held.ports()?;
        let request = image::request(part, &ports, mark, limit);
        drop(held);
        match request.start().await {
            Ok(container) => {
                // The sentinel's to remove: on its own drop the library wants a runtime, which a `static` has not.
                let container = ManuallyDrop::new(container);
                wait_until_healthy(part, &container, &ports, deadline).await?;
                return Ok((part, ports));
            }
            Err(_) if attempt < PORT_ATTEMPTS && Reservation::of(&ports).is_none() => attempt += 1,
            Err(error) => return Err(StackError::container(part, "start", "", error)),
        }
    }
}

async fn wait_until_healthy(
    part: Part,
    container: &ContainerAsync<GenericImage>,
    ports: &[u16],
    deadline: Instant,
) -> Result<(), StackError> {
    let failed = |error: TestcontainersError| StackError::container(part, "watch", "", error);
    loop {
        let reason = match look::look(part, ports).await {
            Ok(()) => return Ok(()),
            Err(reason) => reason,
        };
        let ended = !container.is_running().await.map_err(failed)?;
        if ended || Instant::now() >= deadline {
            let problem: NotYet = match ended {
                true => "it has ended".into(),
                false => reason,
            };
            let output = output_of(container).await.map_err(failed)?;
            return Err(StackError::container(part, "start", &output, problem));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// The end of what the container wrote.
async fn output_of(
    container: &ContainerAsync<GenericImage>,
) -> Result<String, TestcontainersError> {
    let mut bytes = container.stdout_to_vec().await?;
    bytes.extend(container.stderr_to_vec().await?);
    let from = bytes.len().saturating_sub(TAIL_BYTES);
    let tail = bytes.get(from..).unwrap_or_default();
    Ok(String::from_utf8_lossy(tail).into_owned())
}

fn addresses(started: &[(Part, Vec<u16>)]) -> Addresses {
    let ports = |wanted| {
        let of_part = started.iter().find(|(part, _)| *part == wanted);
        of_part.map_or(&[][..], |(_, ports)| ports)
    };
    let postgres = ports(Part::Postgres).first().copied().unwrap_or_default();
    Addresses {
        postgres_url: Postgres::url(postgres, Postgres::DEFAULT),
        kafka_brokers: Kafka::brokers(ports(Part::Kafka)),
        registry_url: Registry::url(ports(Part::Registry)),
        jaeger_query_url: Jaeger::query_url(ports(Part::Jaeger)),
        otlp_url: Jaeger::otlp_url(ports(Part::Jaeger)),
    }
}
