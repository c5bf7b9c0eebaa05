//! The thread that reads the log: opens it, follows it, and opens it again when it is not what it was.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::config::{ClientConfig, FromClientConfigAndContext};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Message as _, Timestamp};
use rdkafka::{ClientContext, Offset, TopicPartitionList};
use tidings_ratelimit::Event;
use tracing::{debug, warn};

use super::appender::{Appender, PARTITION};
use super::backoff::Backoff;
use super::closer::Closer;
use super::driver::LogCommand;
use super::shared::Shared;
use crate::config::LimitsConfig;

/// How long one poll waits, and so how long a command of another thread may wait. A record ends it at once.
const POLL: Duration = Duration::from_millis(50);

/// The longest that one question to the cluster may take while the log is opened.
const LOOK: Duration = Duration::from_secs(3);

/// A log that was read for so long was well: the next pause before it is opened again is the least.
const WELL_AFTER: Duration = Duration::from_secs(30);

/// How the clients are made.
pub(super) struct ReaderOptions {
    pub(super) topic: String,
    pub(super) consumer: ClientConfig,
    pub(super) producer: ClientConfig,
    pub(super) limits: LimitsConfig,
}

/// Why the log can't be opened.
#[derive(Debug, thiserror::Error)]
enum OpenError {
    #[error("Kafka: {doing} failed")]
    Kafka {
        doing: &'static str,
        #[source]
        source: KafkaError,
    },
    #[error(
        "topic {topic} has {found} partitions, expected 1; recreate it (`tidings topics apply`) while no role runs"
    )]
    Partitions { topic: String, found: usize },
    #[error("{0} clients hang in their close: restart the process")]
    Hanging(usize),
}

/// Reads until the client is closed or the limiter has stopped.
pub(super) fn run(shared: &Arc<Shared>, options: &ReaderOptions) {
    let closer = Closer::new(options.limits.close_deadline);
    let mut backoff = Backoff::new(options.limits.backoff_min, options.limits.backoff_max);
    let mut said = String::new();
    loop {
        let began = Instant::now();
        match open(shared, options, &closer) {
            Ok(consumer) => {
                said.clear();
                let ended = follow(&consumer, shared, options);
                let appender = shared.install(None);
                closer.close((consumer, appender));
                if ended {
                    return;
                }
            }
            Err(error) => say(&error, &mut said),
        }
        if began.elapsed() >= WELL_AFTER {
            backoff.reset();
        }
        if shared.pause(backoff.next()) {
            return;
        }
    }
}

/// The same reason is said once.
fn say(error: &OpenError, said: &mut String) {
    let text = format!("{error:?}");
    if *said != text {
        warn!(
            error = error as &dyn std::error::Error,
            "the rate-limit topic cannot be opened; tried again"
        );
        *said = text;
    }
}

/// New clients, and the limiter told what the log spans.
fn open(
    shared: &Arc<Shared>,
    options: &ReaderOptions,
    closer: &Closer,
) -> Result<BaseConsumer<Reading>, OpenError> {
    if closer.hanging() > options.limits.max_abandoned_clients {
        return Err(OpenError::Hanging(closer.hanging()));
    }
    let consumer = BaseConsumer::from_config_and_context(&options.consumer, Reading);
    let consumer = consumer.map_err(doing("make the consumer"))?;
    let looked = look(&consumer, &options.topic);
    let (first, end) = match looked {
        Ok(span) => span,
        Err(error) => {
            closer.close(consumer);
            return Err(error);
        }
    };
    let appender = Appender::new(&options.producer, &options.topic, Arc::downgrade(shared));
    let appender = appender.map_err(doing("make the producer"))?;
    let earlier = shared.install(Some(appender));
    drop(earlier);
    debug!(first, end, "the rate-limit topic is open");
    shared.tell(Event::Opened { first, end });
    Ok(consumer)
}

/// The first offset that is still there and the one after the last.
fn look(consumer: &BaseConsumer<Reading>, topic: &str) -> Result<(i64, i64), OpenError> {
    let metadata = consumer.fetch_metadata(Some(topic), LOOK);
    let metadata = metadata.map_err(doing("read the metadata"))?;
    let found = metadata.topics().iter().find(|found| found.name() == topic);
    match found.map_or(0, |found| found.partitions().len()) {
        // While it is made or deleted there are none; asking for the offsets says what it is.
        0 | 1 => {}
        found => {
            let topic = topic.to_owned();
            return Err(OpenError::Partitions { topic, found });
        }
    }
    let span = consumer.fetch_watermarks(topic, PARTITION, LOOK);
    span.map_err(doing("ask for the offsets"))
}

