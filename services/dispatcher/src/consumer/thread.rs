use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc as blocking;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rdkafka::Offset;
use rdkafka::config::FromClientConfigAndContext;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use tokio::sync::mpsc;
use tracing::{info, warn};

use super::commits::Commits;
use super::context::{Context, lock};
use super::{FromKafka, Heartbeat, MemberOptions, ToKafka};

/// How long one poll waits, and so how long a pause or a resume may wait.
const POLL: Duration = Duration::from_millis(10);

/// The longest that one look at a partition's end may take.
const STALL_LOOK: Duration = Duration::from_secs(1);

/// The longest that leaving the group may take before the thread gives up on its client.
const LEAVE_DEADLINE: Duration = Duration::from_secs(10);

pub(super) fn run(
    options: &MemberOptions,
    to_engine: mpsc::Sender<FromKafka>,
    commands: blocking::Receiver<ToKafka>,
    heartbeat: Arc<Heartbeat>,
) {
    let news = to_engine.clone();
    let context = Context {
        lanes: Arc::clone(&options.lanes),
        to_engine,
        commands: Mutex::new(commands),
        commits: Mutex::new(Commits::default()),
        assigned: Mutex::new(BTreeSet::new()),
        awaited: Mutex::new(BTreeSet::new()),
        paused: Mutex::new(BTreeSet::new()),
        drain_deadline: options.drain_deadline,
        closing: AtomicBool::new(false),
        heartbeat: Arc::clone(&heartbeat),
    };
    let (member, ended) = match member(options, context) {
        Ok(member) => {
            let ended = serve(&member, options, &heartbeat);
            (Some(member), ended)
        }
        Err(error) => (None, Err(error)),
    };
    // The engine may be gone; then nobody waits for this.
    let _ = news.blocking_send(FromKafka::Ended(ended.err()));
    // Closing the client can hang (rust-rdkafka #509, #453): after the word, so that the engine's deadline holds.
    drop(member);
}

fn member(options: &MemberOptions, context: Context) -> Result<BaseConsumer<Context>, KafkaError> {
    let member = BaseConsumer::from_config_and_context(&options.client, context)?;
    member.subscribe(&options.lanes.topic_names())?;
    Ok(member)
}

fn serve(
    member: &BaseConsumer<Context>,
    options: &MemberOptions,
    heartbeat: &Heartbeat,
) -> Result<(), KafkaError> {
    let context = Arc::clone(member.context());
    let mut committed_at = Instant::now();
    let mut stall = StallWatch::new(options.progress_deadline);
    loop {
        heartbeat.beat();
        if let Some(ToKafka::Close) = context.obey(member) {
            context.closing.store(true, Ordering::Relaxed);
        }
        if context.closing.load(Ordering::Relaxed) || context.to_engine.is_closed() {
            leave(member, heartbeat);
            return Ok(());
        }
        match member.poll(POLL) {
            Some(Ok(record)) => {
                stall.fetched();
                if let Some(intake) = options.decoder.take_in(&options.lanes, record.detach()) {
                    let _ = context
                        .to_engine
                        .blocking_send(FromKafka::Record(Box::new(intake)));
                }
            }
            Some(Err(error)) => tolerate(error)?,
            None => stall.check(member)?,
        }
        if committed_at.elapsed() >= options.commit_interval {
            context.commit(member, CommitMode::Async);
            committed_at = Instant::now();
        }
    }
}

/// What the client mends by itself is logged; what it does not ends this member, and the engine makes a new one.
fn tolerate(error: KafkaError) -> Result<(), KafkaError> {
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::Fatal | RDKafkaErrorCode::PollExceeded) => Err(error),
        Some(_) | None => {
            warn!(error = %error, "kafka member");
            Ok(())
        }
    }
}

/// Leaves in order: the revocation drains and commits.
fn leave(member: &BaseConsumer<Context>, heartbeat: &Heartbeat) {
    member.unsubscribe();
    let until = Instant::now() + LEAVE_DEADLINE;
    while Instant::now() < until {
        heartbeat.beat();
        let left = member.assignment().is_ok_and(|list| list.count() == 0);
        if left {
            break;
        }
        // Records that still come are left to the next owner.
        drop(member.poll(POLL));
    }
    member.context().commit(member, CommitMode::Sync);
    info!("left the group");
}

/// Notices a client that stopped fetching (rust-rdkafka #638, #665): records are there, none comes.
struct StallWatch {
    deadline: Duration,
    last: Instant,
    checked: Instant,
}

impl StallWatch {
    fn new(deadline: Duration) -> Self {
        Self {
            deadline,
            last: Instant::now(),
            checked: Instant::now(),
        }
    }

    fn fetched(&mut self) {
        self.last = Instant::now();
    }

    /// Compares positions with the ends, when nothing came for a whole deadline and at most that often.
    fn check(&mut self, member: &BaseConsumer<Context>) -> Result<(), KafkaError> {
        if self.last.elapsed() < self.deadline || self.checked.elapsed() < self.deadline {
            return Ok(());
        }
        self.checked = Instant::now();
        if behind(member) {
            warn!(
                "records wait and none was fetched for {:?}: a new member is made",
                self.deadline
            );
            return Err(KafkaError::MessageConsumption(
                RDKafkaErrorCode::OperationTimedOut,
            ));
        }
        Ok(())
    }
}

/// Whether an unpaused partition has records beyond its position. A broker that does not answer says nothing, and
/// ends the look: the thread must come round.
fn behind(member: &BaseConsumer<Context>) -> bool {
    let Ok(positions) = member.position() else {
        return false;
    };
    let context = member.context();
    for element in positions.elements() {
        let id = context.lanes.id(element.topic(), element.partition());
        let paused = id.is_none_or(|id| lock(&context.paused).contains(&id));
        let Offset::Offset(position) = element.offset() else {
            continue;
        };
        if paused {
            continue;
        }
        match member.fetch_watermarks(element.topic(), element.partition(), STALL_LOOK) {
            Ok((_, end)) if end > position => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    false
}
