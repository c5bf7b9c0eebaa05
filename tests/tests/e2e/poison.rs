//! Records that another client puts into a lane: each a dead letter, bytes and headers untouched, nothing else delayed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Header, Headers, OwnedHeaders, OwnedMessage};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{ClientConfig, Message as _, Offset, TopicPartitionList};
use tidings_dispatcher::{Dispatcher, Platform, Platforms, Telegram};
use tidings_edge::telemetry::Metrics;
use tidings_envelope::{Catalogue, Destination, Envelope, Limits, Message, Micros, Priority, wire};
use tidings_platforms::{Answer, Classified, HttpRequest, Secret};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::world::{PATIENCE, World};

/// Telegram, but for messages on which its code panics.
struct Panicky;

impl Platform for Panicky {
    fn name(&self) -> &'static str {
        Telegram.name()
    }

    fn default_base_url(&self) -> &'static str {
        Telegram.default_base_url()
    }

    fn prepare(
        &self,
        base_url: &str,
        token: &Secret,
        message: &Message,
        target: Option<&str>,
    ) -> Result<HttpRequest, Classified> {
        assert!(
            !message.data["text"].as_str().unwrap().contains("PANIC"),
            "as asked"
        );
        Telegram.prepare(base_url, token, message, target)
    }

    fn classify(&self, answer: &Answer<'_>, now_micros: i64) -> Classified {
        Telegram.classify(answer, now_micros)
    }
}

/// What is put into the lane: name, key, value, and the word that the reason must hold.
type Foreign = (&'static str, Option<Vec<u8>>, Option<Vec<u8>>, &'static str);

#[tokio::test(flavor = "multi_thread")]
async fn poison_is_isolated_and_everything_else_flows() {
    let world = World::new().await;
    let _relay = world.relay().await;
    let (stop, stopped) = oneshot::channel::<()>();
    let (started, running) = oneshot::channel();
    let platforms: Platforms = HashMap::from([(
        "telegram".to_owned(),
        Arc::new(Panicky) as Arc<dyn Platform>,
    )]);
    let dispatcher = Dispatcher::new(
        world.deployment.config().unwrap(),
        Metrics::local().unwrap(),
    )
    .with_platforms(platforms);
    let worker = tokio::spawn(dispatcher.run(
        async {
            let _ = stopped.await;
        },
        started,
    ));
    running.await.unwrap();
    let before = world.say(1, "before").await;
    assert_eq!(world.settled(before).await.0, "delivered");

    let schema = schema_id(&world);
    let poison = poison(schema);
    for (name, key, value, _) in &poison {
        put(&world, name, key.as_deref(), value.as_deref());
    }
    let mut after = Vec::new();
    for chat in 1..=20 {
        after.push(world.say(chat, &format!("after {chat}")).await);
    }
    for message in after {
        assert_eq!(world.settled(message).await.0, "delivered");
    }
    let without_key = Uuid::new_v4();
    put(
        &world,
        "null key",
        None,
        Some(&envelope(schema, without_key, 77, "no key")),
    );
    assert_eq!(world.settled(without_key).await.0, "delivered");
    assert_eq!(world.texts(77), ["no key"], "a null key is accepted");

    let letters = dead_letters(&world, poison.len());
    for (name, key, value, word) in &poison {
        let letter = letters
            .iter()
            .find(|l| header(l, "name") == [Some(name.as_bytes().to_vec())]);
        let letter = letter.unwrap_or_else(|| panic!("no dead letter of {name}"));
        assert_eq!(letter.key(), key.as_deref(), "{name}");
        assert_eq!(letter.payload(), value.as_deref(), "{name}");
        assert_eq!(
            header(letter, "repeated"),
            [Some(b"\xff\x00".to_vec()), None],
            "{name}"
        );
        let reason =
            String::from_utf8(header(letter, "tidings_dlq_reason")[0].clone().unwrap()).unwrap();
        assert!(reason.contains(word), "{name}: {reason}");
        let topic = format!("{}.telegram.normal", world.deployment.place().prefix);
        assert_eq!(
            header(letter, "tidings_dlq_topic"),
            [Some(topic.into_bytes())]
        );
        for own in [
            "partition",
            "offset",
            "timestamp",
            "group",
            "attempts",
            "first_failed_at",
            "last_failed_at",
            "category",
        ] {
            assert_eq!(
                header(letter, &format!("tidings_dlq_{own}")).len(),
                1,
                "{name}: {own}"
            );
        }
    }
    stop.send(()).unwrap();
    worker.await.unwrap().unwrap();
}

