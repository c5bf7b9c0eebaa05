//! Owning one shard: again and again, with a fresh session, cursor and producer after each failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rdkafka::error::KafkaError;
use tidings_edge::config::Config;
use tidings_edge::telemetry::metric_names;
use tokio::sync::watch;

use crate::health::ShardState;
use crate::publisher::Publisher;
use crate::session::Session;
use crate::worker::{Shared, Worker, WorkerError};

/// After this many failures of its producer in a row a shard that has work counts as stuck in `/health`.
const STUCK_AFTER_FAILURES: u32 = 10;

/// One shard's task.
#[derive(Clone)]
pub(crate) struct ShardTask {
    pub(crate) shard: u32,
    pub(crate) shards: u32,
    pub(crate) config: Arc<Config>,
    pub(crate) shared: Arc<Shared>,
    /// Producers whose drop has not ended.
    pub(crate) abandoned: Arc<AtomicUsize>,
}

/// Why a shard is no longer worked on, without a failure.
enum End {
    Stopped,
    NotOurs,
}

/// Why a shard's attempt failed.
#[derive(Debug, thiserror::Error)]
enum ShardError {
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// Kafka does not answer, or the producer cannot be made.
    #[error("Kafka cannot be reached")]
    Kafka(#[source] KafkaError),
    /// The blocking call's thread went away.
    #[error("the probe of the broker was abandoned")]
    Probe(#[source] tokio::task::JoinError),
}

impl ShardTask {
    /// Works on the shard until it is told to stop or another relay has the shard's lock.
    pub(crate) async fn run(self, mut stop: watch::Receiver<bool>) {
        let tuning = &self.shared.tuning;
        let mut pause = tuning.backoff_min;
        let mut failures = 0;
        loop {
            self.shared
                .health
                .set_shard(self.shard, ShardState::Starting);
            let begun_at = tokio::time::Instant::now();
            match self.attempt(&mut stop).await {
                Ok(End::Stopped | End::NotOurs) => break,
                Err(error) => {
                    // What worked for a while failed anew.
                    if begun_at.elapsed() > tuning.backoff_max + self.shared.relay.produce_deadline
                    {
                        (pause, failures) = (tuning.backoff_min, 0);
                    }
                    failures += 1;
                    self.failed(&error, failures, pause);
                }
            }
            if stopped_within(&mut stop, pause).await || self.too_many_abandoned() {
                break;
            }
            pause = pause.saturating_mul(2).min(tuning.backoff_max);
        }
        self.shared.health.remove_shard(self.shard);
    }

    async fn attempt(&self, stop: &mut watch::Receiver<bool>) -> Result<End, ShardError> {
        let publisher = Publisher::new(&self.config.kafka).map_err(ShardError::Kafka)?;
        let (publisher, reached) = self.reach_broker(publisher).await?;
        if let Err(error) = reached {
            self.close(publisher).await;
            return Err(ShardError::Kafka(error));
        }
        let ended = self.own(&publisher, stop).await;
        self.close(publisher).await;
        ended
    }

    /// Before anything is read: during an outage rows stay in the table, not in this process.
    async fn reach_broker(
        &self,
        publisher: Publisher,
    ) -> Result<(Publisher, Result<(), KafkaError>), ShardError> {
        let Some(topic) = self.shared.encoder.any_topic().map(str::to_owned) else {
            return Ok((publisher, Ok(())));
        };
        let deadline = self.config.kafka.admin_timeout;
        let probe = move || {
            let reached = publisher.probe(&topic, deadline);
            (publisher, reached)
        };
        tokio::task::spawn_blocking(probe)
            .await
            .map_err(ShardError::Probe)
    }

    async fn own(
        &self,
        publisher: &Publisher,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<End, ShardError> {
        let shared = &self.shared;
        let acquired = Session::acquire(
            &self.config.upstream,
            self.shard,
            self.shards,
            &shared.tuning,
        )
        .await;
        let Some(session) = acquired.map_err(WorkerError::Session)? else {
            return Ok(End::NotOurs);
        };
        shared.health.set_shard(self.shard, ShardState::Running);
        tracing::info!(shard = self.shard, shards = self.shards, "owns a shard");
        let mut worker = Worker::new(shared, session, publisher);
        let drain_deadline = shared.relay.drain_deadline;
        let mut stop_seen = stop.clone();
        let overdue = async {
            // An error means that the relay itself is gone, which is a stop too.
            let _ = stop_seen.wait_for(|stop| *stop).await;
            tokio::time::sleep(drain_deadline).await;
        };
        tokio::select! {
            ended = worker.run(stop) => ended?,
            () = overdue => tracing::warn!(shard = self.shard, "not drained within relay.drain_deadline; what is left is read again"),
        }
        tracing::info!(shard = self.shard, "let go of a shard");
        Ok(End::Stopped)
    }

    async fn close(&self, publisher: Publisher) {
        let deadline = self.shared.tuning.close_deadline;
        if !publisher.close(deadline, &self.abandoned).await {
            tracing::warn!(
                shard = self.shard,
                "a producer's drop hangs; it is left behind"
            );
        }
    }

    fn failed(&self, error: &ShardError, failures: u32, pause: Duration) {
        metrics::counter!(metric_names::RELAY_RESTARTS_TOTAL).increment(1);
        let stuck = failures >= STUCK_AFTER_FAILURES;
        let state = if stuck {
            ShardState::Stuck
        } else {
            ShardState::Failing
        };
        self.shared.health.set_shard(self.shard, state);
        let error: &dyn std::error::Error = error;
        tracing::warn!(
            shard = self.shard,
            error,
            failures,
            ?pause,
            "a shard stopped; it is read again from the table"
        );
    }

    fn too_many_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed) > self.shared.tuning.max_abandoned_producers
    }
}

/// Waits, unless told to stop; whether it was.
async fn stopped_within(stop: &mut watch::Receiver<bool>, pause: Duration) -> bool {
    tokio::time::timeout(pause, stop.wait_for(|stop| *stop))
        .await
        .is_ok()
}
