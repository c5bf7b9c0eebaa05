//! A deployment of one test's own, and what the command says about it.

use std::path::PathBuf;
use std::process::Output;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::message::OwnedMessage;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use serde_json::Value;
use tidings_drill::{Deployment, DeploymentOptions, Profile};
use tidings_stack::Stack;
use tidings_tests::binary;
use tokio::process::Command;
use uuid::Uuid;

/// Far beyond what anything here takes: it bounds a broken test, and measures nothing.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const DAY: Duration = Duration::from_secs(86_400);

/// A deployment with three partitions a lane.
pub struct World {
    pub deployment: Deployment,
    folder: PathBuf,
}

/// What the command said.
pub struct Said {
    pub code: Option<i32>,
    pub capacity: Value,
    pub lanes: Vec<Value>,
    pub output: String,
}

impl World {
    pub async fn new() -> Self {
        let folder =
            std::env::temp_dir().join(format!("tidings-capacity-{}", Uuid::new_v4().simple()));
        let mut options = DeploymentOptions::new(binary(), folder.clone());
        options.profile = Profile {
            partitions: 3,
            more: "[dispatcher.retry.interactive]\ndelays = [\"3s\", \"3s\", \"3s\", \"3s\", \"3s\", \"3s\", \"3s\", \"3s\", \
                   \"3s\", \"3s\", \"3s\", \"3s\", \"3s\", \"3s\", \"3s\", \"3s\", \"3s\", \"3s\", \"3s\", \"3s\"]\n"
                .into(),
            ..Profile::drill()
        };
        let stack = Stack::shared().await.unwrap();
        let deployment = Deployment::prepare(stack, options).await.unwrap();
        Self { deployment, folder }
    }

    pub fn topic(&self, lane: &str) -> String {
        format!("{}.telegram.{lane}", self.deployment.place().prefix)
    }

    pub fn client(&self) -> ClientConfig {
        let place = self.deployment.place();
        let mut client = ClientConfig::new();
        client
            .set("bootstrap.servers", &place.brokers)
            .set("group.id", &place.group)
            .set("enable.auto.commit", "false");
        client
    }

    /// Appends records to partition 1 of a lane, as old as `age`.
    pub fn append(&self, lane: &str, records: usize, age: Duration) {
        self.append_record(lane, 1, b"42", &vec![b"any".to_vec(); records], age);
    }

    pub fn append_record(
        &self,
        lane: &str,
        partition: i32,
        key: &[u8],
        values: &[Vec<u8>],
        age: Duration,
    ) {
        let producer: BaseProducer = self.client().create().unwrap();
        let topic = self.topic(lane);
        let written = SystemTime::now() - age;
        let millis = written.duration_since(UNIX_EPOCH).unwrap().as_millis();
        for value in values {
            let record = BaseRecord::to(&topic)
                .partition(partition)
                .key(key)
                .payload(value)
                .timestamp(i64::try_from(millis).unwrap());
            producer.send(record).map_err(|(error, _)| error).unwrap();
        }
        producer.flush(PATIENCE).unwrap();
    }

    /// Commits for the group, as a dispatcher does.
    pub fn commit(&self, lane: &str, offset: i64) {
        let client: BaseConsumer = self.client().create().unwrap();
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(&self.topic(lane), 1, Offset::Offset(offset))
            .unwrap();
        client.commit(&list, CommitMode::Sync).unwrap();
    }

    /// The first record of a lane.
    pub async fn first_record(&self, lane: &str) -> OwnedMessage {
        let mut client = self.client();
        client
            .set("group.id", "somebody-else")
            .set("auto.offset.reset", "earliest");
        let topic = self.topic(lane);
        let read = move || {
            let consumer: BaseConsumer = client.create().unwrap();
            consumer.subscribe(&[&topic]).unwrap();
            let until = Instant::now() + PATIENCE;
            loop {
                if let Some(Ok(record)) = consumer.poll(Duration::from_millis(100)) {
                    return record.detach();
                }
                assert!(Instant::now() < until, "nothing comes into {topic}");
            }
        };
        tokio::task::spawn_blocking(read).await.unwrap()
    }

    /// `tidings capacity --json …`
    pub async fn capacity(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Said {
        let mut command = Command::new(binary());
        command
            .args(["capacity", "--json", "--seconds", "1", "--config"])
            .arg(self.deployment.config_file())
            .args(arguments)
            // An empty rate-limit topic is waited for this long.
            .env("TIDINGS_KAFKA__ADMIN_TIMEOUT", "5s")
            .envs(variables.iter().copied());
        said(&command.output().await.unwrap())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

fn said(output: &Output) -> Said {
    let out = String::from_utf8(output.stdout.clone()).unwrap();
    let mut objects = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    Said {
        code: output.status.code(),
        capacity: objects.next().unwrap_or_default(),
        lanes: objects.collect(),
        output: format!("{out}{}", String::from_utf8_lossy(&output.stderr)),
    }
}

impl Said {
    pub fn lane(&self, topic: &str) -> &Value {
        let mut lanes = self.lanes.iter();
        lanes
            .find(|lane| lane["lane"] == topic)
            .unwrap_or_else(|| panic!("no {topic} in {}", self.output))
    }
}
