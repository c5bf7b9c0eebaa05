//! What a worker tells of itself: `/health` and `/ready`, metrics, and one wide line a record.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metrics::{counter, gauge, histogram};
use rdkafka::Message as _;
use rdkafka::message::OwnedMessage;
use serde_json::json;
use tidings_delivery::{CircuitState, Load, Outcome, PartitionId, Settlement};
use tidings_edge::http::{HealthReport, HealthSource, HealthStatus};
use tidings_edge::rate_limit::View;
use tidings_edge::telemetry::metric_names;
use tidings_envelope::Message;
use tidings_platforms::Verdict;
use tracing::{info, warn};

use crate::calls::now_micros;
use crate::consumer::{LaneTopic, Lanes};

/// Counts since the start, and the newest load.
pub(crate) struct Stats {
    dispatched: AtomicU64,
    failed: AtomicU64,
    suppressed: AtomicU64,
    fenced: AtomicU64,
    records: AtomicUsize,
    bytes: AtomicUsize,
    calls: AtomicUsize,
    partitions: AtomicUsize,
    paused: AtomicUsize,
    assigned: AtomicBool,
    state_away: AtomicBool,
    kafka_away: AtomicBool,
    limit_closed: AtomicBool,
    deferred_chats: AtomicUsize,
    /// Messages that each account could send now; none where nothing is limited or known.
    tokens: Mutex<BTreeMap<String, Option<f64>>>,
    stopping: AtomicBool,
}

/// What is said about a record when it leaves (B24).
pub(crate) struct Line<'a> {
    pub(crate) lane: &'a LaneTopic,
    pub(crate) group: &'a str,
    pub(crate) record: &'a OwnedMessage,
    pub(crate) message: Option<&'a Message>,
    pub(crate) outcome: Outcome,
    pub(crate) attempts: u32,
    pub(crate) reason: &'a str,
    /// The last verdict's word; `none` without an attempt.
    pub(crate) class: &'static str,
    pub(crate) duration: Duration,
}

/// What happens to a message of a deferred chat.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DeferralStep {
    Written,
    Loaded,
    Removed,
}

impl DeferralStep {
    fn word(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Loaded => "loaded",
            Self::Removed => "removed",
        }
    }
}

impl Stats {
    pub(crate) fn new(accounts: Vec<String>) -> Self {
        Self {
            dispatched: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            suppressed: AtomicU64::new(0),
            fenced: AtomicU64::new(0),
            records: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
            partitions: AtomicUsize::new(0),
            paused: AtomicUsize::new(0),
            assigned: AtomicBool::new(false),
            state_away: AtomicBool::new(false),
            kafka_away: AtomicBool::new(false),
            limit_closed: AtomicBool::new(true),
            deferred_chats: AtomicUsize::new(0),
            tokens: Mutex::new(accounts.into_iter().map(|name| (name, None)).collect()),
            stopping: AtomicBool::new(false),
        }
    }

    pub(crate) fn load(&self, load: Load, assigned: bool) {
        self.records.store(load.records, Ordering::Relaxed);
        self.bytes.store(load.bytes, Ordering::Relaxed);
        self.calls.store(load.calls, Ordering::Relaxed);
        self.partitions.store(load.partitions, Ordering::Relaxed);
        self.paused.store(load.paused, Ordering::Relaxed);
        self.assigned.store(assigned, Ordering::Relaxed);
        set_gauge(metric_names::QUEUE_RECORDS, load.records);
        set_gauge(metric_names::TARGETS, load.targets);
        set_gauge(metric_names::QUEUE_BYTES, load.bytes);
        set_gauge(metric_names::IN_FLIGHT, load.calls);
        set_gauge(metric_names::PAUSED_PARTITIONS, load.paused);
        self.deferred_chats
            .store(load.deferred_chats, Ordering::Relaxed);
        set_gauge(metric_names::DEFERRED_CHATS, load.deferred_chats);
    }

    /// Messages that wait in Postgres.
    pub(crate) fn deferred_messages(&self, messages: u64) {
        set_gauge(
            metric_names::DEFERRED_MESSAGES,
            usize::try_from(messages).unwrap_or(usize::MAX),
        );
    }

    /// Messages of deferred chats went a step.
    pub(crate) fn deferral(&self, lane: &LaneTopic, step: DeferralStep, messages: usize) {
        counter!(
            metric_names::DEFERRED_MESSAGES_TOTAL,
            "platform" => lane.platform.clone(), "lane" => lane.lane, "step" => step.word()
        )
        .increment(u64::try_from(messages).unwrap_or(u64::MAX));
    }

    pub(crate) fn stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Whether the newest statement had no answer.
    pub(crate) fn state_away(&self, away: bool) {
        self.state_away.store(away, Ordering::Relaxed);
    }

    pub(crate) fn is_state_away(&self) -> bool {
        self.state_away.load(Ordering::Relaxed)
    }

    pub(crate) fn kafka_away(&self, away: bool) {
        self.kafka_away.store(away, Ordering::Relaxed);
    }

