//! A run on real parts, with the judge's fake of Tidings between them: the tests decide what it gets wrong.

use std::path::PathBuf;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};
use tidings_judge::evidence::{Faults, Scope};
use tidings_judge::gather::{Inputs, KafkaInputs, SimulatorLog, Wait};
use tidings_judge::{Report, decide, gather};
use tidings_load::LoadOptions;
use tidings_stack::Stack;
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

const OUTBOX: &str = include_str!("../../../../schemas/outbox/001_outbox.sql");
const CLAIMS: &str = include_str!("../../../edge/migrations/0001_claims.sql");
const WORKER: Uuid = Uuid::from_u128(0xA);

/// Databases, topics and a log of one test's own.
pub(crate) struct World {
    pub(crate) upstream: Client,
    pub(crate) state: Client,
    pub(crate) inputs: Inputs,
    pub(crate) prefix: String,
    pub(crate) brokers: String,
    log: PathBuf,
}

impl World {
    /// 30 orders, some with invalid events, committed and delivered without a fault.
    pub(crate) async fn delivered() -> Self {
        let stack = Stack::shared().await.unwrap();
        let name = format!("judge_{}", Uuid::new_v4().simple());
        let upstream_url = stack.create_database(&name).await.unwrap();
        let state_url = stack.create_database(&format!("{name}_s")).await.unwrap();
        let (upstream, state) = (connect(&upstream_url).await, connect(&state_url).await);
        upstream.batch_execute(OUTBOX).await.unwrap();
        state
            .batch_execute("create schema tidings_delivery")
            .await
            .unwrap();
        state.batch_execute(CLAIMS).await.unwrap();
        let options = LoadOptions {
            orders: 30,
            chats: 5,
            bad_share: 0.2,
            seed: 3,
            ..LoadOptions::new(&upstream_url)
        };
        tidings_load::run(options, |_| {}).await.unwrap();
        let log = std::env::temp_dir().join(format!("{name}.ndjson"));
        let brokers = stack.addresses().kafka_brokers.clone();
        let mut world = Self {
            inputs: inputs(upstream_url, state_url, &log),
            upstream,
            state,
            prefix: name.replace('_', "-"),
            brokers,
            log,
        };
        world.reject_invalid().await;
        world.deliver().await;
        world.inputs.kafka = Some(world.kafka_inputs());
        world
    }

    pub(crate) async fn judge(&self) -> Report {
        decide(&gather(&self.inputs).await.unwrap())
    }

    /// A delivered message that follows no other: what is broken about it breaks nothing else.
    pub(crate) async fn some_message(&self) -> Uuid {
        let sql = "select message_id from load.ledger where expect = 'posted' order by message_id limit 1";
        self.upstream.query_one(sql, &[]).await.unwrap().get(0)
    }

    /// Takes back all that is known of a message after its commit.
    pub(crate) async fn forget(&self, message_id: Uuid) {
        let sql = "delete from tidings_delivery.claims where message_id = $1";
        assert_eq!(self.state.execute(sql, &[&message_id]).await.unwrap(), 1);
        let log = std::fs::read_to_string(&self.log).unwrap();
        let id = message_id.to_string();
        let kept: Vec<&str> = log.lines().filter(|line| !line.contains(&id)).collect();
        std::fs::write(&self.log, kept.join("\n")).unwrap();
    }

    /// Settles a message otherwise than by delivery.
    pub(crate) async fn settle(&self, message_id: Uuid, state: &str) {
        let sql = "update tidings_delivery.claims set state = $2, sent_owner = null where message_id = $1";
        self.state
            .execute(sql, &[&message_id, &state])
            .await
            .unwrap();
    }

