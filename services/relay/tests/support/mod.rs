//! One test's world: databases and topics of its own on the shared stack, relays, and what arrived in Kafka.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::Message as _;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::Headers as _;
use rdkafka::{Offset, TopicPartitionList};
use tidings_edge::config::{Config, Secret};
use tidings_edge::{kafka, postgres};
use tidings_relay::{Relay, RelayHealth, RelayOptions, Tuning};
use tidings_stack::Stack;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_postgres::Client;
use uuid::Uuid;

/// The longest anything may take before a test gives up on it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct World {
    pub(crate) stack: &'static Stack,
    pub(crate) config: Config,
    pub(crate) tuning: Tuning,
    pub(crate) client: Client,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// A world whose configuration is changed before its topics are made. There are no safety passes: what the cursor
    /// skips stays skipped.
    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let stack = Stack::shared().await.unwrap();
        let name = format!("relay_{}", Uuid::new_v4().simple());
        let upstream = stack.create_database(&name).await.unwrap();
        let state = stack
            .create_database(&format!("{name}_state"))
            .await
            .unwrap();
        let mut config = Config::defaults().unwrap();
        config.kafka.brokers = stack.addresses().kafka_brokers.clone();
        config.kafka.prefix = name;
        config.kafka.partitions = 3;
        config.upstream.database = Secret::new(upstream);
        config.state.database = Secret::new(state);
        config.registry.url = stack.addresses().registry_url.clone();
        config.relay.streams = vec!["order".into()];
        config.relay.safety_pass_min = Duration::from_secs(86_400);
        change(&mut config);
        // The first world of the process sets the log up.
        let _ = tidings_edge::telemetry::init_logging(&config.log, "test");
        kafka::apply(&config).await.unwrap();
        let (mut state, _) = postgres::connect(&config.state, "test").await.unwrap();
        postgres::migrate(&mut state).await.unwrap();
        let (client, _) = postgres::connect(&config.upstream, "test").await.unwrap();
        postgres::apply_outbox(&client).await.unwrap();
        let tuning = Tuning {
            membership_interval: Duration::from_millis(100),
            ..Tuning::default()
        };
        Self {
            stack,
            config,
            tuning,
            client,
        }
    }

    /// A session of a service.
    pub(crate) async fn service(&self) -> Client {
        postgres::connect(&self.config.upstream, "orders")
            .await
            .unwrap()
            .0
    }

    pub(crate) fn start_relay(&self) -> RunningRelay {
        let options = RelayOptions {
            config: self.config.clone(),
            tuning: self.tuning.clone(),
        };
        let relay = Relay::new(options).unwrap();
        let health = relay.health();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            relay.run(async { drop(stopped.await) }).await.unwrap();
        });
        RunningRelay { health, stop, task }
    }

    pub(crate) fn topic(&self, rest: &str) -> String {
        format!("{}.{rest}", self.config.kafka.prefix)
    }

    pub(crate) async fn count(&self, table: &str) -> i64 {
        self.client
            .query_one(&format!("select count(*) from {table}"), &[])
            .await
            .unwrap()
            .get(0)
    }

    pub(crate) async fn until_drained(&self) {
        until("the outbox is empty", async || {
            self.count("tidings.outbox").await == 0
        })
        .await;
    }

    /// Waits until a message of the lane arrived; fails when its time is over.
    pub(crate) async fn until_arrived(&self, topic: &str, ids: &[Uuid]) -> Vec<Arrived> {
        let topic = self.topic(topic);
        let started_at = Instant::now();
        loop {
            let arrived = self.arrived(&topic).await;
            let seen: BTreeSet<Uuid> = arrived.iter().map(|record| record.id).collect();
            if ids.iter().all(|id| seen.contains(id)) {
                return arrived;
            }
            assert!(
                started_at.elapsed() < PATIENCE,
                "{} of {} arrived in {topic}",
                seen.len(),
                ids.len()
            );
        }
    }

    /// Everything in a topic now, partition by partition.
    pub(crate) async fn arrived(&self, topic: &str) -> Vec<Arrived> {
        let config = self.config.clone();
        let topic = topic.to_owned();
        tokio::task::spawn_blocking(move || read_topic(&config, &topic))
            .await
            .unwrap()
    }
}

