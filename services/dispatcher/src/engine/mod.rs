//! One loop that owns the machine: events in, effects performed in one exhaustive `match` (`perform.rs`).

mod accounts;
mod assignment;
mod changes;
mod credentials;
mod deferral;
mod intake;
mod perform;
mod permits;
mod targets;
mod unresolved;

use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::message::OwnedMessage;
use tidings_delivery::{Effect, Event, Machine, Moment, Now, PartitionId, PermitId, SlotId};
use tidings_edge::config::UnknownPolicy;
use tidings_edge::rate_limit::{Limits, Notices, StoppedWhy, Want};
use tidings_edge::registry::SchemaCache;
use tidings_edge::targets::TargetRow;
use tidings_edge::telemetry::Traces;
use tidings_envelope::Message;
use tidings_platforms::{Classified, Secret};
use tokio::sync::mpsc;
use tracing::{error, info, warn};

use crate::calls::Caller;
use crate::claims::{Answered, Claims, Key, Store};
use crate::consumer::{Begins, FromKafka, Lanes, Member, MemberOptions, ToKafka};
use crate::dead_letters::SharedDeadLetters;
use crate::decode::Decoder;
use crate::deferral::{DeferralAnswered, DeferralStore, Deferrals};
use crate::lag::Lag;
use crate::state::Queues;
use crate::stats::Stats;
use crate::targets::Registry;
use crate::traces::MessageTrace;

use assignment::{Assignment, TakenOver};
pub use changes::Change;
use credentials::Stopped;
use deferral::{DeferralLooks, DeferralsSeen};
use permits::PermitWait;
use unresolved::Unresolved;

/// Answers of one kind taken in a row before the other kinds are looked at.
const EVENTS_IN_A_ROW: usize = 512;

/// How often gauges are set and the member's thread is looked at.
const HOUSEKEEPING: Duration = Duration::from_millis(250);

/// How often the limits' gauges are set: a look holds the limiter's lock, and calls wait for it.
const LIMITS_LOOK: Duration = Duration::from_secs(1);

/// The wait before a group member that ended is replaced.
const REJOIN_WAIT: Duration = Duration::from_secs(1);

/// Beyond the last call's deadline, for recording what it did.
const RECORDING_WAIT: Duration = Duration::from_secs(5);

/// What one record is held with.
pub(super) struct Payload {
    pub(super) partition: PartitionId,
    pub(super) record: Arc<OwnedMessage>,
    pub(super) message: Option<Arc<Message>>,
    pub(super) key: Option<Key>,
    pub(super) received: Instant,
    /// The wait for the permit of its next call.
    pub(super) wanted: Option<PermitWait>,
    /// The platform's or the failure's last words.
    pub(super) last_reason: Arc<str>,
    /// The last attempt's verdict, the class of B24.
    pub(super) class: &'static str,
    /// `None` when it is not sampled.
    pub(super) trace: Option<MessageTrace>,
}

/// What comes back from what the engine started.
pub(super) enum Input {
    Answered {
        slot: SlotId,
        /// Whether the platform was called.
        called: bool,
        classified: Classified,
        took: Duration,
    },
    /// The last look said that nothing may go out.
    NotCalled(PermitId),
    DeadLettered {
        slot: SlotId,
        acknowledged: bool,
    },
    Epochs {
        round: u64,
        taken: HashMap<(String, i32), TakenOver>,
    },
    /// Where partitions with deferred chats are fetched from.
    Begins(Vec<Begins>),
    /// What a look at the deferred chats found.
    DeferralsSeen(DeferralsSeen),
    Schema {
        id: u32,
        schema_json: Result<String, String>,
    },
    /// Whether Postgres answered a question that was asked for its own sake.
    StateProbed {
        answered: bool,
    },
    /// Another credential of an account was found.
    Credential(Arc<str>, Secret),
    /// What the registry of targets says.
    Targets(Vec<TargetRow>),
    /// An operator changed something.
    Changed(Change),
    /// Something that no wait mends.
    Stop(EngineError),
}

/// Why a worker ends although nobody asked it to.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A schema id means something else than before: nothing may be decoded any more (design §5).
    #[error(
        "the registry changed what a schema id means; restore its storage, or clear tidings_delivery.schema_ids after checking"
    )]
    SchemaIdChanged(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The group member's thread does not come round.
    #[error(
        "the kafka member has been stuck for {0:?}; the process ends so that its supervisor starts it afresh"
    )]
    MemberStuck(Duration),
    /// The rate-limit topic demands what this build can not do.
    #[error("the shared limit can not be kept: {0}")]
    Limit(StoppedWhy),
    /// The group member could not be started.
    #[error("the kafka member could not be started")]
    Member(#[source] std::io::Error),
}

