//! One session on a PostgreSQL of its own: who owns a shard, and what reads and deletes do.

use tidings_edge::config::{Config, Secret};
use tidings_outbox::{Cursor, InFlight, ReadResult, RowsRead};
use tidings_stack::{Existing, Stack, StackOptions};

use super::*;

struct World {
    /// Ends the server when dropped.
    _stack: Stack,
    database: DatabaseConfig,
    client: Client,
}

const BOUNDS: ReadBounds = ReadBounds {
    rows: 1_000,
    bytes: 1_000_000,
    payload_bytes: 1_000,
};

impl World {
    async fn new() -> Self {
        // Only PostgreSQL is needed here.
        let unused = Some("127.0.0.1:1".to_owned());
        let existing = Existing {
            kafka_brokers: unused.clone(),
            registry_url: unused,
            ..Existing::default()
        };
        let stack = Stack::start(StackOptions {
            existing,
            ..StackOptions::default()
        })
        .await
        .unwrap();
        let mut database = Config::defaults().unwrap().upstream;
        database.database = Secret::new(stack.addresses().postgres_url.clone());
        let (client, _) = postgres::connect(&database, "test").await.unwrap();
        postgres::apply_outbox(&client).await.unwrap();
        postgres::apply_outbox(&client).await.unwrap();
        Self {
            _stack: stack,
            database,
            client,
        }
    }

    async fn acquire(&self, shard: u32, shards: u32) -> Option<Session> {
        Session::acquire(&self.database, shard, shards, &Tuning::default())
            .await
            .unwrap()
    }

    async fn publish(&self, text_bytes: usize) {
        let sql = "select tidings.publish('notification.requested', 1, json_build_object('text', repeat('x', $1::int)),
                       'order', 'o-1', '{\"platform\": \"telegram\", \"chat_id\": \"1\"}')";
        self.client
            .execute(sql, &[&i32::try_from(text_bytes).unwrap()])
            .await
            .unwrap();
    }

    async fn count(&self, table: &str) -> i64 {
        self.client
            .query_one(&format!("select count(*) from {table}"), &[])
            .await
            .unwrap()
            .get(0)
    }
}

async fn read(
    session: &Session,
    cursor: &mut Cursor,
    in_flight: &mut InFlight,
    bounds: ReadBounds,
) -> Read {
    let read = session
        .read(&cursor.plan(in_flight, false), bounds)
        .await
        .unwrap();
    let rows = read.rows.last().map(|last| RowsRead {
        last_id: last.id,
        mark: read.mark,
        truncated: read.truncated,
    });
    cursor.absorb(ReadResult {
        snapshot: &read.snapshot,
        rows,
    });
    for row in &read.rows {
        assert!(in_flight.insert(row.id), "row {} was read twice", row.id);
    }
    read
}

fn ids(read: &Read) -> Vec<i64> {
    read.rows.iter().map(|row| row.id).collect()
}

#[tokio::test]
async fn a_shard_has_one_owner_and_one_division() {
    let world = World::new().await;
    let owner = world.acquire(0, 2).await.unwrap();
    assert!(world.acquire(0, 2).await.is_none(), "taken");
    assert!(world.acquire(1, 2).await.is_some());
    assert!(world.acquire(3, 4).await.is_none(), "divided otherwise");
    drop(owner);
    let mut again = world.acquire(3, 4).await;
    while again.is_none() {
        // The server needs a moment to notice that the sessions are gone.
        tokio::task::yield_now().await;
        again = world.acquire(3, 4).await;
    }
}

#[tokio::test]
async fn a_session_whose_backend_is_not_the_locks_deletes_nothing() {
    let world = World::new().await;
    world.publish(1).await;
    let mut session = world.acquire(0, 1).await.unwrap();
    session.backend_pid += 1;
    assert!(matches!(
        session.delete(&[1]).await,
        Err(SessionError::Fenced)
    ));
    let refused = [Refused {
        id: 1,
        code: "too_large",
        field: "data".into(),
        reason: "large".into(),
    }];
    assert!(matches!(
        session.reject(&refused).await,
        Err(SessionError::Fenced)
    ));
    assert_eq!(
        (
            world.count("tidings.outbox").await,
            world.count("tidings.outbox_rejected").await
        ),
        (1, 0)
    );
    session.backend_pid -= 1;
    session.delete(&[1, 77]).await.unwrap();
    assert_eq!(world.count("tidings.outbox").await, 0);
}