    /// Puts a record of a message into `<prefix>.telegram.<kind>`, made for it.
    pub(crate) async fn produce(&self, kind: &str, message_id: Uuid) {
        let topic = format!("{}.telegram.{kind}", self.prefix);
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.brokers);
        let admin: AdminClient<DefaultClientContext> = config.create().unwrap();
        let new = NewTopic::new(&topic, 3, TopicReplication::Fixed(1));
        let made = admin.create_topics([&new], &AdminOptions::new()).await;
        made.unwrap().remove(0).unwrap();
        let producer: FutureProducer = config.create().unwrap();
        let id = message_id.to_string();
        let header = Header {
            key: "ce_id",
            value: Some(&id),
        };
        let headers = OwnedHeaders::new().insert(header);
        for headers in [Some(headers), None] {
            let mut record = FutureRecord::to(&topic).key("5").payload("x");
            record.headers = headers;
            producer
                .send(record, Duration::from_secs(30))
                .await
                .unwrap();
        }
    }

    fn kafka_inputs(&self) -> KafkaInputs {
        KafkaInputs {
            brokers: self.brokers.clone(),
            prefix: self.prefix.clone(),
            group: format!("{}-group", self.prefix),
            platforms: vec!["telegram".to_owned()],
        }
    }

    async fn reject_invalid(&self) {
        let sql = "
            with gone as (
                delete from tidings.outbox using load.ledger l
                where outbox.message_id = l.message_id and l.expect = 'rejected' returning outbox.*
            )
            insert into tidings.outbox_rejected
                (id, message_id, event_type, event_version, data, data_bytes, aggregate_type, aggregate_id,
                priority, occurred_at, recorded_at, producer, shard_hash, code, reason)
            select id, message_id, event_type, event_version, data, data_bytes, aggregate_type, aggregate_id,
                priority, occurred_at, recorded_at, producer, shard_hash, 'test', 'invalid'
            from gone";
        self.upstream.execute(sql, &[]).await.unwrap();
    }

    async fn deliver(&self) {
        let sql = "
            delete from tidings.outbox using load.ledger l
            where outbox.message_id = l.message_id
            returning l.message_id, outbox.chat_id, l.marker";
        let mut rows = self.upstream.query(sql, &[]).await.unwrap();
        // Transactions that overlap have no order: that of their commits is as good as any.
        let order = self.order_of_commits().await;
        rows.sort_by_key(|row| order.iter().position(|id| *id == row.get::<_, Uuid>(0)));
        let mut log = String::new();
        for (seq, row) in (1..).zip(&rows) {
            let (id, chat): (Uuid, &str) = (row.get(0), row.get(1));
            let marker: &str = row.get(2);
            log.push_str(&log_line(seq, id, chat, marker));
            self.claim(id).await;
        }
        std::fs::write(&self.log, log).unwrap();
    }

    async fn order_of_commits(&self) -> Vec<Uuid> {
        let sql = "
            select message_id from load.ledger join load.commits using (run, tx)
            order by committed_at, ordinal";
        let rows = self.upstream.query(sql, &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }

    async fn claim(&self, id: Uuid) {
        let sql = "
            insert into tidings_delivery.claims (consumer_name, recorded_day, message_id, state, fence, owner,
                lease_until, settled_at, sent_owner, sent_fence, sent_attempt)
            values ('group', current_date, $1, 'delivered', 1, $2, now(), now(), $2, 1, 1)";
        let worker = WORKER.to_string();
        self.state.execute(sql, &[&id, &worker]).await.unwrap();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.log));
    }
}

/// A line of the simulator's log.
pub(crate) fn log_line(seq: u64, id: Uuid, chat: &str, marker: &str) -> String {
    let line = serde_json::json!({
        "seq": seq, "received_at_micros": seq, "account": "main", "chat_id": chat, "thread_id": null,
        "text": format!("Order {marker}"), "parse_mode": null, "attempt": format!("{id}/{WORKER}/1/1"),
        "accepted": true, "message_id": seq, "answer": 200,
    });
    format!("{line}\n")
}

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn inputs(upstream_url: String, state_url: String, log: &std::path::Path) -> Inputs {
    Inputs {
        upstream_url,
        state_url,
        simulator: SimulatorLog::File(log.to_owned()),
        kafka: None,
        scope: Scope::EveryRun,
        faults: Faults::default(),
        require_delivery: true,
        wait: Some(Wait {
            quiet: Duration::from_secs(1),
            longest: Duration::from_secs(60),
        }),
    }
}