    pub(crate) fn limit_closed(&self, closed: bool) {
        self.limit_closed.store(closed, Ordering::Relaxed);
    }

    /// What the shared limit leaves each account, and what it holds (Q6).
    pub(crate) fn limits(&self, view: &View) {
        let mut tokens = self.tokens();
        for scope in &view.scopes {
            #[allow(clippy::cast_precision_loss)]
            let free = scope.free.map(|free| free as f64);
            let Some(known) = tokens.get_mut(&scope.scope) else {
                continue;
            };
            *known = free;
            gauge!(metric_names::LIMIT_TOKENS, "scope" => scope.scope.clone())
                .set(free.unwrap_or(f64::INFINITY));
            let longest = scope
                .holds
                .iter()
                .map(|held| view.time.until(held.hold.until));
            gauge!(metric_names::LIMIT_PENALTY_SECONDS, "scope" => scope.scope.clone())
                .set(longest.max().unwrap_or_default().as_secs_f64());
        }
    }

    /// An account's circuit: 0 closed, 1 half open, 2 open (reference/conventions.md).
    pub(crate) fn circuit(&self, account: &str, state: CircuitState) {
        let state = match state {
            CircuitState::Closed => 0.0,
            CircuitState::HalfOpen => 1.0,
            CircuitState::Open { .. } => 2.0,
        };
        gauge!(metric_names::CIRCUIT_STATE, "account" => self.known_account(account)).set(state);
    }

    /// Whether an event type's would-be dead letters are held back.
    pub(crate) fn dead_letters_held(event_type: &str, held: bool) {
        gauge!(metric_names::DEAD_LETTERS_HELD, "event_type" => event_type.to_owned())
            .set(f64::from(u8::from(held)));
    }

    fn tokens(&self) -> MutexGuard<'_, BTreeMap<String, Option<f64>>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How old the oldest record of each lane is that has no end here yet.
    pub(crate) fn oldest<'a>(
        &self,
        lanes: &Lanes,
        records: impl Iterator<Item = (PartitionId, &'a OwnedMessage)>,
    ) {
        let mut oldest: BTreeMap<u16, i64> = BTreeMap::new();
        for (id, record) in records {
            let written = record.timestamp().to_millis().unwrap_or(i64::MAX);
            let least = oldest.entry(id.lane).or_insert(written);
            *least = (*least).min(written);
        }
        let now_millis = now_micros() / 1_000;
        for (id, lane) in lanes.numbered() {
            let age_millis = oldest
                .get(&id)
                .map_or(0, |written| now_millis.saturating_sub(*written));
            let age = Duration::from_millis(u64::try_from(age_millis).unwrap_or(0));
            gauge!(
                metric_names::LANE_OLDEST_AGE_SECONDS,
                "platform" => lane.platform.clone(), "lane" => lane.lane
            )
            .set(age.as_secs_f64());
        }
    }

    /// What it needs and does not have, one sentence each.
    fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if self.is_state_away() {
            missing.push("the state database does not answer: nothing is claimed or sent".into());
        }
        if self.kafka_away.load(Ordering::Relaxed) {
            missing.push("no broker is connected".into());
        }
        if self.limit_closed.load(Ordering::Relaxed) {
            missing.push("the rate-limit topic is not read: no permits, nothing is sent".into());
        }
        missing
    }

    pub(crate) fn fenced(&self) {
        self.fenced.fetch_add(1, Ordering::Relaxed);
        counter!(metric_names::FENCED_TOTAL).increment(1);
    }

    pub(crate) fn attempt(&self, message: Option<&Message>, verdict: &Verdict, took: Duration) {
        let Some(to) = message.and_then(|m| m.envelope.destination.as_ref()) else {
            return;
        };
        let (platform, account) = (
            to.platform.clone(),
            self.account_label(&to.platform, &to.account),
        );
        counter!(
            metric_names::ATTEMPTS_TOTAL,
            "platform" => platform.clone(), "account" => account.clone(), "verdict" => verdict.name()
        )
        .increment(1);
        histogram!(metric_names::ATTEMPT_DURATION_SECONDS, "platform" => platform, "account" => account)
            .record(took.as_secs_f64());
        histogram!(metric_names::HTTP_CLIENT_REQUEST_DURATION_SECONDS, "http_request_method" => "POST")
            .record(took.as_secs_f64());
    }

    /// An account that nobody configured comes from a topic: it makes no label of its own.
    fn account_label(&self, platform: &str, account: &str) -> String {
        self.known_account(&format!("{platform}:{account}"))
    }

    fn known_account(&self, name: &str) -> String {
        if self.tokens().contains_key(name) {
            name.to_owned()
        } else {
            "unknown".into()
        }
    }

    pub(crate) fn finished(&self, line: &Line<'_>) {
        match line.outcome {
            Outcome::Settled(Settlement::Delivered) => {
                self.dispatched.fetch_add(1, Ordering::Relaxed);
                observe_latency(line);
            }
            Outcome::Settled(_) | Outcome::Poison => {
                self.failed.fetch_add(1, Ordering::Relaxed);
            }
            Outcome::Duplicate(_) => {
                self.suppressed.fetch_add(1, Ordering::Relaxed);
            }
            Outcome::Fenced | Outcome::Handed | Outcome::Deferred => {}
        }
        self.count(line);
        log(line);
    }

    fn count(&self, line: &Line<'_>) {
        let account = line
            .message
            .and_then(|m| m.envelope.destination.as_ref())
            .map_or_else(
                || "none".into(),
                |to| self.account_label(&to.platform, &to.account),
            );
        let event_type = line.message.map_or("none", |m| m.event.name()).to_owned();
        counter!(
            metric_names::DELIVERIES_TOTAL,
            "platform" => line.lane.platform.clone(), "account" => account, "lane" => line.lane.lane,
            "event_type" => event_type, "outcome" => word(line.outcome)
        )
        .increment(1);
        histogram!(metric_names::MESSAGING_PROCESS_DURATION_SECONDS)
            .record(line.duration.as_secs_f64());
    }
}

