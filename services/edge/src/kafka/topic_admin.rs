//! Making the topics, and checking at every role's start that they fit (design §4).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rdkafka::admin::{
    AdminClient, AdminOptions, ConfigResource, NewTopic, ResourceSpecifier, TopicReplication,
};
use rdkafka::client::DefaultClientContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

use super::admin_config;
use super::topic_fit::TopicProblem;
use super::topic_specs::{TopicSpec, specs};
use super::topic_view::{PresentTopic, Settings, TopicView, fewest_replicas};
use crate::config::{Config, KafkaConfig};

/// What [`apply`] did to one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TopicChange {
    /// It was missing.
    Created {
        /// The topic.
        name: String,
        /// Its partitions.
        partitions: u32,
    },
}

/// Why the topics are not as they must be.
#[derive(Debug, thiserror::Error)]
pub enum TopicsError {
    /// Topics exist that do not fit, or (for [`check`]) are missing.
    #[error("{} topic problem(s): {}", .0.len(), list(.0))]
    Unfit(Vec<TopicProblem>),
    /// The cluster could not be asked.
    #[error("Kafka: {doing} failed")]
    Kafka {
        /// What was being done.
        doing: &'static str,
        /// What the client said.
        #[source]
        source: KafkaError,
    },
    /// One topic was refused by the cluster.
    #[error("Kafka refused topic {topic}: {code}")]
    Refused {
        /// The topic.
        topic: String,
        /// Kafka's code.
        code: RDKafkaErrorCode,
    },
    /// Created topics did not appear in the metadata in time.
    #[error("created topics did not appear within kafka.admin_timeout: {0:?}")]
    NotVisible(Vec<String>),
    /// The asking task was cancelled, because the process stops.
    #[error("asking Kafka was interrupted")]
    Interrupted,
}

type Admin = AdminClient<DefaultClientContext>;

/// A topic that exists.
struct Present {
    partitions: u32,
    /// Copies of the partition that has the fewest.
    replicas: u32,
    /// Whether each partition has a leader, so that it can be written to.
    led: bool,
}

/// Topics that exist, by name.
type Found = BTreeMap<String, Present>;

/// Creates the missing topics and waits until the cluster shows them. Existing ones are left as they are: if one
/// does not fit, nothing is created.
///
/// # Errors
/// Existing topics do not fit, or the cluster cannot be asked or refuses.
pub async fn apply(config: &Config) -> Result<Vec<TopicChange>, TopicsError> {
    let admin = Topics::new(&config.kafka)?;
    let views = admin.views(config).await?;
    let missing = missing(&views)?;
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    admin.create(&missing).await?;
    admin.wait_for(&missing).await?;
    Ok(changes(&missing))
}

/// What [`apply`] would do, without doing it.
///
/// # Errors
/// As [`apply`], but for what only the cluster's refusal shows.
pub async fn plan(config: &Config) -> Result<Vec<TopicChange>, TopicsError> {
    let views = inspect(config).await?;
    Ok(changes(&missing(&views)?))
}

/// Checks that every topic exists and fits. Needs the right to describe topics and their settings.
///
/// # Errors
/// Topics are missing or do not fit, or the cluster cannot be asked.
pub async fn check(config: &Config) -> Result<(), TopicsError> {
    refuse(inspect(config).await?.iter().flat_map(TopicView::problems))
}

/// Every topic that Tidings needs, beside what the cluster has of it.
///
/// # Errors
/// The cluster cannot be asked.
pub async fn inspect(config: &Config) -> Result<Vec<TopicView>, TopicsError> {
    Topics::new(&config.kafka)?.views(config).await
}

/// The topics that can be made, unless those that exist do not fit: then nothing is.
fn missing(views: &[TopicView]) -> Result<Vec<&TopicSpec>, TopicsError> {
    let (present, missing): (Vec<_>, Vec<_>) =
        views.iter().partition(|view| view.present.is_some());
    refuse(present.into_iter().flat_map(TopicView::problems))?;
    Ok(missing.into_iter().map(|view| &view.spec).collect())
}

fn refuse(problems: impl Iterator<Item = TopicProblem>) -> Result<(), TopicsError> {
    let problems: Vec<TopicProblem> = problems.collect();
    match problems.as_slice() {
        [] => Ok(()),
        [..] => Err(TopicsError::Unfit(problems)),
    }
}

fn changes(missing: &[&TopicSpec]) -> Vec<TopicChange> {
    let created = missing.iter().map(|spec| TopicChange::Created {
        name: spec.name.clone(),
        partitions: spec.partitions,
    });
    created.collect()
}

/// An administrative client and its bound.
struct Topics {
    admin: std::sync::Arc<Admin>,
    timeout: Duration,
}

impl Topics {
    fn new(kafka: &KafkaConfig) -> Result<Self, TopicsError> {
        let created = admin_config(kafka).create::<Admin>();
        let admin = created.map_err(doing("create the client"))?;
        Ok(Self {
            admin: std::sync::Arc::new(admin),
            timeout: kafka.admin_timeout,
        })
    }

