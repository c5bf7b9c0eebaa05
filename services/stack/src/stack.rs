//! The stack: all parts together.

use std::fs;
use std::path::{Path, PathBuf};

use futures::future::{join_all, try_join_all};
use tokio::sync::OnceCell;
use tokio_postgres::NoTls;
use tokio_postgres::error::SqlState;

use crate::addresses::{Addresses, Detour, with_database};
#[cfg(feature = "containers")]
use crate::containers::Containers;
use crate::error::StackError;
use crate::folder::StackFolder;
use crate::options::{Existing, StackOptions};
use crate::part::Part;
use crate::servers::{Jaeger, Kafka, Postgres, Registry, Server};
use crate::source::StackSource;
use crate::supervised::{Deadlines, Supervised};

/// A running stack.
///
/// Its servers end with it: when it is [stopped](Stack::stop) or dropped, when the process exits with the stack in a
/// `static`, and when the process is killed. It is bound to no runtime, so tests with one runtime each may share it.
pub struct Stack {
    addresses: Addresses,
    /// Those that are ours. Before `folder`, so that they end before their files go.
    parts: Vec<Supervised>,
    /// Before `folder`, too.
    #[cfg(feature = "containers")]
    containers: Option<Containers>,
    /// `None` if all servers existed.
    folder: Option<StackFolder>,
}

impl Stack {
    /// Starts what `options` does not name as existing, side by side, and waits until all are healthy.
    ///
    /// # Errors
    /// When a program or jar is missing (the remedy is `make setup`), the folder cannot be used, or a server ends or
    /// does not get healthy in time; the message quotes the end of its log. What had started is ended again.
    pub async fn start(options: StackOptions) -> Result<Self, StackError> {
        if options.existing.is_complete() && !options.jaeger {
            return Ok(Self {
                addresses: addresses(&options.existing, &[]),
                parts: Vec::new(),
                #[cfg(feature = "containers")]
                containers: None,
                folder: None,
            });
        }
        let folder = StackFolder::open(options.folder.clone(), options.keep)?;
        let servers = servers_to_start(&options, folder.path())?;
        let deadlines = Deadlines {
            start: options.start_deadline,
            stop: options.stop_deadline,
        };
        let path = folder.path().to_owned();
        let starts = servers
            .into_iter()
            .map(|server| Supervised::start(server, &path, deadlines));
        let parts = try_join_all(starts).await?;
        let stack = Self {
            addresses: addresses(&options.existing, &parts),
            parts,
            #[cfg(feature = "containers")]
            containers: None,
            folder: Some(folder),
        };
        stack.create_default_database().await?;
        Ok(stack)
    }

    /// Starts all servers as containers; existing ones, the cache and `keep` mean nothing to them.
    #[cfg(feature = "containers")]
    pub(crate) async fn start_containers(options: StackOptions) -> Result<Self, StackError> {
        let folder = StackFolder::open(options.folder.clone(), options.keep)?;
        let containers = Containers::start(&options, folder.path()).await?;
        Ok(Self {
            addresses: containers.addresses().clone(),
            parts: Vec::new(),
            containers: Some(containers),
            folder: Some(folder),
        })
    }

    /// The stack that all tests of one process share, from [`StackSource::from_env`]; the first caller starts it. It
    /// ends when the process exits.
    ///
    /// # Errors
    /// As [`StackSource::from_env`] and [`Stack::start`]; the next caller tries again.
    pub async fn shared() -> Result<&'static Self, StackError> {
        static SHARED: OnceCell<Stack> = OnceCell::const_new();
        SHARED
            .get_or_try_init(|| async {
                StackSource::from_env()?
                    .start(StackOptions::default())
                    .await
            })
            .await
    }

    /// Where the parts are reached. The same for the stack's whole life, restarts included.
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// The second way to Kafka, if the stack was started with [`StackOptions::kafka_detour`] and Kafka is ours.
    pub fn kafka_detour(&self) -> Option<Detour> {
        Kafka::detour(self.supervised(Part::Kafka).ok()?.ports())
    }

    /// The folder with data and logs (`<part>/log`), if a server of ours runs.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_ref().map(StackFolder::path)
    }

    /// The log file of a part of ours.
    ///
    /// # Errors
    /// [`StackError::NotOurs`].
    pub fn log_file(&self, part: Part) -> Result<PathBuf, StackError> {
        self.supervised(part)?;
        let folder = self.folder().ok_or(StackError::NotOurs(part))?;
        Ok(folder.join(part.name()).join("log"))
    }

    /// The connection string of a database of this name, whether it exists or not.
    pub fn database_url(&self, name: &str) -> String {
        with_database(&self.addresses.postgres_url, name)
    }

    /// Creates a database if there is none of this name, and returns its connection string.
    ///
    /// # Errors
    /// [`StackError::DatabaseName`] if `name` is not made of a–z, 0–9 and `_`; [`StackError::Postgres`].
    pub async fn create_database(&self, name: &str) -> Result<String, StackError> {
        create_database(&self.addresses.postgres_url, name).await?;
        Ok(self.database_url(name))
    }

    /// Ends all parts of ours in order, side by side; one that does not end in time is killed.
    ///
    /// # Errors
    /// The first that the system reports; the rest is ended all the same.
    pub async fn stop(self) -> Result<(), StackError> {
        let stops = self.parts.iter().map(|part| async {
            match part.stop().await {
                // A drill has stopped or killed it before.
                Err(StackError::NotRunning(_)) => Ok(()),
                other => other,
            }
        });
        let stopped = join_all(stops).await.into_iter().collect();
        #[cfg(feature = "containers")]
        if let Some(containers) = self.containers {
            containers.stop().await?;
        }
        stopped
    }

    pub(crate) fn supervised(&self, part: Part) -> Result<&Supervised, StackError> {
        self.parts
            .iter()
            .find(|supervised| supervised.part() == part)
            .ok_or(StackError::NotOurs(part))
    }

    async fn create_default_database(&self) -> Result<(), StackError> {
        match self.supervised(Part::Postgres) {
            Ok(_) => {
                create_database(&self.database_url(Postgres::MAINTENANCE), Postgres::DEFAULT).await
            }
            Err(_) => Ok(()),
        }
    }
}

