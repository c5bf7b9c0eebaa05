//! The statements on a real Postgres.

use std::time::Duration;

use rdkafka::Timestamp;
use rdkafka::message::{Header, Headers as _, OwnedHeaders};
use tidings_delivery::{ClaimOutcome, Class, Moment, Settlement};
use tidings_edge::config::{Config, DatabaseUrl};
use tidings_edge::postgres::{self, Client};
use tidings_edge::schemas;
use tidings_stack::Stack;
use uuid::Uuid;

use super::*;
use crate::claims::{Ask, Claim, Identity, Settle, Store};
use crate::consumer::{LaneTopic, Lanes};
use crate::decode::Decoder;
use crate::state::Database;

const TOPIC: &str = "t.telegram.normal";
const CHAT: &str = "telegram:main:7";
const LOAD_BYTES: usize = 1_000;
const PARTITION: PartitionId = PartitionId {
    lane: 0,
    partition: 3,
};

struct World {
    claims: Store,
    store: DeferralStore,
    /// A session of the test's own.
    client: Client,
    epoch: i64,
}

impl World {
    async fn new() -> Self {
        let stack = Stack::shared().await.unwrap();
        let name = format!("deferral_{}", Uuid::new_v4().simple());
        let mut config = Config::defaults().unwrap();
        config.state.database = DatabaseUrl::new(stack.create_database(&name).await.unwrap());
        let (mut client, _session) = postgres::connect(&config.state, "test").await.unwrap();
        postgres::migrate(&mut client).await.unwrap();
        let pool = postgres::pool(&config.state, "test", 4).unwrap();
        let database = Database::new(pool, Duration::from_secs(20));
        let owner = Uuid::new_v4();
        let identity = Identity {
            consumer: "group".into(),
            owner,
            lease: Duration::from_secs(60),
        };
        let catalogue = Arc::new(schemas::catalogue(&config.schemas).unwrap());
        let sizes = tidings_envelope::Limits {
            payload_bytes: 262_144,
        };
        let lanes = Lanes::new(vec![LaneTopic {
            topic: TOPIC.into(),
            platform: "telegram".into(),
            lane: "normal",
            class: Class::Normal,
        }]);
        let mut world = Self {
            claims: Store::new(database.clone(), identity),
            store: DeferralStore::new(
                database,
                ("group".into(), owner),
                Arc::new(Decoder::new(catalogue, sizes)),
                Arc::new(lanes),
                LOAD_BYTES,
            ),
            client,
            epoch: 0,
        };
        world.bump().await;
        world
    }

    /// Becomes the partition's owner anew.
    async fn bump(&mut self) {
        let bumped = self.claims.bump_epochs(&[(TOPIC.into(), 3)]).await.unwrap();
        self.epoch = *bumped.values().next().unwrap();
    }

    fn of(&self) -> Owned {
        Owned {
            partition: PARTITION,
            topic: TOPIC.into(),
            epoch: self.epoch,
        }
    }

    fn wish(&self, offset: i64, key: &Key) -> Defer {
        Defer {
            slot: SlotId(1),
            of: self.of(),
            chat: CHAT.into(),
            due: Due::In(Duration::from_secs(60)),
            moves_due: false,
            claim: None,
            reason: "why".into(),
            key: key.clone(),
            event_type: "notification.requested".into(),
            record: record(offset, 100),
        }
    }

    async fn defer(&self, offset: i64, key: &Key) -> WrittenBehind {
        self.defer_as(self.wish(offset, key)).await
    }

    async fn defer_as(&self, wish: Defer) -> WrittenBehind {
        self.store.defer(&[wish]).await.unwrap()[0]
    }

    async fn undefer(&self, offset: i64) -> Answer {
        let ask = Undefer {
            slot: SlotId(1),
            of: self.of(),
            offset,
        };
        self.store.undefer(&[ask]).await.unwrap()[0]
    }

    async fn close(&self) -> CloseAnswer {
        let ask = Close {
            of: self.of(),
            chat: CHAT.into(),
        };
        self.store.close(&[ask]).await.unwrap()[0]
    }

