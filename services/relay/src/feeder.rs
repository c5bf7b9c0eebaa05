//! Feeds rejected rows to `<prefix>.relay.dead-letter`, as JSON, for those who watch topics. The truth is the table
//! `outbox_rejected`: a row may be fed twice, and one that is too large for the topic goes without its data.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use rdkafka::error::KafkaError;
use rdkafka::message::{Header, OwnedHeaders};
use tidings_edge::config::Config;
use tidings_edge::kafka::{relay_dead_letter_topic, specs};
use tidings_edge::postgres::{self, PostgresError};
use tidings_envelope::partition::partition_for;
use tokio::sync::watch;
use tokio_postgres::Client;

use crate::encoder::Record;
use crate::options::{Tuning, warn_retry};
use crate::publisher::{Publisher, Sent};

/// What a rejected row's JSON takes beside its data, rounded up: 23 short columns and a reason of 2,000 characters.
const AROUND_DATA_BYTES: usize = 32 * 1_024;

/// Why a round of feeding failed; it is tried again.
#[derive(Debug, thiserror::Error)]
enum FeedError {
    #[error(transparent)]
    Connect(#[from] PostgresError),
    #[error("reading or marking rejected rows failed")]
    Statement(#[from] tokio_postgres::Error),
    #[error("producing rejected rows failed")]
    Producer(#[from] KafkaError),
    #[error("rejected rows were not acknowledged in time")]
    Deadline,
}

/// The task that feeds while `active` says that this relay owns shard 0.
pub(crate) struct Feeder {
    config: Arc<Config>,
    tuning: Tuning,
    topic: String,
    partitions: NonZeroU32,
    abandoned: Arc<AtomicUsize>,
}

/// A rejected row on its way.
struct Fed {
    id: i64,
    key: String,
    message_id: String,
    json: String,
}

impl Feeder {
    pub(crate) fn new(config: Arc<Config>, tuning: Tuning, abandoned: Arc<AtomicUsize>) -> Self {
        let topic = relay_dead_letter_topic(&config.kafka);
        let spec = specs(&config).into_iter().find(|spec| spec.name == topic);
        let partitions = spec
            .and_then(|spec| NonZeroU32::new(spec.partitions))
            .unwrap_or(NonZeroU32::MIN);
        Self {
            config,
            tuning,
            topic,
            partitions,
            abandoned,
        }
    }

    /// Feeds, while active, until `active`'s sender is gone.
    pub(crate) async fn run(self, mut active: watch::Receiver<bool>) {
        let mut pause = self.tuning.backoff_min;
        while active.wait_for(|active| *active).await.is_ok() {
            match self.feed(&mut active).await {
                Ok(()) => pause = self.tuning.backoff_min,
                Err(error) => {
                    warn_retry("feeding rejected rows failed", &error, pause);
                    tokio::time::sleep(pause).await;
                    pause = pause.saturating_mul(2).min(self.tuning.backoff_max);
                }
            }
        }
    }

    /// Feeds with one session, and one producer whenever there is something to feed, until inactive.
    async fn feed(&self, active: &mut watch::Receiver<bool>) -> Result<(), FeedError> {
        let (client, connection) =
            postgres::connect(&self.config.upstream, "tidings-relay").await?;
        let fed = self.feed_by(&client, active).await;
        connection.abort();
        fed
    }

    async fn feed_by(
        &self,
        client: &Client,
        active: &mut watch::Receiver<bool>,
    ) -> Result<(), FeedError> {
        while *active.borrow() {
            let rows = self.unfed(client).await?;
            if rows.is_empty() {
                let pause = tokio::time::sleep(self.tuning.membership_interval);
                tokio::select! {
                    () = pause => {}
                    gone = active.changed() => if gone.is_err() { return Ok(()) },
                }
                continue;
            }
            let publisher = Publisher::new(&self.config.kafka)?;
            let produced = tokio::time::timeout(
                self.config.relay.produce_deadline,
                self.produce(&publisher, &rows),
            )
            .await;
            publisher
                .close(self.tuning.close_deadline, &self.abandoned)
                .await;
            produced.map_err(|_| FeedError::Deadline)??;
            let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
            client.execute(MARK, &[&ids]).await?;
        }
        Ok(())
    }

    async fn unfed(&self, client: &Client) -> Result<Vec<Fed>, FeedError> {
        let topic_bytes =
            usize::try_from(self.config.kafka.max_message_bytes).unwrap_or(usize::MAX);
        let data_bytes = topic_bytes
            .saturating_sub(AROUND_DATA_BYTES)
            .min(self.config.relay.payload_bytes);
        let data_bytes = i32::try_from(data_bytes).unwrap_or(i32::MAX);
        let rows = client
            .query(UNFED, &[&self.tuning.feed_rows, &data_bytes])
            .await?;
        let fed = |row: &tokio_postgres::Row| -> Result<Fed, tokio_postgres::Error> {
            Ok(Fed {
                id: row.try_get(0)?,
                key: row.try_get(1)?,
                message_id: row.try_get(2)?,
                json: row.try_get(3)?,
            })
        };
        Ok(rows.iter().map(fed).collect::<Result<_, _>>()?)
    }

    async fn produce(&self, publisher: &Publisher, rows: &[Fed]) -> Result<(), KafkaError> {
        let mut acknowledged = 0;
        for row in rows {
            while let Sent::Full = publisher.send(row.id, self.record(row))? {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        while acknowledged < rows.len() {
            publisher.delivered().await;
            acknowledged += publisher.take()?.ids.len();
        }
        Ok(())
    }

    fn record<'a>(&'a self, row: &'a Fed) -> Record<'a> {
        let header = |key, value| Header {
            key,
            value: Some(value),
        };
        Record {
            topic: &self.topic,
            partition: i32::try_from(partition_for(row.key.as_bytes(), self.partitions))
                .unwrap_or_default(),
            key: &row.key,
            value: row.json.as_bytes(),
            headers: OwnedHeaders::new_with_capacity(2)
                .insert(header("ce_id", row.message_id.as_str()))
                .insert(header("content-type", "application/json")),
            context: None,
        }
    }
}

/// The oldest rows that were not fed. Data that is too large for the topic is left out, and said to be.
const UNFED: &str = "select r.id, coalesce(r.chat_id, r.aggregate_id), r.message_id::text, (
        select row_to_json(shown)::text from (
            select r.id, r.message_id, r.event_type, r.event_version,
                   case when r.data_bytes <= $2::int then r.data end as data, r.data_bytes > $2::int as data_left_out,
                   r.data_bytes, r.aggregate_type, r.aggregate_id, r.aggregate_sequence, r.platform, r.account,
                   r.chat_id, r.thread_id, r.priority, r.occurred_at, r.recorded_at, r.expires_at, r.correlation_id,
                   r.causation_id, r.traceparent, r.producer, r.claim_check, r.code, r.field, r.reason, r.rejected_at) shown)
    from tidings.outbox_rejected r where r.fed_at is null order by r.id limit $1::bigint";

const MARK: &str =
    "update tidings.outbox_rejected set fed_at = clock_timestamp() where id = any($1::bigint[])";
