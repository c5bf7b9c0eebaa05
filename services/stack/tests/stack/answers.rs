//! Every part answers, and two stacks do not know of each other.

use tidings_stack::{Existing, Part, Stack, StackError, StackOptions, StackSource};

use crate::talk;

#[tokio::test]
async fn every_part_answers() {
    let stack = Stack::shared().await.unwrap();
    let client = talk::postgres(&stack.addresses().postgres_url).await;
    let row = client
        .query_one("SELECT 1, current_database()::text", &[])
        .await
        .unwrap();
    assert_eq!(
        (row.get::<_, i32>(0), row.get::<_, &str>(1)),
        (1, "tidings")
    );
    assert_eq!(
        talk::topics(&stack.addresses().kafka_brokers),
        Vec::<String>::new()
    );
    assert_eq!(talk::subjects(stack.addresses()).await, "[]");
}

#[tokio::test]
async fn databases_are_made_once_and_kept_apart() {
    let stack = Stack::shared().await.unwrap();
    let url = stack.create_database("orders").await.unwrap();
    talk::postgres(&url)
        .await
        .batch_execute("CREATE TABLE orders (id int)")
        .await
        .unwrap();
    assert_eq!(stack.create_database("orders").await.unwrap(), url);
    assert_eq!(stack.database_url("orders"), url);
    talk::postgres(&url)
        .await
        .batch_execute("SELECT id FROM orders")
        .await
        .unwrap();
    let elsewhere = talk::postgres(&stack.create_database("other").await.unwrap()).await;
    assert!(
        elsewhere
            .batch_execute("SELECT id FROM orders")
            .await
            .is_err()
    );
    let refused = stack.create_database("x; DROP DATABASE orders").await;
    assert!(matches!(refused, Err(StackError::DatabaseName(_))));
}

#[tokio::test]
async fn jaeger_answers_where_it_is_asked_for_and_after_a_crash() {
    let shared = Stack::shared().await.unwrap().addresses();
    assert_eq!((&shared.jaeger_query_url, &shared.otlp_url), (&None, &None));
    let existing = Existing {
        postgres_url: Some(shared.postgres_url.clone()),
        kafka_brokers: Some(shared.kafka_brokers.clone()),
        registry_url: Some(shared.registry_url.clone()),
    };
    let options = StackOptions {
        existing,
        jaeger: true,
        ..StackOptions::default()
    };
    let stack = Stack::start(options).await.unwrap();
    let query = stack.addresses().jaeger_query_url.clone().unwrap();
    stack.restart(Part::Jaeger).await.unwrap();
    let answer = reqwest::get(format!("{query}/api/services")).await.unwrap();
    assert!(answer.status().is_success());
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn two_stacks_do_not_know_of_each_other() {
    let (shared, own) = tokio::join!(Stack::shared(), Stack::start(StackOptions::default()));
    let (shared, own) = (shared.unwrap(), own.unwrap());
    talk::leave_something(&own).await;
    let there = talk::postgres(&shared.addresses().postgres_url).await;
    assert!(
        there
            .batch_execute("SELECT text FROM left_behind")
            .await
            .is_err()
    );
    assert!(talk::topics(&shared.addresses().kafka_brokers).is_empty());
    assert_eq!(talk::subjects(shared.addresses()).await, "[]");
    let folder = own.folder().unwrap().to_owned();
    own.stop().await.unwrap();
    assert!(!folder.exists());
}

#[tokio::test]
async fn existing_servers_are_used_and_left_alone() {
    let ours = Stack::shared().await.unwrap();
    let existing = Existing {
        postgres_url: Some(ours.addresses().postgres_url.clone()),
        kafka_brokers: Some(ours.addresses().kafka_brokers.clone()),
        registry_url: Some(ours.addresses().registry_url.clone()),
    };
    let theirs = StackSource::Existing(existing)
        .start(StackOptions::default())
        .await
        .unwrap();
    assert_eq!(theirs.addresses(), ours.addresses());
    assert!(theirs.folder().is_none());
    for part in Part::ALL {
        assert!(
            matches!(theirs.kill(part).await, Err(StackError::NotOurs(refused)) if refused == part)
        );
    }
    theirs.stop().await.unwrap();
    talk::postgres(&ours.addresses().postgres_url)
        .await
        .batch_execute("SELECT 1")
        .await
        .unwrap();
}