#[tokio::test]
async fn a_read_is_cut_by_rows_and_by_bytes_and_goes_on_behind() {
    let world = World::new().await;
    for text_bytes in [500, 500, 2_000, 500] {
        world.publish(text_bytes).await;
    }
    let session = world.acquire(0, 1).await.unwrap();
    let (mut cursor, mut in_flight) = (Cursor::new(), InFlight::new());
    let two = ReadBounds {
        bytes: 1_000,
        ..BOUNDS
    };
    let first = read(&session, &mut cursor, &mut in_flight, two).await;
    assert_eq!((ids(&first), first.truncated), (vec![1, 2], true));
    let one = ReadBounds { rows: 1, ..BOUNDS };
    let second = read(&session, &mut cursor, &mut in_flight, one).await;
    assert_eq!((ids(&second), second.truncated), (vec![3], true));
    assert_eq!(
        (second.rows[0].data.as_deref(), second.rows[0].data_bytes),
        (None, 2_013),
        "too large to fetch"
    );
    let rest = read(&session, &mut cursor, &mut in_flight, BOUNDS).await;
    assert_eq!(
        (ids(&rest), rest.truncated, rest.rewound),
        (vec![4], false, false)
    );
    let nothing = read(&session, &mut cursor, &mut in_flight, BOUNDS).await;
    assert_eq!((ids(&nothing), nothing.truncated), (vec![], false));
}

/// The late transaction has the highest id of all that run, so the snapshot that passes over its row does not list
/// it: `xmax` is one past the highest transaction that ended.
#[tokio::test]
async fn a_row_of_a_transaction_that_no_snapshot_listed_is_read_when_it_commits() {
    let world = World::new().await;
    let session = world.acquire(0, 1).await.unwrap();
    let (mut cursor, mut in_flight) = (Cursor::new(), InFlight::new());
    let (late, _) = postgres::connect(&world.database, "test").await.unwrap();
    world
        .client
        .batch_execute("begin; select pg_current_xact_id()")
        .await
        .unwrap();
    late.batch_execute("begin").await.unwrap();
    let late = World {
        client: late,
        _stack: world._stack,
        database: world.database,
    };
    late.publish(1).await;
    let sql = "select tidings.publish('notification.requested', 1, '{}', 'order', 'o-1'); commit";
    world.client.batch_execute(sql).await.unwrap();

    let first = read(&session, &mut cursor, &mut in_flight, BOUNDS).await;
    assert_eq!(
        (ids(&first), first.snapshot.in_progress()),
        (vec![2], &[][..])
    );
    late.client.batch_execute("commit").await.unwrap();
    let second = read(&session, &mut cursor, &mut in_flight, BOUNDS).await;
    assert_eq!((ids(&second), second.rewound), (vec![1], true));
}

#[tokio::test]
async fn a_rejected_row_moves_with_its_reason_even_if_that_quotes_a_nul() {
    let world = World::new().await;
    world.publish(1).await;
    let session = world.acquire(0, 1).await.unwrap();
    let refused = [Refused {
        id: 1,
        code: "unknown_field",
        field: "data.\0".into(),
        reason: "a\0b".into(),
    }];
    session.reject(&refused).await.unwrap();
    session.reject(&refused).await.unwrap();
    let sql = "select id, code, field, reason, event_type from tidings.outbox_rejected";
    let row = world.client.query_one(sql, &[]).await.unwrap();
    assert_eq!(
        (row.get::<_, i64>(0), row.get::<_, &str>(1)),
        (1, "unknown_field")
    );
    assert_eq!(
        (row.get::<_, &str>(2), row.get::<_, &str>(3)),
        ("data.\u{fffd}", "a\u{fffd}b")
    );
    assert_eq!(row.get::<_, &str>(4), "notification.requested");
    assert_eq!(world.count("tidings.outbox").await, 0);
}
