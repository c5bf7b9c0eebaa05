//! The registry is away: what is known flows, what is not waits, and nothing is given up.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use tidings_drill::Profile;
use tidings_edge::registry::RegistryClient;
use tidings_envelope::{
    Catalogue, Destination, Envelope, EventType, Limits, Micros, Priority, TypeFolder, wire,
};
use tidings_stack::{Part, Stack, StackOptions};
use uuid::Uuid;

use crate::world::World;

const DECLARATION: &str = "owner = \"parcels\"\npolicy = \"resend\"\nretry = \"standard\"\non_dead = \"continue\"\non_stale = \"send\"\ntext = \"template\"\n";
const DATA: &str = r#"{"type":"record","name":"Data","fields":[{"name":"shelf","type":"string"}]}"#;

#[tokio::test(flavor = "multi_thread")]
async fn known_schemas_flow_and_unknown_ones_wait() {
    // A stack of its own: no other test shall miss the registry.
    let stack = Stack::start(StackOptions::default()).await.unwrap();
    let world = World::with(&stack, Profile::drill()).await;
    let relay = world.relay().await;
    let dispatcher = world.dispatcher(1).await;
    let known = world.say(1, "before").await;
    assert_eq!(world.settled(known).await.0, "delivered");
    let catalogue = catalogue();
    let event = catalogue.get("parcel.found", 1).unwrap();
    let id = register(&world, event).await;

    stack.stop_part(Part::Registry).await.unwrap();
    let unknown = put(&world, event, id, 2);
    for chat in 3..23 {
        let message = world.say(chat, "while it is away").await;
        assert_eq!(world.settled(message).await.0, "delivered");
    }
    // A type that the dispatcher has not met since its start: its id is stored.
    let shipped = "select tidings.publish('order.shipped', 1, '{\"order_id\":\"A\",\"carrier\":\"DHL\",\"shipped_at\":\"2026-01-31T12:00:00Z\"}',
        'order', 'A', '{\"platform\":\"telegram\",\"chat_id\":\"23\"}')";
    let shipped: Uuid = world.upstream.query_one(shipped, &[]).await.unwrap().get(0);
    assert_eq!(world.settled(shipped).await.0, "delivered");
    assert!(world.calls(2).is_empty(), "its schema is not known yet");
    assert_eq!(
        settlements(&world, unknown).await,
        0,
        "it waits, and is no poison"
    );

    stack.start_part(Part::Registry).await.unwrap();
    assert_eq!(world.settled(unknown).await.0, "delivered");
    assert_eq!(world.texts(2), ["Your parcel was found: shelf 7."]);
    drop((relay, dispatcher));
    stack.stop().await.unwrap();
}

/// An event type of another deployment, which this one's dispatcher knows by its schema alone.
fn catalogue() -> Catalogue {
    Catalogue::from_folders(&[TypeFolder {
        name: "parcel.found",
        declaration: DECLARATION,
        template: Some("Your parcel was found: {{ data.shelf }}."),
        older_templates: &[],
        versions: &[(1, DATA)],
    }])
    .unwrap()
}

async fn register(world: &World, event: &EventType) -> u32 {
    let config = world.deployment.config().unwrap();
    let client = RegistryClient::new(&config.registry).unwrap();
    client
        .register(event.full_name(), event.schema_json())
        .await
        .unwrap()
}

fn put(world: &World, event: &EventType, id: u32, chat: i64) -> Uuid {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_micros();
    let now = Micros(i64::try_from(now).unwrap());
    let message = Uuid::new_v4();
    let mut value = Vec::new();
    wire::write_header(id, &mut value);
    let envelope = envelope(event, message, now, chat);
    event
        .encode(
            &envelope,
            r#"{"shelf": "shelf 7"}"#,
            &Limits::default(),
            &mut value,
        )
        .unwrap();
    let place = world.deployment.place();
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", &place.brokers)
        .create()
        .unwrap();
    let (lane, key) = (
        format!("{}.telegram.normal", place.prefix),
        chat.to_string(),
    );
    producer
        .send(BaseRecord::to(&lane).key(&key).payload(&value))
        .unwrap();
    producer.flush(Duration::from_secs(30)).unwrap();
    message
}

fn envelope(event: &EventType, message_id: Uuid, now: Micros, chat: i64) -> Envelope {
    Envelope {
        message_id,
        event_type: event.name().to_owned(),
        event_version: event.version(),
        occurred_at: now,
        recorded_at: now,
        producer: "parcels".to_owned(),
        correlation_id: None,
        causation_id: None,
        aggregate_type: None,
        aggregate_id: None,
        aggregate_sequence: None,
        destination: Some(Destination {
            platform: "telegram".to_owned(),
            account: "main".to_owned(),
            chat_id: chat.to_string(),
            thread_id: None,
        }),
        priority: Priority::Normal,
        expires_at: None,
        claim_check: None,
    }
}

async fn settlements(world: &World, message: Uuid) -> i64 {
    let statement = "select count(*) from tidings_delivery.claims where message_id = $1 and settled_at is not null";
    world
        .state
        .query_one(statement, &[&message])
        .await
        .unwrap()
        .get(0)
}