/// Makes the parts' folders and finds their programs.
fn servers_to_start(options: &StackOptions, folder: &Path) -> Result<Vec<Server>, StackError> {
    let cache = options.cache_folder.as_deref();
    let folder_of = |part: Part| {
        let path = folder.join(part.name());
        fs::create_dir_all(&path).map_err(StackError::file("create", &path))?;
        Ok(path)
    };
    let mut servers = Vec::new();
    if options.existing.postgres_url.is_none() {
        servers.push(Server::Postgres(Postgres::new(folder_of(Part::Postgres)?)?));
    }
    if options.existing.kafka_brokers.is_none() {
        servers.push(Server::Kafka(Kafka::new(
            folder_of(Part::Kafka)?,
            cache,
            options.kafka_detour,
        )?));
    }
    if options.existing.registry_url.is_none() {
        servers.push(Server::Registry(Registry::new(
            folder_of(Part::Registry)?,
            cache,
        )?));
    }
    if options.jaeger {
        servers.push(Server::Jaeger(Jaeger::new(
            folder_of(Part::Jaeger)?,
            cache,
        )?));
    }
    Ok(servers)
}

fn addresses(existing: &Existing, parts: &[Supervised]) -> Addresses {
    let ports = |part| {
        parts
            .iter()
            .find(|supervised| supervised.part() == part)
            .map_or(&[][..], Supervised::ports)
    };
    let postgres_port = || ports(Part::Postgres).first().copied().unwrap_or_default();
    Addresses {
        postgres_url: existing
            .postgres_url
            .clone()
            .unwrap_or_else(|| Postgres::url(postgres_port(), Postgres::DEFAULT)),
        kafka_brokers: existing
            .kafka_brokers
            .clone()
            .unwrap_or_else(|| Kafka::brokers(ports(Part::Kafka))),
        registry_url: existing
            .registry_url
            .clone()
            .unwrap_or_else(|| Registry::url(ports(Part::Registry))),
        jaeger_query_url: Jaeger::query_url(ports(Part::Jaeger)),
        otlp_url: Jaeger::otlp_url(ports(Part::Jaeger)),
    }
}

async fn create_database(url: &str, name: &str) -> Result<(), StackError> {
    if !is_plain_name(name) {
        return Err(StackError::DatabaseName(name.to_owned()));
    }
    let failed = |action| move |source| StackError::Postgres { action, source };
    let (client, connection) = tokio_postgres::connect(url, NoTls)
        .await
        .map_err(failed("connect"))?;
    let connection = tokio::spawn(connection);
    let created = client
        .batch_execute(&format!("CREATE DATABASE {name}"))
        .await;
    drop(client);
    // Its end says nothing that the statement's answer has not said.
    connection.abort();
    match created {
        Err(error) if error.code() == Some(&SqlState::DUPLICATE_DATABASE) => Ok(()),
        other => other.map_err(failed("create a database")),
    }
}

/// A name that needs no quotes: PostgreSQL's rule, of at most 63 bytes.
fn is_plain_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.len() <= 63
        && name.bytes().all(plain)
        && name
            .bytes()
            .next()
            .is_some_and(|first| !first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_without_quotes_are_names() {
        for good in ["a", "tidings_2", "_x"] {
            assert!(is_plain_name(good), "{good}");
        }
        for bad in ["", "2a", "A", "a-b", "a b", "a;drop", &"a".repeat(64)] {
            assert!(!is_plain_name(bad), "{bad}");
        }
    }
}