fn poison(schema: u32) -> Vec<Foreign> {
    let key = |text: &str| Some(text.as_bytes().to_vec());
    let mut unknown_schema = Vec::new();
    wire::write_header(999_999, &mut unknown_schema);
    unknown_schema.extend_from_slice(b"anything");
    let mut cut = envelope(schema, Uuid::new_v4(), 5, "cut");
    cut.truncate(cut.len() - 3);
    vec![
        (
            "random bytes",
            key("1"),
            Some(vec![0x7f, 0x13, 0xfe, 0x01, 0x99, 0x42, 0x00]),
            "not_framed",
        ),
        ("three bytes", key("2"), Some(vec![0, 0, 1]), "not_framed"),
        ("empty", key("2"), Some(Vec::new()), "not_framed"),
        (
            "unknown schema id",
            key("3"),
            Some(unknown_schema),
            "999999",
        ),
        (
            "foreign JSON",
            key("4"),
            Some(br#"{"order": 1}"#.to_vec()),
            "not_framed",
        ),
        ("null value", key("5"), None, "null_value"),
        ("cut short", key("\u{fffd}"), Some(cut), "invalid_bytes"),
        (
            "key that is not UTF-8",
            Some(vec![0xff, 0xfe]),
            Some(vec![1, 2, 3]),
            "not_framed",
        ),
        (
            "empty key",
            Some(Vec::new()),
            Some(vec![1, 2, 3]),
            "not_framed",
        ),
        (
            "handler panics",
            key("6"),
            Some(envelope(schema, Uuid::new_v4(), 6, "PANIC")),
            "panicked",
        ),
    ]
}

/// A message as the relay would write it, under the schema id that the registry gave it.
fn envelope(schema: u32, message_id: Uuid, chat: i64, text: &str) -> Vec<u8> {
    let catalogue = Catalogue::builtin().unwrap();
    let event = catalogue.get("notification.requested", 1).unwrap();
    let now = Micros(1_780_000_000_000_000);
    let envelope = Envelope {
        message_id,
        event_type: event.name().into(),
        event_version: event.version(),
        occurred_at: now,
        recorded_at: now,
        producer: "another client".into(),
        correlation_id: None,
        causation_id: None,
        aggregate_type: None,
        aggregate_id: None,
        aggregate_sequence: None,
        destination: Some(Destination {
            platform: "telegram".into(),
            account: "main".into(),
            chat_id: chat.to_string(),
            thread_id: None,
        }),
        priority: Priority::Normal,
        expires_at: None,
        claim_check: None,
    };
    let mut value = Vec::new();
    wire::write_header(schema, &mut value);
    let data = serde_json::json!({"text": text}).to_string();
    event
        .encode(&envelope, &data, &Limits::default(), &mut value)
        .unwrap();
    value
}

/// The id in the first record of the lane, which the relay wrote.
fn schema_id(world: &World) -> u32 {
    let lane = format!("{}.telegram.normal", world.deployment.place().prefix);
    let record = read(world, &lane, 1).remove(0);
    wire::split(record.payload().unwrap()).unwrap().0
}

fn put(world: &World, name: &str, key: Option<&[u8]>, value: Option<&[u8]>) {
    let place = world.deployment.place();
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", &place.brokers)
        .create()
        .unwrap();
    let lane = format!("{}.telegram.normal", place.prefix);
    let headers = OwnedHeaders::new()
        .insert(Header {
            key: "name",
            value: Some(name.as_bytes()),
        })
        .insert(Header {
            key: "repeated",
            value: Some(&b"\xff\x00"[..]),
        })
        .insert(Header {
            key: "repeated",
            value: None::<&[u8]>,
        });
    let mut record: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(&lane).headers(headers);
    record.key = key;
    record.payload = value;
    producer.send(record).map_err(|(error, _)| error).unwrap();
    producer.flush(Duration::from_secs(30)).unwrap();
}

pub fn dead_letters(world: &World, count: usize) -> Vec<OwnedMessage> {
    let topic = format!("{}.telegram.dead-letter", world.deployment.place().prefix);
    read(world, &topic, count)
}

/// Reads a topic from its start until `count` records have come.
fn read(world: &World, topic: &str, count: usize) -> Vec<OwnedMessage> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", &world.deployment.place().brokers)
        .set("group.id", "reader")
        .set("enable.auto.commit", "false")
        .create()
        .unwrap();
    let metadata = consumer
        .fetch_metadata(Some(topic), Duration::from_secs(10))
        .unwrap();
    let mut list = TopicPartitionList::new();
    for partition in metadata.topics()[0].partitions() {
        list.add_partition_offset(topic, partition.id(), Offset::Beginning)
            .unwrap();
    }
    consumer.assign(&list).unwrap();
    let until = Instant::now() + PATIENCE;
    let mut records = Vec::new();
    while records.len() < count {
        assert!(
            Instant::now() < until,
            "{} of {count} records in {topic}",
            records.len()
        );
        if let Some(record) = consumer.poll(Duration::from_millis(100)) {
            records.push(record.unwrap().detach());
        }
    }
    records
}

pub fn header(record: &OwnedMessage, key: &str) -> Vec<Option<Vec<u8>>> {
    let headers = record
        .headers()
        .into_iter()
        .flat_map(|headers| headers.iter().collect::<Vec<_>>());
    headers
        .filter(|header| header.key == key)
        .map(|header| header.value.map(<[u8]>::to_vec))
        .collect()
}
