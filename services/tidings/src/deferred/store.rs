//! The tables of deferred chats, as operators read and change them.

use std::time::SystemTime;

use anyhow::Context as _;
use tidings_edge::config::Config;
use tidings_edge::postgres::{self, Client};
use tokio::task::JoinHandle;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// Which deferrals; all that is given holds.
pub(super) struct Filter {
    pub(super) topic: Option<String>,
    pub(super) platform: Option<String>,
    pub(super) account: Option<String>,
    pub(super) chat: Option<String>,
}

/// A chat in one lane partition that waits.
pub(super) struct Deferred {
    pub(super) topic: String,
    pub(super) partition: i32,
    /// platform:alias:chat_id.
    pub(super) chat: String,
    /// `None`: until an operator lets go.
    pub(super) due_at: Option<SystemTime>,
    /// By the database's clock; negative once it is due.
    pub(super) due_seconds: Option<f64>,
    pub(super) reason: String,
    pub(super) deferred_at: SystemTime,
    /// An operator's change that no worker has seen yet.
    pub(super) change_is_new: bool,
    pub(super) give_up_reason: Option<String>,
    pub(super) messages: i64,
}

/// A message that waits.
pub(super) struct Message {
    pub(super) topic: String,
    pub(super) partition: i32,
    pub(super) offset: i64,
    pub(super) chat: String,
    pub(super) message_id: Uuid,
    pub(super) event_type: String,
    pub(super) bytes: i32,
    pub(super) deferred_at: SystemTime,
    pub(super) attempts: i32,
    pub(super) first_failed_at: Option<SystemTime>,
}

/// A session with the state database.
pub(super) struct Store {
    client: Client,
    session: JoinHandle<()>,
    consumer: String,
    filter: Filter,
}

/// `d` is what is filtered. A chat key's last part is the platform's own id and may hold colons.
macro_rules! matching {
    () => {
        "d.consumer_name = $1
         AND ($2::text IS NULL OR d.topic = $2)
         AND ($3::text IS NULL OR starts_with(d.chat, $3 || ':'))
         AND ($4::text IS NULL OR starts_with(d.chat, $4 || ':'))
         AND ($5::text IS NULL OR d.chat = $5 OR regexp_replace(d.chat, '^[^:]*:[^:]*:', '') = $5)"
    };
}

/// What is read of each deferral.
macro_rules! columns {
    () => {
        "d.topic, d.partition, d.chat, d.due_at, d.reason, d.deferred_at, d.give_up_reason,
         d.changed_at IS NOT NULL AS change_is_new,
         extract(epoch FROM d.due_at - clock_timestamp())::float8 AS due_seconds,
         (SELECT count(*) FROM tidings_delivery.deferred_messages m
          WHERE m.consumer_name = d.consumer_name AND m.topic = d.topic AND m.partition = d.partition
            AND m.chat = d.chat) AS messages"
    };
}

const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM tidings_delivery.deferred_chats d WHERE ",
    matching!(),
    " ORDER BY d.due_at NULLS LAST, d.chat, d.topic LIMIT $6"
);

const SHOW: &str = concat!(
    "SELECT d.topic, d.partition, d.chat, d.record_offset, d.message_id, d.event_type, d.deferred_at,
            octet_length(d.record_value) AS bytes, coalesce(c.attempts, 0) AS attempts, c.first_failed_at
     FROM tidings_delivery.deferred_messages d
     LEFT JOIN tidings_delivery.claims c USING (consumer_name, recorded_day, message_id, resend_nonce)
     WHERE ",
    matching!(),
    " ORDER BY d.chat, d.topic, d.partition, d.record_offset LIMIT $6"
);

const RETRY_NOW: &str = concat!(
    "UPDATE tidings_delivery.deferred_chats d
     SET due_at = clock_timestamp(), changed_at = clock_timestamp(), reason = $6 WHERE ",
    matching!(),
    " RETURNING ",
    columns!()
);

const DEAD_LETTER: &str = concat!(
    "UPDATE tidings_delivery.deferred_chats d
     SET due_at = clock_timestamp(), changed_at = clock_timestamp(), give_up_reason = $6 WHERE ",
    matching!(),
    " RETURNING ",
    columns!()
);

impl Store {
    pub(super) async fn open(config: &Config, filter: Filter) -> anyhow::Result<Self> {
        let (client, session) = postgres::connect(&config.state, "tidings-deferred").await?;
        Ok(Self {
            client,
            session,
            consumer: config.dispatcher.group.clone(),
            filter,
        })
    }

    /// At most `limit` deferrals, those due first.
    pub(super) async fn list(&self, limit: u32) -> anyhow::Result<Vec<Deferred>> {
        let rows = self.ask(LIST, &i64::from(limit)).await?;
        Ok(rows.iter().map(deferred).collect())
    }

    /// At most `limit` messages, by chat, in their order.
    pub(super) async fn messages(&self, limit: u32) -> anyhow::Result<Vec<Message>> {
        let rows = self.ask(SHOW, &i64::from(limit)).await?;
        Ok(rows.iter().map(message).collect())
    }

    /// Makes them due; returns what was changed.
    pub(super) async fn retry_now(&self, reason: &str) -> anyhow::Result<Vec<Deferred>> {
        let rows = self.ask(RETRY_NOW, &reason).await?;
        Ok(rows.iter().map(deferred).collect())
    }

    /// Gives them up; returns what was changed.
    pub(super) async fn give_up(&self, reason: &str) -> anyhow::Result<Vec<Deferred>> {
        let rows = self.ask(DEAD_LETTER, &reason).await?;
        Ok(rows.iter().map(deferred).collect())
    }

    async fn ask(&self, statement: &str, last: &(dyn ToSql + Sync)) -> anyhow::Result<Vec<Row>> {
        let Filter {
            topic,
            platform,
            account,
            chat,
        } = &self.filter;
        let asked = self
            .client
            .query(
                statement,
                &[&self.consumer, topic, platform, account, chat, last],
            )
            .await;
        asked.context(
            "the deferred chats cannot be read or changed; `tidings migrate` makes their tables",
        )
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.session.abort();
    }
}

fn deferred(row: &Row) -> Deferred {
    Deferred {
        topic: row.get("topic"),
        partition: row.get("partition"),
        chat: row.get("chat"),
        due_at: row.get("due_at"),
        due_seconds: row.get("due_seconds"),
        reason: row.get("reason"),
        deferred_at: row.get("deferred_at"),
        change_is_new: row.get("change_is_new"),
        give_up_reason: row.get("give_up_reason"),
        messages: row.get("messages"),
    }
}

fn message(row: &Row) -> Message {
    Message {
        topic: row.get("topic"),
        partition: row.get("partition"),
        offset: row.get("record_offset"),
        chat: row.get("chat"),
        message_id: row.get("message_id"),
        event_type: row.get("event_type"),
        bytes: row.get("bytes"),
        deferred_at: row.get("deferred_at"),
        attempts: row.get("attempts"),
        first_failed_at: row.get("first_failed_at"),
    }
}