/// What an engine is made of.
pub(crate) struct Parts {
    pub(crate) machine: Machine,
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) decoder: Arc<Decoder>,
    pub(crate) schemas: Arc<SchemaCache>,
    pub(crate) store: Arc<Store>,
    pub(crate) claims: Claims,
    pub(crate) answers: mpsc::UnboundedReceiver<Answered>,
    pub(crate) deferral_store: Arc<DeferralStore>,
    pub(crate) deferrals: Deferrals,
    pub(crate) deferral_answers: mpsc::UnboundedReceiver<DeferralAnswered>,
    /// Those of `claims` and `deferrals`.
    pub(crate) queues: Queues,
    pub(crate) caller: Arc<Caller>,
    pub(crate) targets: Registry,
    pub(crate) limits: Limits,
    pub(crate) notices: Notices,
    pub(crate) dead_letters: SharedDeadLetters,
    pub(crate) dead_letter_topics: HashMap<String, Arc<str>>,
    pub(crate) member: Box<dyn Fn() -> MemberOptions + Send>,
    pub(crate) stats: Arc<Stats>,
    pub(crate) lag: Lag,
    pub(crate) traces: Traces,
    pub(crate) policies: BTreeMap<String, UnknownPolicy>,
    pub(crate) group: String,
    pub(crate) backlog_after: Duration,
    pub(crate) drain_deadline: Duration,
    pub(crate) call_deadline: Duration,
    pub(crate) progress_deadline: Duration,
    pub(crate) deferred_poll: Duration,
}

/// The loop's own state.
pub(crate) struct Engine {
    parts: Parts,
    began: Instant,
    effects: Vec<Effect>,
    /// Asked of the limiter in one go, so that they share a record.
    wants: Vec<Want>,
    payloads: HashMap<SlotId, Payload>,
    next_slot: u64,
    unresolved: Unresolved,
    assignment: Assignment,
    deferral_looks: DeferralLooks,
    inputs: mpsc::UnboundedSender<Input>,
    from_engine: mpsc::UnboundedReceiver<Input>,
    member: Option<Member>,
    rejoin_at: Option<Instant>,
    /// A question to a Postgres that did not answer before is on its way.
    probing: bool,
    stopped: Stopped,
    limits_seen: Instant,
    /// When a stopping worker that has left the group ends at the latest.
    leave_at: Option<Instant>,
    stopping: bool,
}

impl Engine {
    pub(crate) fn new(parts: Parts) -> Self {
        let (inputs, from_engine) = mpsc::unbounded_channel();
        Self {
            parts,
            began: Instant::now(),
            effects: Vec::new(),
            wants: Vec::new(),
            payloads: HashMap::new(),
            next_slot: 0,
            unresolved: Unresolved::default(),
            assignment: Assignment::default(),
            deferral_looks: DeferralLooks::default(),
            inputs,
            from_engine,
            member: None,
            rejoin_at: None,
            probing: false,
            stopped: Stopped::default(),
            limits_seen: Instant::now(),
            leave_at: None,
            stopping: false,
        }
    }

    /// Runs until `shutdown` ends and everything is drained, or something breaks that no wait mends.
    pub(crate) async fn run(
        mut self,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), EngineError> {
        let mut shutdown = pin!(shutdown);
        let mut from_kafka = self.join_group()?;
        let registry = tokio::spawn(unresolved::watch_registry(
            Arc::clone(&self.parts.schemas),
            self.inputs.clone(),
        ));
        let targets = self.watch_targets();
        let mut housekeeping = tokio::time::interval(HOUSEKEEPING);
        loop {
            // First: a permit is good for 20 ms, and the branches below may never run dry.
            if self.wake_at() <= Instant::now() {
                self.wake();
            }
            let wake = self.wake_at();
            tokio::select! {
                biased;
                () = &mut shutdown, if !self.stopping => self.stop(),
                Some(answer) = self.parts.answers.recv() => self.take_answers(answer),
                Some(answer) = self.parts.deferral_answers.recv() => self.take_deferral_answers(answer),
                Some(input) = self.from_engine.recv() => self.take_inputs(input)?,
                notice = self.parts.notices.recv() => self.take_notices(notice)?,
                Some(news) = from_kafka.recv() => {
                    self.take_news(news);
                }
                () = tokio::time::sleep_until(wake.into()) => self.wake(),
                _ = housekeeping.tick() => self.keep_house()?,
            }
            self.ask_for_permits();
            if self.done() {
                break;
            }
            if self.rejoin_at.is_some_and(|at| at <= Instant::now()) {
                self.rejoin_at = None;
                from_kafka = self.join_group()?;
            }
        }
        registry.abort();
        targets.abort();
        self.finish().await;
        Ok(())
    }

