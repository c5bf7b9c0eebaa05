use tidings_stack::{Existing, Part, Stack, StackOptions};

use super::worker::{Worker, most_in_a_second};
use super::{PER_SECOND, prepared};

/// A broker of our own: the shared one serves other tests.
async fn own_kafka() -> Stack {
    let shared = Stack::shared().await.unwrap().addresses();
    let existing = Existing {
        postgres_url: Some(shared.postgres_url.clone()),
        registry_url: Some(shared.registry_url.clone()),
        kafka_brokers: None,
    };
    let options = StackOptions {
        existing,
        ..StackOptions::default()
    };
    Stack::start(options).await.unwrap()
}

#[tokio::test]
async fn while_the_broker_is_frozen_valid_grants_are_spent_and_no_more() {
    let kafka = own_kafka().await;
    let mut config = prepared("limit_frozen").await;
    config.kafka.brokers = kafka.addresses().kafka_brokers.clone();
    tidings_edge::kafka::apply(&config).await.unwrap();
    let mut worker = Worker::start(&config).await;
    worker.send(30).await;
    worker.want(60);

    kafka.pause(Part::Kafka).await.unwrap();
    let unanswered = worker.limits.counts().unanswered;
    worker
        .until(|worker| worker.limits.counts().unanswered >= unanswered + 2)
        .await;
    let spent = worker.started.len();
    worker
        .until(|worker| worker.limits.counts().unanswered >= unanswered + 4)
        .await;
    assert_eq!(worker.started.len(), spent, "started without a grant");
    assert!(spent < 90, "the broker was not away");

    kafka.resume(Part::Kafka).await.unwrap();
    worker.finish().await;
    assert!(most_in_a_second(&[&worker]) <= PER_SECOND);
    worker.stop().await;
    kafka.stop().await.unwrap();
}

#[tokio::test]
async fn a_broker_that_was_away_longer_than_the_clients_wait_is_found_again() {
    let kafka = own_kafka().await;
    let mut config = prepared("limit_restarted").await;
    config.kafka.brokers = kafka.addresses().kafka_brokers.clone();
    config.limits.append_timeout = std::time::Duration::from_secs(1);
    config.limits.stall_deadline = std::time::Duration::from_secs(2);
    tidings_edge::kafka::apply(&config).await.unwrap();
    let mut worker = Worker::start(&config).await;
    worker.send(30).await;
    let log_id = worker.limits.view().log_id;
    worker.want(60);

    kafka.kill(Part::Kafka).await.unwrap();
    let closed = worker.limits.counts().closed;
    worker
        .until(|worker| worker.limits.counts().closed > closed)
        .await;
    kafka.start_part(Part::Kafka).await.unwrap();
    worker.finish().await;
    assert!(most_in_a_second(&[&worker]) <= PER_SECOND);
    assert_eq!(worker.limits.view().log_id, log_id);
    worker.stop().await;
    kafka.stop().await.unwrap();
}
