//! Talking to the servers as any client does, and leaving things to find again.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use tidings_stack::{Addresses, Stack};
use tokio_postgres::{Client, NoTls};

const PATIENCE: Duration = Duration::from_secs(30);
const TOPIC: &str = "left.behind";

/// A client of the database at `url`.
pub(crate) async fn postgres(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    // The tests kill servers: a broken connection is what they ask for.
    tokio::spawn(async { connection.await.ok() });
    client
}

/// Leaves a row, a record and a schema, each acknowledged. Returns the schema's id, as the registry's answer.
pub(crate) async fn leave_something(stack: &Stack) -> String {
    leave_row(stack).await;
    leave_record(&stack.addresses().kafka_brokers).await;
    register_schema(stack.addresses()).await
}

pub(crate) async fn leave_row(stack: &Stack) {
    let client = postgres(&stack.addresses().postgres_url).await;
    client
        .batch_execute(
            "CREATE TABLE left_behind (text text); INSERT INTO left_behind VALUES ('here')",
        )
        .await
        .unwrap();
}

pub(crate) async fn find_row(stack: &Stack) -> String {
    let client = postgres(&stack.addresses().postgres_url).await;
    client
        .query_one("SELECT text FROM left_behind", &[])
        .await
        .unwrap()
        .get(0)
}

pub(crate) async fn leave_record(brokers: &str) {
    let config = client_config(brokers);
    let admin: AdminClient<DefaultClientContext> = config.create().unwrap();
    let topic = NewTopic::new(TOPIC, 1, TopicReplication::Fixed(1));
    let options = AdminOptions::new().operation_timeout(Some(PATIENCE));
    admin
        .create_topics([&topic], &options)
        .await
        .unwrap()
        .remove(0)
        .unwrap();
    let producer: FutureProducer = config.create().unwrap();
    let record = FutureRecord::to(TOPIC).key("key").payload("here");
    producer.send(record, PATIENCE).await.unwrap();
}

pub(crate) async fn find_record(brokers: &str) -> String {
    let config = client_config(brokers);
    tokio::task::spawn_blocking(move || {
        let consumer: BaseConsumer = config.create().unwrap();
        let mut assignment = TopicPartitionList::new();
        assignment
            .add_partition_offset(TOPIC, 0, Offset::Beginning)
            .unwrap();
        consumer.assign(&assignment).unwrap();
        let record = consumer.poll(PATIENCE).expect("a record").unwrap();
        String::from_utf8(record.payload().unwrap().to_vec()).unwrap()
    })
    .await
    .unwrap()
}

/// The names of the brokers' topics that are not internal.
pub(crate) fn topics(brokers: &str) -> Vec<String> {
    let client: BaseConsumer = client_config(brokers).create().unwrap();
    let metadata = client.fetch_metadata(None, PATIENCE).unwrap();
    metadata
        .topics()
        .iter()
        .map(|topic| topic.name().to_owned())
        .filter(|name| !name.starts_with("__"))
        .collect()
}

/// Registers a schema (or finds it), as Confluent's clients do.
pub(crate) async fn register_schema(addresses: &Addresses) -> String {
    let request = reqwest::Client::new()
        .post(format!(
            "{}/subjects/left-behind/versions",
            addresses.registry_url
        ))
        .header("content-type", "application/vnd.schemaregistry.v1+json")
        .body(r#"{"schema": "{\"type\": \"string\"}"}"#);
    request
        .send()
        .await
        .unwrap()
        .error_for_status()
        .unwrap()
        .text()
        .await
        .unwrap()
}

/// The registry's subjects, as JSON text.
pub(crate) async fn subjects(addresses: &Addresses) -> String {
    let answer = reqwest::get(format!("{}/subjects", addresses.registry_url))
        .await
        .unwrap();
    answer.error_for_status().unwrap().text().await.unwrap()
}

/// Impatient with connections, so that a broker that comes back is found at once.
fn client_config(brokers: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", brokers)
        .set("group.id", "finder")
        .set("reconnect.backoff.max.ms", "100");
    config
}