    /// The offsets between two bounds, and whether there are more.
    async fn load(&self, after: Option<i64>, below: i64, limit: usize) -> (Vec<i64>, bool) {
        let (intakes, more) = self.intakes(after, below, limit).await.unwrap();
        (intakes.iter().map(|i| i.record.offset()).collect(), more)
    }

    async fn intakes(
        &self,
        after: Option<i64>,
        below: i64,
        limit: usize,
    ) -> Option<(Vec<Intake>, bool)> {
        let ask = Load {
            of: self.of(),
            chat: CHAT.into(),
            after,
            below,
            limit,
        };
        match self.store.load(&[ask]).await.unwrap().remove(0) {
            Loaded::Records { intakes, more } => Some((intakes, more)),
            Loaded::StaleEpoch | Loaded::Failed => None,
        }
    }

    async fn markers(&self) -> Vec<DeferredChat> {
        let mut markers = self.store.markers(&[(TOPIC.into(), 3)]).await.unwrap();
        markers.remove(&(TOPIC.into(), 3)).unwrap_or_default()
    }

    async fn claim(&self, key: &Key) -> ClaimOutcome {
        let claim = Claim {
            asked_at: Moment::default(),
            topic: TOPIC.into(),
            partition: 3,
            offset: 1,
            epoch: self.epoch,
            attempts: 0,
            first_failed_at_micros: None,
            renew: None,
        };
        self.claims.claim(&[ask(key, claim)]).await.unwrap()[0].clone()
    }

    async fn fence(&self, key: &Key) -> i64 {
        let ClaimOutcome::Granted(grant) = self.claim(key).await else {
            panic!("nobody else claims");
        };
        grant.fence
    }
}

fn ask<T>(key: &Key, what: T) -> Ask<T> {
    Ask {
        slot: SlotId(1),
        key: key.clone(),
        what,
    }
}

fn key() -> Key {
    Key {
        recorded_day: 20_000,
        message_id: Uuid::new_v4(),
        resend_nonce: "".into(),
    }
}

fn record(offset: i64, bytes: usize) -> Arc<OwnedMessage> {
    let headers = OwnedHeaders::new()
        .insert(Header {
            key: "twice",
            value: Some([0, 255].as_slice()),
        })
        .insert(Header::<'_, &[u8]> {
            key: "twice",
            value: None,
        });
    Arc::new(OwnedMessage::new(
        Some(vec![7; bytes]),
        Some(b"7".to_vec()),
        TOPIC.into(),
        Timestamp::CreateTime(1_234),
        3,
        offset,
        Some(headers),
    ))
}

const WRITTEN: WrittenBehind = WrittenBehind::Answered(Answer::Done);

