//! `tidings capacity` and what a dispatcher tells of its lanes, on real parts (requirement B26; faults, row 44).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use std::process::Output;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::message::{Message as _, OwnedMessage};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use serde_json::{Value, json};
use tidings_drill::{Deployment, DeploymentOptions, Profile, Role, RoleKind};
use tidings_stack::Stack;
use tidings_tests::{binary, connect};
use tokio::process::Command;
use uuid::Uuid;

/// Far beyond what anything here takes: it bounds a broken test, and measures nothing.
const PATIENCE: Duration = Duration::from_secs(60);

const DAY: Duration = Duration::from_secs(86_400);

/// A deployment with three partitions a lane.
struct World {
    deployment: Deployment,
    folder: PathBuf,
}

/// What the command said.
struct Said {
    code: Option<i32>,
    capacity: Value,
    lanes: Vec<Value>,
    output: String,
}

impl World {
    async fn new() -> Self {
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

    fn topic(&self, lane: &str) -> String {
        format!("{}.telegram.{lane}", self.deployment.place().prefix)
    }

    fn client(&self) -> ClientConfig {
        let place = self.deployment.place();
        let mut client = ClientConfig::new();
        client
            .set("bootstrap.servers", &place.brokers)
            .set("group.id", &place.group)
            .set("enable.auto.commit", "false");
        client
    }

    /// Appends records to partition 1 of a lane, as old as `age`.
    fn append(&self, lane: &str, records: usize, age: Duration) {
        self.append_record(lane, 1, b"42", &vec![b"any".to_vec(); records], age);
    }

    fn append_record(
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
    fn commit(&self, lane: &str, offset: i64) {
        let client: BaseConsumer = self.client().create().unwrap();
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(&self.topic(lane), 1, Offset::Offset(offset))
            .unwrap();
        client.commit(&list, CommitMode::Sync).unwrap();
    }

    /// The first record of a lane.
    async fn first_record(&self, lane: &str) -> OwnedMessage {
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
    async fn capacity(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Said {
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
    fn lane(&self, topic: &str) -> &Value {
        let mut lanes = self.lanes.iter();
        lanes
            .find(|lane| lane["lane"] == topic)
            .unwrap_or_else(|| panic!("no {topic} in {}", self.output))
    }
}

async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !condition().await {
        assert!(Instant::now() < until, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The values of a metric whose labels contain `labels`.
async fn metric(role: &Role, name: &str, labels: &str) -> Vec<f64> {
    let text = role.metrics().await.unwrap_or_default();
    let lines = text.lines().filter(|line| {
        let rest = line.strip_prefix(name).unwrap_or("x");
        (rest.starts_with('{') || rest.starts_with(' ')) && line.contains(labels)
    });
    lines
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn b26_a_lane_with_lag_is_told_with_the_number_and_its_caps() {
    let world = World::new().await;
    world.append("normal", 40, Duration::ZERO);
    world.commit("normal", 10);
    let load = [
        "--arrival-per-second",
        "1000",
        "--processing-seconds",
        "0.5",
    ];
    let bounds = [
        ("TIDINGS_DISPATCHER__MAX_IN_FLIGHT_CALLS", "10"),
        ("TIDINGS_DISPATCHER__MAX_IN_FLIGHT_CALLS_PER_ACCOUNT", "10"),
    ];
    let said = world.capacity(&load, &bounds).await;
    assert_eq!(said.code, Some(0), "{}", said.output);

    let lane = said.lane(&world.topic("normal"));
    assert_eq!(lane["lag"], 30, "{lane}");
    assert_eq!(lane["retention_seconds"], 7.0 * 86_400.0);
    assert_eq!(lane["alarm"], false);
    let partition = &lane["partitions"][1];
    let place = (
        &partition["committed"],
        &partition["end"],
        &partition["lag"],
    );
    assert_eq!(place, (&json!(10), &json!(40), &json!(30)));
    assert!(
        partition["oldest_age_seconds"].as_f64().unwrap() < 3_600.0,
        "{partition}"
    );
    assert_eq!(said.lane(&world.topic("high"))["lag"], 0);

    // 10 / 0.5 * 0.7 = 14 messages a second and consumer.
    let capacity = &said.capacity;
    assert_eq!(capacity["uncapped"], 72, "{capacity}");
    assert_eq!(capacity["required_consumers"], 9, "{capacity}");
    assert_eq!(capacity["capped_by"], "partitions");
    assert_eq!(capacity["inputs"]["concurrency_per_consumer"]["value"], 10);
    let caps = &capacity["caps"];
    assert_eq!(
        caps["quota"]["consumers"], 72,
        "1000 a second are what the account has: {caps}"
    );
    let source = caps["quota"]["accounts"][0]["source"].as_str().unwrap();
    assert!(source.contains("does not know the account yet"), "{source}");
    assert_eq!(
        caps["connections"]["consumers"],
        usable_connections(&world).await / 5
    );
}

/// By the server itself.
async fn usable_connections(world: &World) -> i64 {
    let state = connect(&world.deployment.place().state_url).await;
    let statement = "select current_setting('max_connections')::int8
        - (select sum(setting::int8)::int8 from pg_settings where name in ('superuser_reserved_connections', 'reserved_connections'))";
    state.query_one(statement, &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn b26_arrival_is_measured_and_connections_cap() {
    let world = World::new().await;
    let arriving = async {
        loop {
            tokio::task::block_in_place(|| world.append("high", 50, Duration::ZERO));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let connections = usable_connections(&world).await - 1;
    let connections = connections.to_string();
    let variables = [(
        "TIDINGS_DISPATCHER__DATABASE_CONNECTIONS",
        connections.as_str(),
    )];
    let load = ["--processing-seconds", "1000"];
    let said = tokio::select! {
        said = world.capacity(&load, &variables) => said,
        () = arriving => unreachable!("it never ends"),
    };
    assert_eq!(said.code, Some(0), "{}", said.output);
    let arrival = &said.capacity["inputs"]["arrival_per_second"];
    assert!(arrival["value"].as_f64().unwrap() > 0.0, "{arrival}");
    assert!(
        arrival["source"].as_str().unwrap().starts_with("measured"),
        "{arrival}"
    );
    assert_eq!(said.capacity["capped_by"], "connections", "{}", said.output);
    assert_eq!(said.capacity["required_consumers"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn f44_a_lane_whose_oldest_unread_record_is_past_half_of_its_retention_fails_by_name() {
    let world = World::new().await;
    world.append("normal", 1, 3 * DAY);
    world.append("high", 2, 4 * DAY);
    let said = world.capacity(&[], &[]).await;
    assert_eq!(said.code, Some(1), "{}", said.output);
    let high = said.lane(&world.topic("high"));
    assert_eq!(
        (&high["alarm"], &high["lag"]),
        (&json!(true), &json!(2)),
        "{high}"
    );
    let part = high["lag_of_retention"].as_f64().unwrap();
    assert!((4.0 / 7.0..0.6).contains(&part), "{high}");
    let remedy = high["remedy"].as_str().unwrap();
    assert!(remedy.contains(&world.topic("high")), "{remedy}");
    // Three of seven days are not half.
    assert_eq!(said.lane(&world.topic("normal"))["alarm"], false);

    // Once the group is done with it, it does not count.
    world.commit("high", 2);
    assert_eq!(world.capacity(&[], &[]).await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn f44_records_that_were_deleted_unread_fail_by_number() {
    let world = World::new().await;
    world.append("replay", 10, Duration::ZERO);
    world.commit("replay", 2);
    // As retention does it, only now.
    let admin: AdminClient<DefaultClientContext> = world.client().create().unwrap();
    let mut list = TopicPartitionList::new();
    let topic = world.topic("replay");
    list.add_partition_offset(&topic, 1, Offset::Offset(5))
        .unwrap();
    admin
        .delete_records(&list, &AdminOptions::new())
        .await
        .unwrap();
    let said = world.capacity(&[], &[]).await;
    assert_eq!(said.code, Some(1), "{}", said.output);
    let lane = said.lane(&topic);
    assert_eq!(
        (&lane["deleted_unread"], &lane["lag"], &lane["alarm"]),
        (&json!(3), &json!(5), &json!(true)),
        "{lane}"
    );
    assert_eq!(said.lane(&world.topic("normal"))["alarm"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn f44_a_dispatcher_alarms_while_an_old_record_is_unread_and_says_when_it_is_over() {
    let world = World::new().await;
    let simulator = world.deployment.simulator();
    let failing = json!({"rules": [{"match": {"chat_id": "7001"}, "action": {"answer": {"server_error": {"status": 503}}}}]});
    simulator
        .set_script(serde_json::from_value(failing).unwrap())
        .unwrap();
    let _relay = world.deployment.run(RoleKind::Relay, 1).await.unwrap();
    publish(&world, "7001").await;
    // The same record once more, behind the first and six days old: it waits as long as that fails.
    let record = world.first_record("normal").await;
    let value = vec![record.payload().unwrap().to_vec()];
    let key = record.key().unwrap();
    world.append_record("normal", record.partition(), key, &value, 6 * DAY);

    let role = world.deployment.role(RoleKind::Dispatcher, 1);
    let mut role = role.with_environment(vec![(
        "TIDINGS_DISPATCHER__STATISTICS_INTERVAL",
        "200ms".into(),
    )]);
    role.start().await.unwrap();
    role.ready(PATIENCE).await.unwrap();
    let log = || std::fs::read_to_string(role.log()).unwrap_or_default();
    let part = async || metric(&role, "tidings_lane_lag_of_retention", "lane=\"normal\"").await;
    let lag = async || metric(&role, "kafka_consumergroup_lag", &world.topic("normal")).await;
    until("six of seven days are told", async || {
        part().await.iter().any(|part| (0.85..0.87).contains(part))
    })
    .await;
    assert_eq!(lag().await.iter().sum::<f64>(), 2.0);
    assert!(
        log().contains("waited for half of its retention or more"),
        "{}",
        log()
    );

    simulator
        .set_script(serde_json::from_value(json!({"rules": []})).unwrap())
        .unwrap();
    until("nothing unread is told", async || {
        part().await == [0.0] && lag().await.iter().sum::<f64>() == 0.0
    })
    .await;
    assert!(
        log().contains("well within its retention again"),
        "{}",
        log()
    );
    until("the number is told", async || {
        metric(&role, "tidings_required_consumers", "").await == [1.0]
    })
    .await;

    let admin = role.admin().unwrap();
    let said = world.capacity(&["--dispatcher", &admin], &[]).await;
    assert_eq!(said.code, Some(0), "{}", said.output);
    let processing = said.capacity["inputs"]["processing_seconds"]["source"].as_str();
    assert!(
        processing.unwrap().starts_with("measured"),
        "{}",
        said.output
    );
    let account = &said.capacity["caps"]["quota"]["accounts"][0];
    assert_eq!(account["per_second"], 1_000.0, "{account}");
    assert_eq!(account["source"], "rate-limit topic: the limits in force");
}

async fn publish(world: &World, chat: &str) {
    let upstream = connect(&world.deployment.place().upstream_url).await;
    let statement = "select tidings.publish('notification.requested', 1, '{\"text\": \"hello\"}', 'greeting', $1::text,
        jsonb_build_object('platform', 'telegram', 'chat_id', $1::text))";
    upstream.query_one(statement, &[&chat]).await.unwrap();
}
