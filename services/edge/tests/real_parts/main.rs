//! This crate against a real Postgres, Kafka and registry, which all tests here share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod kafka;
mod postgres;
mod rate_limit;
mod registry;
mod subjects;

use tidings_edge::config::{Config, DatabaseUrl};
use tidings_stack::Stack;

/// A configuration for the shared stack, with a database and a topic prefix of its own.
async fn config(name: &str) -> Config {
    let stack = Stack::shared().await.unwrap();
    let name = format!("edge_{name}_{}", std::process::id());
    let mut config = Config::defaults().unwrap();
    config.kafka.brokers = stack.addresses().kafka_brokers.clone();
    config.kafka.prefix = name.replace('_', "-");
    config.kafka.partitions = 3;
    config.registry.url = stack.addresses().registry_url.clone();
    let url = DatabaseUrl::new(stack.create_database(&name).await.unwrap());
    config.state.database = url.clone();
    config.upstream.database = url;
    config
}

/// A session with the test's database, migrated.
async fn migrated(config: &Config) -> tidings_edge::postgres::Client {
    let opened = tidings_edge::postgres::connect(&config.state, "edge-test").await;
    let (mut client, _session) = opened.unwrap();
    tidings_edge::postgres::migrate(&mut client).await.unwrap();
    client
}
