//! The group member: one thread that polls Kafka and talks to the engine through two channels.
//!
//! One queue for all partitions, split by ourselves (librdkafka #3231); a paused partition is resumed on assignment
//! (#1849); group ownership is never taken for a fence (PR #5604): the epoch in Postgres is.

mod begins;
mod commits;
mod context;
mod thread;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc as blocking;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use tidings_delivery::PartitionId;
use tokio::sync::mpsc;

use crate::decode::{Decoder, Intake};

pub(crate) use begins::{Begins, look_up};
pub(crate) use context::{LaneTopic, Lanes};

/// Records between the thread and the engine, beside those that the machine counts; past it the thread waits, and
/// librdkafka's own bounds hold. Few, because each may be as large as the topic allows.
const INTAKE_RECORDS: usize = 64;

/// What the group tells the engine.
pub(crate) enum FromKafka {
    /// Partitions came; they are paused until [`ToKafka::Begin`].
    Assigned(Vec<PartitionId>),
    /// Partitions are being taken back; the thread waits for [`ToKafka::Drained`].
    Revoked(Vec<PartitionId>),
    /// Partitions are gone already.
    Lost(Vec<PartitionId>),
    /// A record.
    Record(Box<Intake>),
    /// The thread ended: asked to, or because its client can not go on.
    Ended(Option<KafkaError>),
}

/// What the engine asks of the group member.
pub(crate) enum ToKafka {
    /// Fetch a partition that was assigned: its epoch is bumped.
    Begin(PartitionId),
    Pause(PartitionId),
    /// Fetch a paused partition again; says nothing about one that waits for its [`ToKafka::Begin`].
    Resume(PartitionId),
    Commit {
        partition: PartitionId,
        offset: i64,
    },
    /// Everything of the last [`FromKafka::Revoked`] is done.
    Drained,
    /// Leave the group and end.
    Close,
}

/// How a member is made.
pub(crate) struct MemberOptions {
    pub(crate) client: ClientConfig,
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) decoder: Arc<Decoder>,
    /// The longest that a revocation waits for the engine.
    pub(crate) drain_deadline: Duration,
    /// How often watermarks are committed while records flow.
    pub(crate) commit_interval: Duration,
    /// Fetching nothing for this long while there is something means that the client is stuck.
    pub(crate) progress_deadline: Duration,
}

/// A running member.
pub(crate) struct Member {
    commands: blocking::Sender<ToKafka>,
    heartbeat: Arc<Heartbeat>,
    thread: Option<JoinHandle<()>>,
}

impl Member {
    /// Starts the thread; what it has to say comes through the receiver.
    pub(crate) fn start(
        options: MemberOptions,
    ) -> std::io::Result<(Self, mpsc::Receiver<FromKafka>)> {
        let (to_engine, from_kafka) = mpsc::channel(INTAKE_RECORDS);
        let (commands, to_kafka) = blocking::channel();
        let heartbeat = Arc::new(Heartbeat::new());
        let beats = Arc::clone(&heartbeat);
        let thread = std::thread::Builder::new()
            .name("kafka-member".into())
            .spawn(move || thread::run(&options, to_engine, to_kafka, beats))?;
        Ok((
            Self {
                commands,
                heartbeat,
                thread: Some(thread),
            },
            from_kafka,
        ))
    }

    /// Asks for something; a member that ended says so through its receiver, so nothing is lost here.
    pub(crate) fn ask(&self, command: ToKafka) {
        let _ = self.commands.send(command);
    }

    /// Whether a broker is connected, by the client's own statistics.
    pub(crate) fn sees_a_broker(&self) -> bool {
        self.heartbeat.broker_seen.load(Ordering::Relaxed)
    }

    /// How long the thread has not come round.
    pub(crate) fn silent_for(&self) -> Duration {
        self.heartbeat.age()
    }

    /// Waits for the thread, not longer than `deadline`: closing can hang in the client (rust-rdkafka #509, #453), and
    /// then the process' end must take it.
    pub(crate) async fn join(mut self, deadline: Duration) -> bool {
        let Some(thread) = self.thread.take() else {
            return true;
        };
        let ended = tokio::task::spawn_blocking(move || thread.join().is_ok());
        matches!(tokio::time::timeout(deadline, ended).await, Ok(Ok(true)))
    }
}

/// When the thread last came round, and whether its client sees a broker.
pub(crate) struct Heartbeat {
    began: Instant,
    last_millis: AtomicU64,
    broker_seen: AtomicBool,
}

impl Heartbeat {
    fn new() -> Self {
        Self {
            began: Instant::now(),
            last_millis: AtomicU64::new(0),
            broker_seen: AtomicBool::new(true),
        }
    }

    fn beat(&self) {
        self.last_millis.store(self.millis(), Ordering::Relaxed);
    }

    fn age(&self) -> Duration {
        let last = self.last_millis.load(Ordering::Relaxed);
        Duration::from_millis(self.millis().saturating_sub(last))
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