    fn join_group(&mut self) -> Result<mpsc::Receiver<FromKafka>, EngineError> {
        let (member, news) = Member::start((self.parts.member)()).map_err(EngineError::Member)?;
        self.member = Some(member);
        Ok(news)
    }

    fn stop(&mut self) {
        info!("stopping: nothing new starts, what is in flight is finished");
        self.stopping = true;
        self.rejoin_at = None;
        self.parts.stats.stopping();
        match self.member {
            Some(_) => self.ask(ToKafka::Close),
            None => self.left_group(),
        }
    }

    /// Nothing comes any more. Calls that are out are waited for, because what they did must be recorded: partitions
    /// change hands within the drain deadline, which may be shorter than a call.
    fn left_group(&mut self) {
        let longest = self.parts.call_deadline + RECORDING_WAIT;
        self.leave_at = Some(Instant::now() + longest);
    }

    fn done(&self) -> bool {
        let Some(at) = self.leave_at else {
            return false;
        };
        self.parts.machine.load().records == 0 || at <= Instant::now()
    }

    async fn finish(mut self) {
        if let Some(member) = self.member.take()
            && !member.join(self.parts.drain_deadline).await
        {
            warn!("the kafka client did not close in time; the process' end takes it");
        }
        let Parts {
            claims,
            deferrals,
            queues,
            drain_deadline,
            ..
        } = self.parts;
        drop((claims, deferrals));
        queues.finish(drain_deadline).await;
    }

    fn ask(&self, command: ToKafka) {
        if let Some(member) = &self.member {
            member.ask(command);
        }
    }

    fn now(&self) -> Now {
        Now {
            moment: self.moment(),
            wall_micros: self.parts.store.clock().now_micros(),
        }
    }

