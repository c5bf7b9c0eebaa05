//! What a cluster says of itself: its brokers, one broker's settings, the requests it knows.

use std::collections::BTreeMap;

use rdkafka::admin::{AdminClient, AdminOptions, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;

use super::api_versions::api_versions;
use super::topic_admin::{doing, settings};
use super::topic_view::Settings;
use super::{TopicsError, admin_config};
use crate::config::{KafkaConfig, SecurityProtocol};

/// A cluster as one of its brokers shows it.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// How many brokers it has.
    pub brokers: usize,
    /// A broker's settings; empty where this user may not see them.
    pub settings: Settings,
    /// The newest version of each request by Kafka's number of it. `None` through TLS or SASL, where it is not asked.
    pub api_versions: Option<BTreeMap<i16, i16>>,
}

/// Asks a cluster.
///
/// # Errors
/// It cannot be reached within `kafka.admin_timeout`.
pub async fn cluster(kafka: &KafkaConfig) -> Result<Cluster, TopicsError> {
    let created = admin_config(kafka).create::<AdminClient<DefaultClientContext>>();
    let admin = std::sync::Arc::new(created.map_err(doing("create the client"))?);
    let (asked, timeout) = (admin.clone(), kafka.admin_timeout);
    let metadata =
        tokio::task::spawn_blocking(move || asked.inner().fetch_metadata(None, timeout)).await;
    let metadata = metadata
        .map_err(|_| TopicsError::Interrupted)?
        .map_err(doing("read the metadata"))?;
    let brokers = metadata.brokers();
    let first = brokers.first().map(|broker| {
        let address = format!("{}:{}", broker.host(), broker.port());
        (broker.id(), address)
    });
    let mut found = Cluster {
        brokers: brokers.len(),
        settings: Settings::new(),
        api_versions: None,
    };
    if let Some((id, address)) = first {
        found.settings = broker_settings(&admin, kafka, id).await;
        if kafka.security.protocol == SecurityProtocol::Plaintext {
            found.api_versions = api_versions(&address, timeout).await.ok();
        }
    }
    Ok(found)
}

/// Empty if they are not to be had: that needs a right which nothing else does.
async fn broker_settings(
    admin: &AdminClient<DefaultClientContext>,
    kafka: &KafkaConfig,
    id: i32,
) -> Settings {
    let options = AdminOptions::new().request_timeout(Some(kafka.admin_timeout));
    let described = admin
        .describe_configs(&[ResourceSpecifier::Broker(id)], &options)
        .await;
    let answers = described.unwrap_or_default().into_iter();
    let shown = answers
        .filter_map(Result::ok)
        .map(|answer| settings(answer).1);
    shown.flatten().collect()
}
