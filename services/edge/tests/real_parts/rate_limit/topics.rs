use rdkafka::admin::{AdminOptions, NewTopic, TopicReplication};
use rdkafka::{Offset, TopicPartitionList};
use tidings_edge::config::Config;
use tidings_edge::kafka::rate_limit_topic;
use tidings_edge::rate_limit::{LimitLog, LimitLogError};

use super::worker::{Worker, most_in_a_second};
use super::{PER_SECOND, admin, delete, prepared, recreate};

/// Deletes every record of the topic.
async fn empty(config: &Config) {
    let mut all = TopicPartitionList::new();
    let topic = rate_limit_topic(&config.kafka);
    all.add_partition_offset(&topic, 0, Offset::End).unwrap();
    let options = AdminOptions::new();
    admin(config).delete_records(&all, &options).await.unwrap();
}

/// What a client says to a rate-limit topic of this shape.
async fn refused(name: &str, partitions: i32, settings: &[(&str, &str)]) -> String {
    let config = prepared(name).await;
    delete(&config).await;
    let topic = rate_limit_topic(&config.kafka);
    let shape = NewTopic::new(&topic, partitions, TopicReplication::Fixed(1));
    let shape = settings
        .iter()
        .fold(shape, |shape, (key, value)| shape.set(key, value));
    loop {
        let options = AdminOptions::new();
        let created = admin(&config)
            .create_topics([&shape], &options)
            .await
            .unwrap();
        if created[0].is_ok() {
            break;
        }
    }
    loop {
        match LimitLog::start(&config, None).await {
            Err(LimitLogError::Unfit(problems)) if problems[0].found != "missing" => {
                return LimitLogError::Unfit(problems).to_string();
            }
            // The cluster has not told everybody yet.
            Err(_) => {}
            Ok(_) => panic!("it was accepted"),
        }
    }
}

const LOG_APPEND_TIME: (&str, &str) = ("message.timestamp.type", "LogAppendTime");

#[tokio::test]
async fn a_topic_that_is_no_lock_is_refused_with_the_remedy() {
    let text = refused("limit_time", 1, &[]).await;
    assert!(
        text.contains("message.timestamp.type=LogAppendTime"),
        "{text}"
    );
    let text = refused("limit_parts", 2, &[LOG_APPEND_TIME]).await;
    assert!(text.contains("partitions is 2, expected 1"), "{text}");
    let compact = ("cleanup.policy", "compact");
    let text = refused("limit_compact", 1, &[LOG_APPEND_TIME, compact]).await;
    assert!(text.contains("cleanup.policy=delete"), "{text}");
}

#[tokio::test]
async fn a_recreated_topic_closes_the_client_until_it_has_begun_the_new_log_and_nothing_bursts() {
    let config = prepared("limit_recreated").await;
    let mut worker = Worker::start(&config).await;
    worker.send(40).await;
    let before = worker.limits.view().log_id;
    worker.want(60);
    recreate(&config).await;
    worker.finish().await;
    // Counted by the limiter: of modes that follow each other fast, only the latest is told.
    assert!(worker.limits.counts().closed >= 1, "{:?}", worker.modes);
    assert!(most_in_a_second(&[&worker]) <= PER_SECOND);
    worker.until_live().await;
    assert_ne!(worker.limits.view().log_id, before);
    worker.stop().await;
}

#[tokio::test]
async fn an_emptied_topic_is_the_same_log_to_a_late_client_while_another_lives() {
    let config = prepared("limit_emptied").await;
    let mut first = Worker::start(&config).await;
    first.send(40).await;
    empty(&config).await;
    let mut late = Worker::start(&config).await;
    tokio::join!(first.send(40), late.send(40));
    assert!(most_in_a_second(&[&first, &late]) <= PER_SECOND);
    assert_eq!(first.limits.view().log_id, late.limits.view().log_id);
    first.stop().await;
    late.stop().await;
}

#[tokio::test]
async fn an_emptied_topic_that_nobody_remembers_begins_with_full_windows() {
    let config = prepared("limit_forgotten").await;
    let mut first = Worker::start(&config).await;
    first.send(30).await;
    let last = first.started.clone();
    first.stop().await;
    empty(&config).await;
    let mut second = Worker::start(&config).await;
    second.send(30).await;
    second.started.extend(last);
    assert!(most_in_a_second(&[&second]) <= PER_SECOND);
    second.stop().await;
}
