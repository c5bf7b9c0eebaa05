//! A topic as it must be, beside what the cluster has of it.

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::metadata::MetadataPartition;

use super::topic_fit::{
    TopicProblem, missing_problem, partition_problem, replica_problem, setting_problems,
};
use super::topic_specs::TopicSpec;

/// A topic's settings by Kafka's names.
pub type Settings = BTreeMap<String, String>;

/// One topic that Tidings needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicView {
    /// As it must be.
    pub spec: TopicSpec,
    /// As it is; `None` if it is missing.
    pub present: Option<PresentTopic>,
}

/// A topic that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentTopic {
    /// Its partitions.
    pub partitions: u32,
    /// Copies of the partition that has the fewest.
    pub replicas: u32,
    /// Its effective settings.
    pub settings: Settings,
}

impl TopicView {
    /// What does not fit about it, if anything.
    #[must_use]
    pub fn problems(&self) -> Vec<TopicProblem> {
        let Some(present) = &self.present else {
            return vec![missing_problem(&self.spec)];
        };
        let partitions = partition_problem(&self.spec, present.partitions);
        let settings = setting_problems(&self.spec, &present.settings);
        let replicas = replica_problem(&self.spec, present.replicas, &present.settings);
        partitions
            .into_iter()
            .chain(settings)
            .chain(replicas)
            .collect()
    }

    /// How long it really keeps records; `None` if it is missing or keeps them for ever.
    #[must_use]
    pub fn retention(&self) -> Option<Duration> {
        let millis = self.present.as_ref()?.settings.get("retention.ms")?;
        millis.parse().ok().map(Duration::from_millis)
    }
}

/// The copies of the partition that has the fewest.
pub(super) fn fewest_replicas(partitions: &[MetadataPartition]) -> u32 {
    let counts = partitions.iter().map(|p| p.replicas().len());
    u32::try_from(counts.min().unwrap_or(0)).unwrap_or(u32::MAX)
}
