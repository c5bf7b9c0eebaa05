//! The loop over one shard: one session, one producer, one cursor, in one task, so that the order is nobody else's.
//!
//! At any time at most one read and one write are on their way to Postgres, pipelined on the session, while rows of
//! the last read are encoded and produced and acknowledgements of earlier ones arrive.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rdkafka::error::KafkaError;
use tidings_edge::config::RelayConfig;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::encoder::Encoder;
use crate::health::RelayHealth;
use crate::intake::Intake;
use crate::options::Tuning;
use crate::outlet::Outlet;
use crate::publisher::Publisher;
use crate::read::Read;
use crate::session::{Refused, Session, SessionError};

/// Longer than any statement may take.
const FAR: Duration = Duration::from_secs(3_600);

/// Why a worker cannot go on. The rows it had in flight are read again by the next.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    /// The session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The producer.
    #[error("the producer failed")]
    Producer(#[from] KafkaError),
    /// Kafka acknowledged nothing for too long.
    #[error("no acknowledgement for {waited_seconds} s while {records} records wait")]
    NoAcknowledgement {
        /// How long.
        waited_seconds: u64,
        /// How many records wait.
        records: usize,
    },
}

/// What the shards of one relay share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) relay: RelayConfig,
    pub(crate) tuning: Tuning,
    pub(crate) encoder: Encoder,
    pub(crate) health: Arc<RelayHealth>,
}

type Statement = Pin<Box<dyn Future<Output = Result<Done, SessionError>> + Send>>;

/// A statement that ended.
enum Done {
    Read {
        read: Read,
        safety: bool,
        took: Duration,
    },
    Deleted(Vec<i64>),
    Rejected(Vec<Refused>),
    Alive,
}

/// One shard at work.
pub(crate) struct Worker<'a> {
    shared: &'a Shared,
    session: Arc<Session>,
    publisher: &'a Publisher,
    intake: Intake,
    outlet: Outlet<'a>,
    statements: FuturesUnordered<Statement>,
    statement_at: Instant,
    writing: bool,
    next_write_at: Instant,
    stopping: bool,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(shared: &'a Shared, session: Session, publisher: &'a Publisher) -> Self {
        let now = Instant::now();
        Self {
            shared,
            session: Arc::new(session),
            publisher,
            intake: Intake::new(shared),
            outlet: Outlet::new(shared, publisher),
            statements: FuturesUnordered::new(),
            statement_at: now,
            writing: false,
            next_write_at: now,
            stopping: false,
        }
    }

    /// Works until `stop` says so and everything produced is acknowledged and deleted, or until something fails.
    pub(crate) async fn run(
        &mut self,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<(), WorkerError> {
        loop {
            self.outlet.take_acknowledgements()?;
            let busy = self.outlet.produce(&mut self.intake)?;
            self.start_statements();
            if self.stopping && self.is_drained() {
                return Ok(());
            }
            let wake_at = self.wake_at();
            tokio::select! {
                biased;
                Some(done) = self.statements.next() => self.finish(done?),
                () = self.publisher.delivered() => {}
                () = tokio::task::yield_now(), if busy => {}
                () = tokio::time::sleep_until(wake_at) => self.check_progress()?,
                _ = stop.wait_for(|stop| *stop), if !self.stopping => self.stop(),
            }
        }
    }

    fn start_statements(&mut self) {
        let now = Instant::now();
        if !self.writing {
            self.start_write(now);
        }
        if self.read_at().is_some_and(|read_at| now >= read_at) {
            self.start_read(now);
        }
        // Postgres ends a session that is silent for too long, which is meant for relays that are frozen.
        if self.statements.is_empty() && now >= self.keep_alive_at() {
            self.start_statement(now, |session| async move {
                session.delete(&[]).await.map(|()| Done::Alive)
            });
        }
    }

    fn start_write(&mut self, now: Instant) {
        if !self.outlet.refused.is_empty() {
            let refused = std::mem::take(&mut self.outlet.refused);
            self.writing = true;
            self.start_statement(now, |session| async move {
                session
                    .reject(&refused)
                    .await
                    .map(|()| Done::Rejected(refused))
            });
        } else if self.delete_is_due(now) {
            let ids = std::mem::take(&mut self.outlet.acknowledged);
            self.writing = true;
            self.next_write_at = now + self.shared.tuning.delete_interval;
            self.start_statement(now, |session| async move {
                session.delete(&ids).await.map(|()| Done::Deleted(ids))
            });
        }
    }

    fn delete_is_due(&self, now: Instant) -> bool {
        let acknowledged = self.outlet.acknowledged.len();
        acknowledged >= self.shared.relay.batch_rows
            || (acknowledged > 0 && (self.stopping || now >= self.next_write_at))
    }

    fn start_read(&mut self, now: Instant) {
        let planned = self
            .intake
            .begin(&self.shared.relay, self.shared.encoder.payload_bytes());
        self.start_statement(now, move |session| async move {
            let read = session.read(&planned.plan, planned.bounds).await?;
            Ok(Done::Read {
                read,
                safety: planned.safety,
                took: now.elapsed(),
            })
        });
    }

    fn start_statement<F>(&mut self, now: Instant, statement: impl FnOnce(Arc<Session>) -> F)
    where
        F: Future<Output = Result<Done, SessionError>> + Send + 'static,
    {
        self.statement_at = now;
        self.statements
            .push(Box::pin(statement(Arc::clone(&self.session))));
    }

    fn finish(&mut self, done: Done) {
        match done {
            Done::Read { read, safety, took } => {
                if safety {
                    self.intake.passed(took);
                }
                let first = self.intake.absorb(read);
                self.outlet.sample(first);
                if self.stopping {
                    self.intake.clear();
                }
            }
            Done::Deleted(ids) => {
                self.writing = false;
                self.intake.leave(ids);
            }
            Done::Rejected(refused) => {
                self.writing = false;
                self.intake.leave(refused.iter().map(|row| row.id));
                self.outlet.report(&refused);
            }
            Done::Alive => {}
        }
    }

    /// What is produced is waited for; what is only read stays in the table.
    fn stop(&mut self) {
        self.stopping = true;
        self.intake.clear();
    }

    fn is_drained(&self) -> bool {
        self.intake.is_empty() && self.outlet.is_drained() && self.statements.is_empty()
    }

    fn check_progress(&self) -> Result<(), WorkerError> {
        let waited = self.outlet.waited();
        if waited >= self.shared.relay.produce_deadline {
            let (waited_seconds, records) = (waited.as_secs(), self.outlet.unacknowledged());
            return Err(WorkerError::NoAcknowledgement {
                waited_seconds,
                records,
            });
        }
        Ok(())
    }

    /// When there is something to do by the clock alone.
    fn wake_at(&self) -> Instant {
        // A statement that runs keeps the session alive, and its own deadline watches over it.
        let running = !self.statements.is_empty();
        let silent_until = if running {
            self.statement_at + FAR
        } else {
            self.keep_alive_at()
        };
        let write_at =
            (!self.writing && !self.outlet.acknowledged.is_empty()).then_some(self.next_write_at);
        let overdue_at = self.outlet.overdue_at(self.shared.relay.produce_deadline);
        let timers = [self.read_at(), write_at, overdue_at].into_iter().flatten();
        timers.fold(silent_until, Instant::min)
    }

    fn read_at(&self) -> Option<Instant> {
        self.intake
            .due_at(&self.shared.relay)
            .filter(|_| !self.stopping)
    }

    fn keep_alive_at(&self) -> Instant {
        self.statement_at + self.shared.tuning.idle_session_timeout / 3
    }
}