    fn moment(&self) -> Moment {
        Moment(u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// Hands one event to the machine and performs what it wants done.
    fn tell(&mut self, event: Event) {
        let now = self.now();
        let mut effects = std::mem::take(&mut self.effects);
        self.parts.machine.handle(event, now, &mut effects);
        for effect in effects.drain(..) {
            self.perform(effect);
        }
        self.effects = effects;
    }

    fn wake_at(&self) -> Instant {
        let far = Instant::now() + Duration::from_secs(3_600);
        let timer = self
            .parts
            .machine
            .next_timer()
            .map(|moment| self.began + Duration::from_micros(moment.0));
        [
            timer,
            self.assignment.drain_until(),
            self.rejoin_at,
            self.leave_at,
        ]
        .into_iter()
        .flatten()
        .min()
        .map_or(far, |at| at.min(far))
    }

    fn wake(&mut self) {
        self.tell(Event::Tick);
        self.drain_deadline();
    }

    fn take_answers(&mut self, first: Answered) {
        self.take_answer(first);
        for _ in 1..EVENTS_IN_A_ROW {
            let Ok(answer) = self.parts.answers.try_recv() else {
                return;
            };
            self.take_answer(answer);
        }
    }

    fn take_answer(&mut self, answer: Answered) {
        self.parts.stats.state_away(answer.is_failure());
        if answer.is_refusal() {
            self.parts.stats.fenced();
        }
        self.trace_answer(&answer);
        self.tell(match answer {
            Answered::Claim {
                slot,
                asked_at,
                outcome,
                ..
            } => Event::Claimed {
                slot,
                asked_at,
                outcome,
            },
            Answered::Start { slot, answer, .. } => Event::Started { slot, answer },
            Answered::Settle { slot, answer, .. } => Event::Recorded { slot, answer },
        });
    }

    fn trace_answer(&self, answer: &Answered) {
        let (Answered::Claim {
            slot, statement, ..
        }
        | Answered::Start {
            slot, statement, ..
        }
        | Answered::Settle {
            slot, statement, ..
        }) = answer;
        let Some(payload) = self.payloads.get(slot) else {
            return;
        };
        match (&payload.trace, answer) {
            (None, _) => {}
            (Some(trace), Answered::Settle { .. }) => trace.settled(&payload.record, statement),
            (Some(trace), Answered::Claim { .. } | Answered::Start { .. }) => {
                trace.statement(statement);
            }
        }
    }

    fn take_inputs(&mut self, first: Input) -> Result<(), EngineError> {
        self.take_input(first)?;
        for _ in 1..EVENTS_IN_A_ROW {
            let Ok(input) = self.from_engine.try_recv() else {
                break;
            };
            self.take_input(input)?;
        }
        Ok(())
    }

    fn take_input(&mut self, input: Input) -> Result<(), EngineError> {
        match input {
            Input::Answered {
                slot,
                called,
                classified,
                took,
            } => self.answered(slot, called, classified, took),
            Input::NotCalled(permit) => self.tell(Event::NotCalled(permit)),
            Input::DeadLettered { slot, acknowledged } => {
                self.tell(Event::DeadLettered { slot, acknowledged });
            }
            Input::Epochs { round, taken } => self.epochs(round, taken),
            Input::Begins(begins) => self.begins(begins),
            Input::DeferralsSeen(seen) => self.deferrals_seen(seen),
            Input::Schema { id, schema_json } => self.schema(id, schema_json),
            Input::StateProbed { answered } => {
                self.probing = false;
                self.parts.stats.state_away(!answered);
            }
            Input::Credential(account, token) => self.new_credential(account, token),
            Input::Targets(rows) => self.targets(rows),
            Input::Changed(change) => self.take_change(change),
            Input::Stop(error) => return Err(error),
        }
        Ok(())
    }

    fn answered(&mut self, slot: SlotId, called: bool, classified: Classified, took: Duration) {
        if called {
            self.parts.lag.called(took);
        }
        let reason: Arc<str> = classified.reason.into();
        if let Some(payload) = self.payloads.get_mut(&slot) {
            payload.last_reason = Arc::clone(&reason);
            payload.class = classified.verdict.name();
            self.parts
                .stats
                .attempt(payload.message.as_deref(), &classified.verdict, took);
        }
        self.tell(Event::Answered {
            slot,
            called,
            verdict: classified.verdict,
            reason,
        });
    }

    fn take_news(&mut self, news: FromKafka) {
        match news {
            FromKafka::Record(intake) => self.take_in(*intake),
            FromKafka::Assigned(ids) => self.assigned(ids),
            FromKafka::Revoked(ids) => self.revoked(ids),
            FromKafka::Lost(ids) => self.lost(&ids),
            FromKafka::Ended(error) => self.member_ended(error),
        }
    }

    fn member_ended(&mut self, error: Option<rdkafka::error::KafkaError>) {
        self.lose_everything();
        if self.stopping {
            self.left_group();
            return;
        }
        error!(
            error = error.as_ref().map(tracing::field::display),
            "the kafka member ended; it joins the group again"
        );
        if let Some(member) = self.member.take() {
            let deadline = self.parts.drain_deadline;
            tokio::spawn(async move { member.join(deadline).await });
        }
        self.rejoin_at = Some(Instant::now() + REJOIN_WAIT);
    }

    /// A worker that has nothing to write would never learn that Postgres is back.
    fn probe_state(&mut self) {
        if self.probing || !self.parts.stats.is_state_away() {
            return;
        }
        self.probing = true;
        let (store, inputs) = (Arc::clone(&self.parts.store), self.inputs.clone());
        tokio::spawn(async move {
            let answered = store.ping().await.is_ok();
            // Closed means that the worker ended.
            let _ = inputs.send(Input::StateProbed { answered });
        });
    }

    fn keep_house(&mut self) -> Result<(), EngineError> {
        self.probe_state();
        self.look_at_deferrals();
        let stats = &self.parts.stats;
        if self.limits_seen.elapsed() >= LIMITS_LOOK {
            self.limits_seen = Instant::now();
            let view = self.parts.limits.view();
            stats.limits(&view);
            let held = self.payloads.values().map(|p| (p.partition, &*p.record));
            let owns = |id| self.assignment.owns(id);
            self.parts.lag.tell(&view, owns, held);
        }
        stats.load(self.parts.machine.load(), self.assignment.is_settled());
        stats.kafka_away(self.member.as_ref().is_none_or(|m| !m.sees_a_broker()));
        stats.oldest(
            &self.parts.lanes,
            self.payloads.values().map(|p| (p.partition, &*p.record)),
        );
        let silent = self
            .member
            .as_ref()
            .map(Member::silent_for)
            .unwrap_or_default();
        // A thread that waits for a drain does not come round either, so both deadlines pass first.
        let longest = self.parts.progress_deadline + self.parts.drain_deadline * 2;
        if silent > longest {
            return Err(EngineError::MemberStuck(silent));
        }
        Ok(())
    }
}
