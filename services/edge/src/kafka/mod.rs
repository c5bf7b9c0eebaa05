//! Kafka: how its clients are built, and the topics Tidings needs.

mod api_versions;
mod clients;
mod cluster;
mod names;
mod topic_admin;
mod topic_fit;
mod topic_specs;
mod topic_view;

pub use clients::{
    DEAD_LETTER_HEADER_BYTES, admin_config, client_config, consumer_config,
    dead_letter_producer_config, producer_config,
};
pub use cluster::{Cluster, cluster};
pub use names::{
    Lane, audit_topic, dead_letter_topic, event_stream_topic, lane_topic, rate_limit_topic,
    receipts_topic, relay_dead_letter_topic,
};
pub use topic_admin::{TopicChange, TopicsError, apply, check, inspect, plan};
pub use topic_fit::TopicProblem;
pub use topic_specs::{TopicSpec, specs};
pub use topic_view::{PresentTopic, Settings, TopicView};