    /// All topics of the cluster: asking for one by name could create it.
    async fn partitions(&self) -> Result<Found, TopicsError> {
        let (admin, timeout) = (self.admin.clone(), self.timeout);
        let asked =
            tokio::task::spawn_blocking(move || admin.inner().fetch_metadata(None, timeout));
        let metadata = asked
            .await
            .map_err(|_| TopicsError::Interrupted)?
            .map_err(doing("read the metadata"))?;
        let topics = metadata.topics().iter();
        // The cluster describes a topic that is being made or deleted without partitions.
        let present = topics.filter(|topic| !topic.partitions().is_empty());
        let counted = present.map(|topic| {
            let partitions = topic.partitions();
            let present = Present {
                partitions: u32::try_from(partitions.len()).unwrap_or(u32::MAX),
                replicas: fewest_replicas(partitions),
                led: partitions.iter().all(|partition| partition.leader() >= 0),
            };
            (topic.name().to_owned(), present)
        });
        Ok(counted.collect())
    }

    async fn views(&self, config: &Config) -> Result<Vec<TopicView>, TopicsError> {
        let specs = specs(config);
        let found = self.partitions().await?;
        let there = specs.iter().filter(|spec| found.contains_key(&spec.name));
        let there: Vec<&TopicSpec> = there.collect();
        let described = self.describe(&there).await?;
        let mut settings: BTreeMap<String, Settings> = there
            .iter()
            .map(|spec| spec.name.clone())
            .zip(described)
            .collect();
        let views = specs.into_iter().map(|spec| {
            let present = found.get(&spec.name).map(|present| PresentTopic {
                partitions: present.partitions,
                replicas: present.replicas,
                settings: settings.remove(&spec.name).unwrap_or_default(),
            });
            TopicView { spec, present }
        });
        Ok(views.collect())
    }

    /// The settings of topics, in their order.
    async fn describe(&self, specs: &[&TopicSpec]) -> Result<Vec<Settings>, TopicsError> {
        if specs.is_empty() {
            return Ok(Vec::new());
        }
        let resources: Vec<_> = specs
            .iter()
            .map(|spec| ResourceSpecifier::Topic(&spec.name))
            .collect();
        let options = AdminOptions::new().request_timeout(Some(self.timeout));
        let described = self.admin.describe_configs(&resources, &options).await;
        let mut by_name = BTreeMap::new();
        for (spec, resource) in specs
            .iter()
            .zip(described.map_err(doing("describe the topics"))?)
        {
            let refused = |code| TopicsError::Refused {
                topic: spec.name.clone(),
                code,
            };
            let (name, settings) = settings(resource.map_err(refused)?);
            by_name.insert(name, settings);
        }
        // The answer's order is not promised.
        let ordered = specs
            .iter()
            .map(|spec| by_name.remove(&spec.name).unwrap_or_default());
        Ok(ordered.collect())
    }

    async fn create(&self, missing: &[&TopicSpec]) -> Result<(), TopicsError> {
        let topics: Vec<NewTopic<'_>> = missing.iter().map(|spec| new_topic(spec)).collect();
        let options = AdminOptions::new()
            .request_timeout(Some(self.timeout))
            .operation_timeout(Some(self.timeout));
        let created = self.admin.create_topics(&topics, &options).await;
        for result in created.map_err(doing("create the topics"))? {
            match result {
                // Another process was faster: as good.
                Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
                Err((topic, code)) => return Err(TopicsError::Refused { topic, code }),
            }
        }
        Ok(())
    }

    /// Brokers learn of a topic one after the other; a producer that asks too early fails.
    async fn wait_for(&self, topics: &[&TopicSpec]) -> Result<(), TopicsError> {
        let deadline = Instant::now() + self.timeout;
        loop {
            let found = self.partitions().await?;
            let hidden: Vec<String> = topics
                .iter()
                .filter(|spec| found.get(&spec.name).is_none_or(|present| !present.led))
                .map(|spec| spec.name.clone())
                .collect();
            if hidden.is_empty() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(TopicsError::NotVisible(hidden));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

pub(super) fn settings(resource: ConfigResource) -> (String, Settings) {
    use rdkafka::admin::OwnedResourceSpecifier;
    let name = match resource.specifier {
        OwnedResourceSpecifier::Topic(name) | OwnedResourceSpecifier::Group(name) => name,
        OwnedResourceSpecifier::Broker(id) => id.to_string(),
    };
    let entries = resource.entries.into_iter();
    let values = entries.filter_map(|entry| Some((entry.name, entry.value?)));
    (name, values.collect())
}

fn new_topic(spec: &TopicSpec) -> NewTopic<'_> {
    let partitions = i32::try_from(spec.partitions).unwrap_or(i32::MAX);
    let replication = TopicReplication::Fixed(spec.replication_factor.into());
    let topic = NewTopic::new(&spec.name, partitions, replication);
    spec.config
        .iter()
        .fold(topic, |topic, (key, value)| topic.set(key, value))
}

pub(super) fn doing(doing: &'static str) -> impl FnOnce(KafkaError) -> TopicsError {
    move |source| TopicsError::Kafka { doing, source }
}

fn list(problems: &[TopicProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("; ")
}
