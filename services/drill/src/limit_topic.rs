use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use rdkafka::error::KafkaError;
use rdkafka::{Offset, TopicPartitionList};
use tidings_edge::config::Config;
use tidings_edge::kafka;
use tokio::time::sleep;

use crate::DrillError;

/// The rate-limit topic has one partition (design §4).
const PARTITION: i32 = 0;

/// The longest that one question to the cluster may take.
const ANSWER: Duration = Duration::from_secs(10);

/// How long a topic that was deleted may take to be there anew.
const RECREATED: Duration = Duration::from_secs(30);

const TRY_AGAIN: Duration = Duration::from_millis(200);

/// The rate-limit topic of a deployment, for drills that measure it and destroy it.
pub struct LimitTopic {
    admin: Arc<AdminClient<DefaultClientContext>>,
    config: Config,
    name: String,
}

impl LimitTopic {
    /// The topic of the deployment that `config` describes.
    ///
    /// # Errors
    /// [`DrillError::Kafka`] when no client can be made.
    pub fn new(config: Config) -> Result<Self, DrillError> {
        let admin = kafka::admin_config(&config.kafka);
        let admin = rdkafka::config::FromClientConfig::from_config(&admin);
        Ok(Self {
            admin: Arc::new(admin.map_err(doing("make a client"))?),
            name: kafka::rate_limit_topic(&config.kafka),
            config,
        })
    }

    /// The offset after its last record.
    ///
    /// # Errors
    /// [`DrillError::Kafka`] when the cluster does not answer.
    pub async fn end(&self) -> Result<i64, DrillError> {
        let (admin, name) = (Arc::clone(&self.admin), self.name.clone());
        let asked = tokio::task::spawn_blocking(move || {
            admin.inner().fetch_watermarks(&name, PARTITION, ANSWER)
        });
        let cancelled = KafkaError::Canceled;
        let (_, end) = asked
            .await
            .unwrap_or(Err(cancelled))
            .map_err(doing("ask for the rate-limit topic's end"))?;
        Ok(end)
    }

    /// Deletes all its records.
    ///
    /// # Errors
    /// [`DrillError::Kafka`] when the cluster refuses or does not answer.
    pub async fn empty(&self) -> Result<(), DrillError> {
        let to = Offset::Offset(self.end().await?);
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(&self.name, PARTITION, to)
            .map_err(doing("name the rate-limit topic"))?;
        let deleted = self.admin.delete_records(&list, &options()).await;
        deleted.map_err(doing("empty the rate-limit topic"))?;
        Ok(())
    }

    /// Deletes it.
    ///
    /// # Errors
    /// [`DrillError::Kafka`] when the cluster refuses or does not answer.
    pub async fn delete(&self) -> Result<(), DrillError> {
        let deleting = doing("delete the rate-limit topic");
        let deleted = self.admin.delete_topics(&[&self.name], &options()).await;
        let refused = match deleted {
            Ok(results) => results.into_iter().find_map(Result::err),
            Err(error) => return Err(deleting(error)),
        };
        match refused {
            None => Ok(()),
            Some((_, code)) => Err(deleting(KafkaError::AdminOp(code))),
        }
    }

    /// Makes it again after [`delete`](Self::delete): while the cluster forgets the old one, it refuses the new.
    ///
    /// # Errors
    /// The cluster's, once it has refused for half a minute.
    pub async fn recreate(&self) -> Result<(), DrillError> {
        let until = Instant::now() + RECREATED;
        loop {
            let applied = kafka::apply(&self.config).await;
            match (applied, self.end().await) {
                (Ok(_), Ok(_)) => return Ok(()),
                (Err(error), _) if Instant::now() >= until => return Err(error.into()),
                (Ok(_), Err(error)) if Instant::now() >= until => return Err(error),
                (Ok(_) | Err(_), _) => sleep(TRY_AGAIN).await,
            }
        }
    }
}

fn options() -> AdminOptions {
    AdminOptions::new()
        .request_timeout(Some(ANSWER))
        .operation_timeout(Some(ANSWER))
}

fn doing(doing: &'static str) -> impl FnOnce(KafkaError) -> DrillError {
    move |source| DrillError::Kafka { doing, source }
}