#[tokio::test(flavor = "multi_thread")]
async fn messages_come_back_in_order_byte_for_byte_and_within_the_bounds() {
    let world = World::new().await;
    for offset in [5, 1, 9, 3] {
        assert_eq!(world.defer(offset, &key()).await, WRITTEN);
    }
    assert_eq!(world.load(None, 100, 10).await, (vec![1, 3, 5, 9], false));
    assert_eq!(world.load(None, 100, 3).await, (vec![1, 3, 5], true));
    assert_eq!(world.load(Some(1), 9, 2).await, (vec![3, 5], false));
    assert_eq!(world.load(Some(9), 100, 2).await, (vec![], false));
    let (intakes, _) = world.intakes(Some(3), 9, 1).await.unwrap();
    let (back, original) = (&intakes[0].record, record(5, 100));
    assert_eq!(back.payload(), original.payload());
    assert_eq!(back.key(), original.key());
    assert_eq!(back.timestamp(), original.timestamp());
    assert_eq!(
        (back.topic(), back.partition(), back.offset()),
        (TOPIC, 3, 5)
    );
    let headers = |record: &OwnedMessage| headers::encode(record.headers());
    assert_eq!(headers(back), headers(&original));
    assert_eq!(back.headers().unwrap().count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_is_bounded_by_bytes_but_never_empty() {
    let world = World::new().await;
    for (offset, bytes) in [(1, 600), (2, 300), (3, 200), (4, 5_000)] {
        let wish = Defer {
            record: record(offset, bytes),
            ..world.wish(offset, &key())
        };
        assert_eq!(world.defer_as(wish).await, WRITTEN);
    }
    assert_eq!(world.load(None, 100, 10).await, (vec![1, 2], true));
    assert_eq!(world.load(Some(2), 100, 10).await, (vec![3], true));
    assert_eq!(world.load(Some(3), 100, 10).await, (vec![4], false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_record_of_a_message_counts_and_another_message_in_its_place_does_not() {
    let world = World::new().await;
    let first = key();
    let batch = [world.wish(1, &first), world.wish(2, &first)];
    assert_eq!(world.store.defer(&batch).await.unwrap(), [WRITTEN; 2]);
    assert_eq!(world.defer(1, &first).await, WRITTEN, "asked again");
    assert_eq!(
        world.defer(1, &key()).await,
        WrittenBehind::Answered(Answer::Failed),
        "a recreated topic: neither lost nor taken for the other"
    );
    assert_eq!(world.load(None, 100, 10).await, (vec![1], false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_has_its_end_is_not_written_again() {
    let world = World::new().await;
    let key = key();
    let settle = Settle {
        settlement: Settlement::Delivered,
        fence: world.fence(&key).await,
        attempts: 1,
        call: 1,
        platform_message_id: None,
        reason: "".into(),
    };
    assert_eq!(
        world.claims.settle(&[ask(&key, settle)]).await.unwrap(),
        [Answer::Done]
    );
    assert_eq!(world.defer(1, &key).await, WrittenBehind::HadItsEnd);
    assert_eq!(world.load(None, 100, 10).await, (vec![], false));
    assert!(world.markers().await.is_empty(), "nor is it marked");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_is_given_back_with_what_was_tried() {
    let world = World::new().await;
    let key = key();
    let claim = KeptClaim {
        fence: world.fence(&key).await,
        attempts: 3,
        first_failed_at_micros: Some(1_700_000_000_000_001),
    };
    let wish = Defer {
        claim: Some(claim),
        ..world.wish(1, &key)
    };
    assert_eq!(world.defer_as(wish).await, WRITTEN);
    let ClaimOutcome::Granted(grant) = world.claim(&key).await else {
        panic!("it is free for whoever loads it");
    };
    assert_eq!(
        (grant.attempts, grant.first_failed_at_micros),
        (3, Some(1_700_000_000_000_001))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_head_moves_a_marker() {
    let world = World::new().await;
    let head = key();
    world.defer(1, &head).await;
    let held = |moves_due, key: &Key, offset| Defer {
        due: Due::Held,
        moves_due,
        ..world.wish(offset, key)
    };
    world.defer_as(held(false, &key(), 2)).await;
    assert!(matches!(world.markers().await[0].due, Due::In(wait) if wait.as_secs() > 50));
    world.defer_as(held(true, &head, 1)).await;
    let markers = world.markers().await;
    assert_eq!(markers.len(), 1);
    assert_eq!(markers[0].due, Due::Held);
    assert_eq!(&*markers[0].chat, CHAT);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_marker_goes_only_when_nothing_remains() {
    let world = World::new().await;
    world.defer(1, &key()).await;
    assert_eq!(world.close().await, CloseAnswer::RowsRemain);
    assert_eq!(world.undefer(1).await, Answer::Done);
    assert_eq!(world.undefer(1).await, Answer::Done, "asked again");
    assert_eq!(world.close().await, CloseAnswer::Gone);
    assert_eq!(world.close().await, CloseAnswer::Gone, "asked again");
    assert!(world.markers().await.is_empty());
}

/// A producer's batch that was appended twice: m n m.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_came_twice_keeps_its_first_place_in_whatever_order_it_is_written() {
    let world = World::new().await;
    let (twice, between) = (key(), key());
    assert_eq!(world.defer(9, &twice).await, WRITTEN);
    let batch = [world.wish(7, &between), world.wish(5, &twice)];
    assert_eq!(world.store.defer(&batch).await.unwrap(), [WRITTEN; 2]);
    assert_eq!(world.load(None, 100, 10).await, (vec![5, 7], false));
    assert_eq!(world.defer(9, &twice).await, WRITTEN);
    let other = key();
    let batch = [world.wish(12, &other), world.wish(11, &other)];
    assert_eq!(world.store.defer(&batch).await.unwrap(), [WRITTEN; 2]);
    assert_eq!(world.load(None, 100, 10).await, (vec![5, 7, 11], false));
}

/// A close that began before a message was committed must not leave it without its marker.
#[tokio::test(flavor = "multi_thread")]
async fn a_close_beside_a_deferral_leaves_no_message_without_its_marker() {
    let world = World::new().await;
    world.defer(1, &key()).await;
    world.undefer(1).await;
    world.client.batch_execute("BEGIN").await.unwrap();
    let insert = "INSERT INTO tidings_delivery.deferred_messages
        (consumer_name, topic, partition, record_offset, chat, message_id, resend_nonce, recorded_day, record_value,
         record_headers, event_type)
        VALUES ('group', $1, 3, 2, $2, gen_random_uuid(), '', now()::date, '', '', 'x')";
    world
        .client
        .execute(insert, &[&TOPIC, &CHAT])
        .await
        .unwrap();
    let closing = Close {
        of: world.of(),
        chat: CHAT.into(),
    };
    let closing = [closing];
    let (closed, ()) = tokio::join!(world.store.close(&closing), async {
        until_somebody_waits(&world).await;
        world.client.batch_execute("COMMIT").await.unwrap();
    });
    assert!(closed.is_err(), "it is asked again: {closed:?}");
    assert_eq!(world.close().await, CloseAnswer::RowsRemain);
    assert_eq!(world.load(None, 100, 10).await, (vec![2], false));
}

async fn until_somebody_waits(world: &World) {
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted
        AND (database IS NULL OR database = (SELECT oid FROM pg_database WHERE datname = current_database()))";
    loop {
        let row = world.client.query_one(waiting, &[]).await.unwrap();
        if row.get::<_, i64>(0) > 0 {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_lost_the_partition_changes_nothing() {
    let mut world = World::new().await;
    world.defer(1, &key()).await;
    let old = world.epoch;
    world.bump().await;
    let (new, refused) = (world.epoch, key());
    world.epoch = old;
    assert_eq!(
        world.defer(2, &refused).await,
        WrittenBehind::Answered(Answer::Fenced)
    );
    assert_eq!(world.undefer(1).await, Answer::Fenced);
    assert_eq!(world.close().await, CloseAnswer::StaleEpoch);
    assert!(world.intakes(None, 100, 10).await.is_none());
    world.epoch = new;
    assert_eq!(world.load(None, 100, 10).await, (vec![1], false));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operators_change_is_told_until_it_is_seen() {
    let world = World::new().await;
    world.defer(1, &key()).await;
    let places = [(TOPIC.to_owned(), 3)];
    let changed = async || world.store.changed(&places, 10).await.unwrap();
    assert!(changed().await.is_empty(), "our own is no operator's");
    let change = "UPDATE tidings_delivery.deferred_chats
        SET changed_at = clock_timestamp(), due_at = clock_timestamp(), give_up_reason = 'no'";
    world.client.batch_execute(change).await.unwrap();
    let first = changed().await;
    assert_eq!(first[0].chat.due, Due::In(Duration::ZERO));
    assert_eq!(first[0].chat.give_up.as_deref(), Some("no"));
    world.client.batch_execute(change).await.unwrap();
    world.store.seen(&first).await.unwrap();
    let second = changed().await;
    assert_eq!(second.len(), 1, "the second change is another");
    world.store.seen(&second).await.unwrap();
    assert!(changed().await.is_empty());
    assert_eq!(world.store.count(&places).await.unwrap(), 1);
}
