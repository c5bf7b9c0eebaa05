//! Apache Kafka: one node in KRaft mode.

use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rand::Rng;
use rand::distr::Alphanumeric;
use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer};
use tokio::net::TcpStream;

use super::{NotYet, PartLog, java, run_tool};
use crate::addresses::Detour;
use crate::error::StackError;
use crate::part::Part;
use crate::process::Launch;
use crate::programs;

/// Clients' and the controller's.
const PORTS: usize = 2;
/// The detour's: the broker's listener, and where a proxy before it stands.
const DETOUR_PORTS: usize = 2;
const SETTINGS: &str = include_str!("../../files/kafka.properties");
const LOGGING: &str = include_str!("../../files/log4j2.properties");
const SETTINGS_FILE: &str = "server.properties";
const LOGGING_FILE: &str = "log4j2.properties";
const METADATA_DEADLINE: Duration = Duration::from_secs(1);

pub(crate) struct Kafka {
    java: PathBuf,
    jars: PathBuf,
    folder: PathBuf,
    detour: bool,
}

impl Kafka {
    pub(crate) const HEAP: &str = "-Xmx512m";

    /// With its files in `folder`, which exists, and with a [`Detour`] if `detour`.
    pub(crate) fn new(
        folder: PathBuf,
        cache: Option<&Path>,
        detour: bool,
    ) -> Result<Self, StackError> {
        Ok(Self {
            java: programs::java()?,
            jars: programs::kafka_folder(cache)?,
            folder,
            detour,
        })
    }

    pub(super) fn port_count(&self) -> usize {
        PORTS + if self.detour { DETOUR_PORTS } else { 0 }
    }

    /// The bootstrap servers.
    pub(crate) fn brokers(ports: &[u16]) -> String {
        format!("127.0.0.1:{}", super::first(ports))
    }

    /// The detour, if it was started with one.
    pub(crate) fn detour(ports: &[u16]) -> Option<Detour> {
        let &[listener, proxy] = ports.get(PORTS..)? else {
            return None;
        };
        let loopback = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Some(Detour {
            proxy: loopback(proxy),
            broker: loopback(listener),
        })
    }

    /// The settings that hold wherever it runs, without its addresses.
    #[cfg(feature = "containers")]
    pub(crate) fn settings() -> impl Iterator<Item = (&'static str, &'static str)> {
        SETTINGS
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once('='))
    }

    pub(super) async fn prepare(
        &self,
        ports: &[u16],
        log: &PartLog,
        deadline: Instant,
    ) -> Result<(), StackError> {
        self.write(SETTINGS_FILE, &settings(ports))?;
        self.write(LOGGING_FILE, LOGGING)?;
        // The tool writes this file last.
        if self.meta_file().exists() {
            return Ok(());
        }
        let data = self.folder.join("data");
        if data.exists() {
            fs::remove_dir_all(&data).map_err(StackError::file("remove", &data))?;
        }
        let cluster: String = rand::rng()
            .sample_iter(Alphanumeric)
            .take(22)
            .map(char::from)
            .collect();
        let arguments = [
            "format",
            "--cluster-id",
            &cluster,
            "--config",
            SETTINGS_FILE,
        ];
        run_tool(
            Part::Kafka,
            self.launch_class("kafka.tools.StorageTool", &arguments),
            log,
            deadline,
        )
        .await
    }

    pub(super) fn launch(&self) -> Launch {
        self.launch_class("kafka.Kafka", &[SETTINGS_FILE])
    }

    /// The cluster is known by its id; then it must have a broker to show.
    pub(super) async fn look(&self, ports: &[u16]) -> Result<(), NotYet> {
        // A client in librdkafka is dear; it is made once somebody listens.
        TcpStream::connect((Ipv4Addr::LOCALHOST, super::first(ports))).await?;
        let meta = fs::read_to_string(self.meta_file())?;
        let cluster = meta
            .lines()
            .find_map(|line| line.strip_prefix("cluster.id="))
            .map(str::to_owned);
        let brokers = Self::brokers(ports);
        tokio::task::spawn_blocking(move || ask_for_metadata(&brokers, cluster)).await?
    }

    fn launch_class(&self, class: &str, arguments: &[&str]) -> Launch {
        let mut flags: Vec<OsString> =
            vec![format!("-Dlog4j2.configurationFile={LOGGING_FILE}").into()];
        flags.extend(["-cp".into(), self.jars.join("*").into(), class.into()]);
        flags.extend(arguments.iter().map(OsString::from));
        java::launch(&self.java, &self.folder, Self::HEAP, flags)
    }

    fn meta_file(&self) -> PathBuf {
        self.folder.join("data/meta.properties")
    }

    fn write(&self, name: &str, text: &str) -> Result<(), StackError> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(StackError::file("write", path))
    }
}

fn settings(ports: &[u16]) -> String {
    let (clients, controller) = (
        Kafka::brokers(ports),
        ports.get(1).copied().unwrap_or_default(),
    );
    let (mut listeners, mut advertised) = (String::new(), String::new());
    if let Some(Detour { proxy, broker }) = Kafka::detour(ports) {
        listeners = format!(",DETOUR://{broker}");
        advertised = format!(",DETOUR://{proxy}");
    }
    format!(
        "{SETTINGS}\n\
         listeners=CLIENT://{clients},CONTROLLER://127.0.0.1:{controller}{listeners}\n\
         advertised.listeners=CLIENT://{clients}{advertised}\n\
         controller.quorum.voters=1@127.0.0.1:{controller}\n"
    )
}

fn ask_for_metadata(brokers: &str, cluster: Option<String>) -> Result<(), NotYet> {
    let mut config = ClientConfig::new();
    // A broker that is not there yet is no news.
    config
        .set("bootstrap.servers", brokers)
        .set_log_level(RDKafkaLogLevel::Emerg);
    let client: BaseConsumer = config.create()?;
    if client.client().fetch_cluster_id(METADATA_DEADLINE) != cluster {
        return Err("another cluster, or none, answers at its port".into());
    }
    match client.fetch_metadata(None, METADATA_DEADLINE)?.brokers() {
        [] => Err("no broker has registered yet".into()),
        [..] => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the detour the broker says where the proxy is, and listens elsewhere.
    #[test]
    fn only_a_detour_has_a_third_listener() {
        let line = |text: &str, key: &str| {
            let mut lines = text.lines().filter_map(|line| line.strip_prefix(key));
            lines.next().unwrap().to_owned()
        };
        let direct = settings(&[1, 2]);
        assert_eq!(
            line(&direct, "advertised.listeners="),
            "CLIENT://127.0.0.1:1"
        );
        assert_eq!(Kafka::detour(&[1, 2]), None);
        let around = settings(&[1, 2, 3, 4]);
        assert_eq!(
            line(&around, "listeners="),
            "CLIENT://127.0.0.1:1,CONTROLLER://127.0.0.1:2,DETOUR://127.0.0.1:3"
        );
        assert_eq!(
            line(&around, "advertised.listeners="),
            "CLIENT://127.0.0.1:1,DETOUR://127.0.0.1:4"
        );
    }
}
