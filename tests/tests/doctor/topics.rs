//! Topics that somebody made or changed.

use rdkafka::admin::{AdminClient, AdminOptions, AlterConfig, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;
use tidings_edge::config::Config;
use tidings_edge::kafka::{
    Lane, admin_config, dead_letter_topic, lane_topic, rate_limit_topic, specs,
};

use crate::world::World;

fn admin(config: &Config) -> AdminClient<DefaultClientContext> {
    admin_config(&config.kafka).create().unwrap()
}

/// Changes one setting of a topic, and leaves the others as they were made.
async fn change(config: &Config, topic: &str, key: &str, value: &str) {
    let spec = specs(config)
        .into_iter()
        .find(|spec| spec.name == topic)
        .unwrap();
    let settings = spec.config.iter().filter(|(other, _)| *other != key);
    let mut altered = AlterConfig::new(ResourceSpecifier::Topic(topic)).set(key, value);
    for (other, value) in settings {
        altered = altered.set(other, value);
    }
    let answers = admin(config)
        .alter_configs([&altered], &AdminOptions::new())
        .await;
    answers.unwrap().into_iter().for_each(|answer| {
        answer.unwrap();
    });
}

#[tokio::test]
async fn another_partition_count_is_refused_because_growing_moves_keys() {
    let world = World::new().await;
    let diagnosis = world.doctor(&[("TIDINGS_KAFKA__PARTITIONS", "7")]).await;
    let found: Vec<&str> = diagnosis
        .findings
        .iter()
        .filter(|f| f["health"] == "problem")
        .map(|f| f["key"].as_str().unwrap())
        .collect();
    let normal = lane_topic(&world.config().kafka, "telegram", Lane::Normal);
    assert!(
        found.contains(&format!("{normal} partitions").as_str()),
        "{found:?}"
    );
    // Lanes, dead letters and receipts; the topics of one partition are as they were.
    assert_eq!(found.len(), 5, "{found:?}");
    assert!(
        diagnosis.output.contains("growing moves keys"),
        "{}",
        diagnosis.output
    );
}

#[tokio::test]
async fn settings_that_break_a_promise_are_named_with_the_command_that_mends_them() {
    let world = World::new().await;
    let config = world.config();
    let rate_limit = rate_limit_topic(&config.kafka);
    change(&config, &rate_limit, "message.timestamp.type", "CreateTime").await;
    let high = lane_topic(&config.kafka, "telegram", Lane::High);
    change(&config, &high, "max.message.bytes", "65536").await;
    let normal = lane_topic(&config.kafka, "telegram", Lane::Normal);
    change(&config, &normal, "retention.ms", "5184000000").await;
    let dead_letters = dead_letter_topic(&config.kafka, "telegram");
    change(&config, &dead_letters, "min.insync.replicas", "2").await;
    let diagnosis = world.doctor(&[]).await;
    diagnosis.assert_problems(&[
        (
            "topics",
            &format!("{rate_limit} message.timestamp.type"),
            "message.timestamp.type=LogAppendTime",
        ),
        (
            "topics",
            &format!("{high} max.message.bytes"),
            "max.message.bytes=1048576",
        ),
        (
            "topics",
            &format!("{normal} retention.ms"),
            "retention.ms=604800000",
        ),
        (
            "topics",
            &format!("{dead_letters} min.insync.replicas"),
            "min.insync.replicas=1",
        ),
        (
            "dedupe retention",
            "dispatcher.dedupe_retention_days",
            "it + 1 day",
        ),
    ]);
}

#[tokio::test]
async fn a_topic_that_was_deleted_is_missing() {
    let world = World::new().await;
    let config = world.config();
    let replay = lane_topic(&config.kafka, "telegram", Lane::Replay);
    let deleted = admin(&config)
        .delete_topics(&[&replay], &AdminOptions::new())
        .await;
    deleted.unwrap().into_iter().for_each(|answer| {
        answer.unwrap();
    });
    let diagnosis = world.doctor(&[]).await;
    diagnosis.assert_problems(&[(
        "topics",
        &format!("{replay} the topic"),
        "tidings topics apply",
    )]);
}