pub(crate) struct RunningRelay {
    pub(crate) health: Arc<RelayHealth>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl RunningRelay {
    pub(crate) async fn stop(self) {
        drop(self.stop);
        self.task.await.unwrap();
    }

    /// As kill -9 would leave it: no draining. Its sessions end when the tasks are dropped.
    pub(crate) async fn until_owning(&self, shards: usize) {
        until("the relay owns its shards", async || {
            self.health.owned_shards().len() == shards
        })
        .await;
    }
}

/// A record in Kafka.
#[derive(Debug, Clone)]
pub(crate) struct Arrived {
    pub(crate) id: Uuid,
    pub(crate) key: String,
    pub(crate) partition: i32,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) value: Vec<u8>,
}

fn read_topic(config: &Config, topic: &str) -> Vec<Arrived> {
    let consumer: BaseConsumer = kafka::consumer_config(&config.kafka, "test")
        .create()
        .unwrap();
    let partitions = config.kafka.partitions.cast_signed();
    let partitions = if topic.ends_with("relay.dead-letter") {
        1
    } else {
        partitions
    };
    let mut arrived = Vec::new();
    for partition in 0..partitions {
        let (low, high) = watermarks(&consumer, topic, partition);
        if low == high {
            continue;
        }
        let mut assignment = TopicPartitionList::new();
        assignment
            .add_partition_offset(topic, partition, Offset::Offset(low))
            .unwrap();
        consumer.assign(&assignment).unwrap();
        loop {
            let record = consumer.poll(PATIENCE).expect("a record").unwrap();
            let offset = record.offset();
            arrived.push(arrived_record(&record.detach()));
            if offset + 1 >= high {
                break;
            }
        }
    }
    arrived
}

/// A new topic's partition, or a restarted broker's, has no leader for a moment.
fn watermarks(consumer: &BaseConsumer, topic: &str, partition: i32) -> (i64, i64) {
    let started_at = Instant::now();
    loop {
        match consumer.fetch_watermarks(topic, partition, Duration::from_secs(5)) {
            Ok(watermarks) => return watermarks,
            Err(error) => assert!(started_at.elapsed() < PATIENCE, "{error}"),
        }
    }
}

fn arrived_record(record: &rdkafka::message::OwnedMessage) -> Arrived {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let headers: BTreeMap<String, String> = record
        .headers()
        .unwrap()
        .iter()
        .map(|header| (header.key.to_owned(), text(header.value.unwrap())))
        .collect();
    Arrived {
        id: headers["ce_id"].parse().unwrap(),
        key: text(record.key().unwrap()),
        partition: record.partition(),
        value: record.payload().unwrap().to_vec(),
        headers,
    }
}

/// The first arrivals of each id, in order.
pub(crate) fn firsts(arrived: &[Arrived]) -> Vec<&Arrived> {
    let mut seen = BTreeSet::new();
    arrived
        .iter()
        .filter(|record| seen.insert(record.id))
        .collect()
}

/// The ids of a chat's first arrivals, in order.
pub(crate) fn of_chat(arrived: &[Arrived], chat: &str) -> Vec<Uuid> {
    firsts(arrived)
        .into_iter()
        .filter(|record| record.key == chat)
        .map(|record| record.id)
        .collect()
}

pub(crate) async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let started_at = Instant::now();
    while !condition().await {
        assert!(started_at.elapsed() < PATIENCE, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Publishes a text for a Telegram chat, in the session's current transaction.
pub(crate) async fn notify(client: &Client, chat: &str, text: &str) -> Uuid {
    let sql = "select tidings.publish('notification.requested', 1, json_build_object('text', $2::text), 'order', 'o-1',
                   jsonb_build_object('platform', 'telegram', 'chat_id', $1::text))";
    client.query_one(sql, &[&chat, &text]).await.unwrap().get(0)
}
