//! A real PostgreSQL with an outbox.

pub mod gate;
pub mod proxy;

use tidings_load::LoadOptions;
use tidings_stack::{Existing, Part, Stack, StackOptions};
use tokio_postgres::{Client, NoTls};

const OUTBOX: &str = include_str!("../../../../schemas/outbox/001_outbox.sql");

/// A server of one test's own: some tests kill it.
pub struct Upstream {
    stack: Stack,
    pub url: String,
}

impl Upstream {
    /// With an outbox.
    pub async fn start() -> Self {
        let upstream = Self::empty().await;
        upstream.client().await.batch_execute(OUTBOX).await.unwrap();
        upstream
    }

    /// Without.
    pub async fn empty() -> Self {
        // Only Postgres is needed: the others "run already", where nobody asks for them.
        let nowhere = "127.0.0.1:9";
        let stack = Stack::start(StackOptions {
            existing: Existing {
                kafka_brokers: Some(nowhere.to_owned()),
                registry_url: Some(format!("http://{nowhere}")),
                ..Existing::default()
            },
            ..StackOptions::default()
        });
        let stack = stack.await.unwrap();
        let url = stack.addresses().postgres_url.clone();
        Self { stack, url }
    }

    pub async fn kill_and_start_again(&self) {
        self.stack.kill(Part::Postgres).await.unwrap();
        self.stack.start_part(Part::Postgres).await.unwrap();
    }

    /// Rows of `from`, which may be more than a table.
    pub async fn count(&self, from: &str) -> u64 {
        let sql = format!("select count(*) from {from}");
        let row = self.client().await.query_one(&sql, &[]).await.unwrap();
        u64::try_from(row.get::<_, i64>(0)).unwrap()
    }

    pub async fn assert_none(&self, from: &str) {
        assert_eq!(self.count(from).await, 0, "rows of {from}");
    }

    /// No relay runs here, so that the outbox keeps all that was committed.
    pub async fn assert_ledger_equals_outbox(&self) {
        self.assert_none("load.ledger l full join tidings.outbox o using (message_id) where l.tx is null or o.id is null")
            .await;
    }

    async fn client(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }
}

/// A small run with much of everything, always the same.
pub fn options(url: &str) -> LoadOptions {
    LoadOptions {
        orders: 60,
        chats: 10,
        workers: 4,
        rollback_share: 0.2,
        inverted_share: 0.2,
        seed: 7,
        ..LoadOptions::new(url)
    }
}