impl HealthSource for Stats {
    fn health(&self) -> HealthReport {
        let mut role_fields = serde_json::Map::new();
        for (name, value) in [
            ("suppressed", json!(self.suppressed.load(Ordering::Relaxed))),
            ("fenced", json!(self.fenced.load(Ordering::Relaxed))),
            ("in_flight", json!(self.calls.load(Ordering::Relaxed))),
            ("queue_bytes", json!(self.bytes.load(Ordering::Relaxed))),
            ("partitions", json!(self.partitions.load(Ordering::Relaxed))),
            (
                "paused_partitions",
                json!(self.paused.load(Ordering::Relaxed)),
            ),
            (
                "deferred_chats",
                json!(self.deferred_chats.load(Ordering::Relaxed)),
            ),
        ] {
            role_fields.insert(name.into(), value);
        }
        HealthReport {
            status: if self.stopping.load(Ordering::Relaxed) {
                HealthStatus::Stopping
            } else if self.missing().is_empty() {
                HealthStatus::Ok
            } else {
                HealthStatus::Degraded
            },
            dispatched: self.dispatched.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            queue_depth: self.records.load(Ordering::Relaxed) as u64,
            rate_limiter_tokens: self.tokens().clone(),
            role_fields,
        }
    }

    fn ready(&self) -> Result<(), Vec<String>> {
        if self.stopping.load(Ordering::Relaxed) {
            return Err(vec!["the worker is stopping".into()]);
        }
        let mut missing = self.missing();
        if !self.assigned.load(Ordering::Relaxed) {
            missing.push(
                "no partition is assigned yet: the group is rebalancing, or has more workers than partitions".into(),
            );
        }
        if missing.is_empty() {
            Ok(())
        } else {
            Err(missing)
        }
    }
}

fn set_gauge(name: &'static str, value: usize) {
    #[allow(clippy::cast_precision_loss)]
    gauge!(name).set(value as f64);
}

fn observe_latency(line: &Line<'_>) {
    let Some(message) = line.message else {
        return;
    };
    let micros = now_micros()
        .saturating_sub(message.envelope.recorded_at.0)
        .max(0);
    histogram!(
        metric_names::DELIVERY_LATENCY_SECONDS,
        "platform" => line.lane.platform.clone(), "lane" => line.lane.lane
    )
    .record(Duration::from_micros(micros.unsigned_abs()).as_secs_f64());
}

/// The outcome's word in metrics, logs and traces.
pub(crate) fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Settled(settlement) => settlement.word(),
        Outcome::Poison => "poison",
        Outcome::Duplicate(_) => "duplicate",
        Outcome::Fenced => "fenced",
        Outcome::Handed => "handed",
        Outcome::Deferred => "deferred",
    }
}

/// Delivered, suppressed and deferred ones are for those who ask; the rest is for the operator.
fn log(line: &Line<'_>) {
    let envelope = line.message.map(|m| &m.envelope);
    macro_rules! wide {
        ($level:ident) => {
            $level!(
                trace_id = crate::traces::trace_id(line.record),
                message_id = envelope.map(|e| tracing::field::display(e.message_id)),
                event_type = line.message.map(|m| m.event.name()),
                owner = line.message.map(|m| m.event.owner()),
                topic = line.record.topic(),
                partition = line.record.partition(),
                offset = line.record.offset(),
                consumer = line.group,
                attempts = line.attempts,
                aggregate_id = envelope.and_then(|e| e.aggregate_id.as_deref()),
                correlation_id = envelope.and_then(|e| e.correlation_id.as_deref()),
                duration_ms = u64::try_from(line.duration.as_millis()).unwrap_or(u64::MAX),
                outcome = word(line.outcome),
                class = line.class,
                reason = line.reason,
                "record"
            )
        };
    }
    match line.outcome {
        Outcome::Settled(Settlement::Delivered) | Outcome::Duplicate(_) | Outcome::Deferred => {
            use tracing::debug;
            wide!(debug);
        }
        Outcome::Handed => wide!(info),
        Outcome::Settled(_) | Outcome::Poison | Outcome::Fenced => wide!(warn),
    }
}