fn doing(doing: &'static str) -> impl FnOnce(KafkaError) -> OpenError {
    move |source| OpenError::Kafka { doing, source }
}

/// Hands over what is read until the limiter wants the log opened again (false) or the end (true).
fn follow(consumer: &BaseConsumer<Reading>, shared: &Shared, options: &ReaderOptions) -> bool {
    let mut next = 0;
    loop {
        match shared.lock().driver.take_command() {
            Some(LogCommand::End) => return true,
            Some(LogCommand::Reopen) => return false,
            Some(LogCommand::Read(from)) => {
                next = from;
                if let Err(error) = read_from(consumer, &options.topic, from) {
                    return lose(shared, &format!("cannot read from offset {from}: {error}"));
                }
            }
            None => {}
        }
        let polled = consumer.poll(POLL);
        // Before anything else: grants count from here (design §9).
        let received = Instant::now();
        match polled {
            Some(Ok(record)) => {
                if let Err(reason) = hand_over(&record, shared, received) {
                    return lose(shared, &reason);
                }
                next = record.offset() + 1;
            }
            Some(Err(KafkaError::PartitionEOF(_))) => shared.lock().driver.reached_end(next),
            Some(Err(error)) if is_lost(&error) => return lose(shared, &error.to_string()),
            Some(Err(error)) => debug!(%error, "rate-limit consumer"),
            None => {}
        }
        if shared
            .lock()
            .driver
            .is_stalled(options.limits.stall_deadline)
        {
            let reason = "nothing of what was appended came back within limits.stall_deadline";
            return lose(shared, reason);
        }
    }
}

/// A new assignment: what the client has fetched for the earlier one is outdated to it, and never delivered.
fn read_from(consumer: &BaseConsumer<Reading>, topic: &str, from: i64) -> Result<(), KafkaError> {
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(topic, PARTITION, Offset::Offset(from))?;
    consumer.assign(&list)
}

fn hand_over(
    record: &BorrowedMessage<'_>,
    shared: &Shared,
    received: Instant,
) -> Result<(), String> {
    let Timestamp::LogAppendTime(append_time_millis) = record.timestamp() else {
        return Err(format!(
            "record {} of topic {} does not carry the broker's time; set message.timestamp.type=LogAppendTime and recreate the topic",
            record.offset(),
            record.topic()
        ));
    };
    let value = record.payload().unwrap_or_default();
    let mut guard = shared.lock();
    guard
        .driver
        .take_record(record.offset(), append_time_millis, value, received);
    Ok(())
}

/// Tells the limiter that the log is lost, and waits until it wants it opened again. True when it wants the end.
fn lose(shared: &Shared, reason: &str) -> bool {
    shared.tell(Event::Lost {
        reason: reason.to_owned(),
    });
    loop {
        match shared.await_command(POLL) {
            Some(LogCommand::End) => return true,
            Some(LogCommand::Reopen) => return false,
            // Of the log that is lost.
            Some(LogCommand::Read(_)) | None => {}
        }
    }
}

/// What the client does not mend by itself. A broker that is away is not lost: valid grants are spent, others wait.
fn is_lost(error: &KafkaError) -> bool {
    let Some(code) = error.rdkafka_error_code() else {
        return false;
    };
    matches!(error, KafkaError::MessageConsumptionFatal(_))
        || [
            RDKafkaErrorCode::AutoOffsetReset,
            RDKafkaErrorCode::OffsetOutOfRange,
            RDKafkaErrorCode::UnknownPartition,
            RDKafkaErrorCode::UnknownTopic,
            RDKafkaErrorCode::UnknownTopicOrPartition,
            RDKafkaErrorCode::UnknownTopicId,
            RDKafkaErrorCode::TopicAuthorizationFailed,
            RDKafkaErrorCode::Fatal,
        ]
        .contains(&code)
}

/// The consumer's callbacks: errors come through its polls.
struct Reading;

impl ClientContext for Reading {
    fn error(&self, error: KafkaError, reason: &str) {
        debug!(%error, reason, "rate-limit consumer");
    }
}

impl ConsumerContext for Reading {}
