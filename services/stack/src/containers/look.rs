//! Whether a container serves. Its ports are its own: Docker holds them.

use std::net::Ipv4Addr;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer};
use tokio::net::TcpStream;
use tokio_postgres::NoTls;

use crate::part::Part;
use crate::servers::{Jaeger, Kafka, LOOK_DEADLINE, NotYet, Postgres, Registry, http_client};

const METADATA_DEADLINE: Duration = Duration::from_secs(1);

/// Asks each part what its users will ask.
pub(super) async fn look(part: Part, ports: &[u16]) -> Result<(), NotYet> {
    let look = async {
        match part {
            Part::Postgres => look_at_postgres(ports).await,
            Part::Kafka => look_at_kafka(ports).await,
            Part::Registry => get(part, format!("{}/subjects", Registry::url(ports))).await,
            Part::Jaeger => {
                let url = Jaeger::query_url(ports).unwrap_or_default();
                get(part, format!("{url}/api/services")).await
            }
        }
    };
    tokio::time::timeout(LOOK_DEADLINE, look).await?
}

async fn look_at_postgres(ports: &[u16]) -> Result<(), NotYet> {
    let url = Postgres::url(first(ports), Postgres::DEFAULT);
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
    let connection = tokio::spawn(connection);
    client.simple_query("SELECT 1").await?;
    drop(client);
    Ok(connection.await??)
}

async fn look_at_kafka(ports: &[u16]) -> Result<(), NotYet> {
    TcpStream::connect((Ipv4Addr::LOCALHOST, first(ports))).await?;
    let brokers = Kafka::brokers(ports);
    tokio::task::spawn_blocking(move || {
        let mut config = ClientConfig::new();
        // A broker that is not there yet is no news.
        config
            .set("bootstrap.servers", &brokers)
            .set_log_level(RDKafkaLogLevel::Emerg);
        let client: BaseConsumer = config.create()?;
        match client.fetch_metadata(None, METADATA_DEADLINE)?.brokers() {
            [] => Err("no broker has registered yet".into()),
            [..] => Ok(()),
        }
    })
    .await?
}

async fn get(part: Part, url: String) -> Result<(), NotYet> {
    http_client(part)?
        .get(url)
        .send()
        .await?
        .error_for_status()?;
    Ok(())
}

fn first(ports: &[u16]) -> u16 {
    ports.first().copied().unwrap_or_default()
}
