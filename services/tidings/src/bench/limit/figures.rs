//! What is made of what was seen.

use serde_json::{Value, json};

use super::calls::{Call, Kind, accepted, fairness, most_within};
use super::chaos::RETRY_AFTER_SECONDS;
use super::options::Chaos;
use super::plan::{High, Plan};
use super::run::Line;
use super::spans::{SECOND, Span};
use super::waits::percentile;

/// A group's limit, in messages a minute (reference/platforms.md, Telegram).
const GROUP_PER_MINUTE: f64 = 20.0;

/// The least share of its limit that an account uses while one of its chats is held.
const OTHERS_SHARE: f64 = 0.9;

/// The longest that what was held may take to go on after its penalty.
const RESUME_MS: f64 = 3_000.0;

/// How long after a 429 calls may arrive that were on their way, or that make the account's hold known.
const KNOWN: i64 = SECOND / 2;

/// What a run saw.
pub(super) struct Seen {
    /// Every call since the start.
    pub(super) calls: Vec<Call>,
    /// What was measured.
    pub(super) span: Span,
    /// Its seconds, those of restarts left out.
    pub(super) seconds: Vec<Span>,
    /// By how much the rate-limit topic grew.
    pub(super) records: i64,
    /// Milliseconds.
    pub(super) lone_waits: Vec<f64>,
    pub(super) high_waits: Vec<f64>,
}

/// What a run comes to. Shares are parts of the limits; `None` where the plan has no such thing.
pub(super) struct Figures {
    used_share: Option<f64>,
    used_share_whole: Option<f64>,
    seconds_counted: usize,
    over_limit: usize,
    in_penalty_calls: usize,
    most_in_a_second: usize,
    accepted: usize,
    records_per_message: Option<f64>,
    fairness: Option<f64>,
    workers_served: Option<usize>,
    lone_wait_p50_ms: Option<f64>,
    lone_wait_p99_ms: Option<f64>,
    high_wait_p50_ms: Option<f64>,
    high_wait_p99_ms: Option<f64>,
    high_took_p99_ms: Option<f64>,
    normal_pause_ms: Option<f64>,
    group_share: Option<f64>,
    held: Option<Held>,
}

/// What happened around a penalty.
struct Held {
    /// What was accepted while it lasted, as a part of the limit.
    share_meanwhile: f64,
    /// From its end to the next accepted call of what it held.
    resumed_after_ms: Option<f64>,
}

#[allow(clippy::cast_precision_loss)]
impl Figures {
    pub(super) fn of(plan: &Plan, mut seen: Seen) -> Self {
        let whole = seen.span.seconds_without(&[]);
        let calls = &seen.calls;
        let count = |is: fn(&Call) -> bool| calls.iter().filter(|call| is(call)).count();
        let served = workers_stay(plan).then(|| fairness(accepted(calls, &seen.seconds)));
        let served = served.flatten();
        let in_span = accepted(calls, &[seen.span]).count();
        let mut took: Vec<f64> = of_kind(calls, Kind::High)
            .filter_map(Call::took_ms)
            .collect();
        Self {
            used_share: used(plan, calls, &seen.seconds),
            used_share_whole: used(plan, calls, &whole),
            seconds_counted: seen.seconds.len(),
            over_limit: count(|call| call.over_limit),
            in_penalty_calls: count(|call| call.in_penalty),
            most_in_a_second: most_in_a_second(plan, calls),
            accepted: in_span,
            records_per_message: (seen.records >= 0 && in_span > 0)
                .then(|| seen.records as f64 / in_span as f64),
            fairness: served.map(|(fairness, _)| fairness),
            workers_served: served.map(|(_, workers)| workers),
            lone_wait_p50_ms: percentile(&mut seen.lone_waits, 0.5),
            lone_wait_p99_ms: percentile(&mut seen.lone_waits, 0.99),
            high_wait_p50_ms: percentile(&mut seen.high_waits, 0.5),
            high_wait_p99_ms: percentile(&mut seen.high_waits, 0.99),
            high_took_p99_ms: percentile(&mut took, 0.99),
            normal_pause_ms: (plan.high == High::Endless).then(|| longest_pause(calls, seen.span)),
            group_share: plan.group.then(|| group_share(calls, seen.span)),
            held: held(plan, calls, seen.span),
        }
    }

    pub(super) fn line(&self, plan: &Plan) -> Line {
        let broken = self.broken(plan);
        let json = json!({
            "bench": "limit", "scenario": plan.name, "ok": broken.is_empty(), "broken": broken,
            "workers": plan.workers, "accounts": plan.accounts, "seconds": plan.seconds, "limit_per_second": plan.per_second(),
            "chaos": plan.chaos.map(Chaos::word), "used_share": rounded(self.used_share), "used_share_whole": rounded(self.used_share_whole),
            "seconds_counted": self.seconds_counted, "accepted": self.accepted, "over_limit": self.over_limit,
            "in_penalty_calls": self.in_penalty_calls, "most_in_a_second": self.most_in_a_second,
            "records_per_message": rounded(self.records_per_message), "fairness": rounded(self.fairness), "workers_served": self.workers_served,
            "lone_wait_p50_ms": rounded(self.lone_wait_p50_ms), "lone_wait_p99_ms": rounded(self.lone_wait_p99_ms),
            "high_wait_p50_ms": rounded(self.high_wait_p50_ms), "high_wait_p99_ms": rounded(self.high_wait_p99_ms),
            "high_took_p99_ms": rounded(self.high_took_p99_ms), "normal_pause_ms": rounded(self.normal_pause_ms),
            "group_share": rounded(self.group_share),
            "share_in_penalty": rounded(self.held.as_ref().map(|held| held.share_meanwhile)),
            "resumed_after_ms": rounded(self.held.as_ref().and_then(|held| held.resumed_after_ms)),
        });
        Line {
            kept: broken.is_empty(),
            json: without_nulls(json),
        }
    }

    /// The promises that were not kept, each with what was seen.
    fn broken(&self, plan: &Plan) -> Vec<String> {
        let bounds = plan.bounds;
        let mut broken = Vec::new();
        if self.over_limit > 0 && !bounds.over_limit_is_shown {
            broken.push(format!("over_limit {} > 0", self.over_limit));
        }
        if self.in_penalty_calls > 0 {
            broken.push(format!("in_penalty_calls {} > 0", self.in_penalty_calls));
        }
        if self.accepted == 0 && plan.chaos != Some(Chaos::LongPenalty) {
            broken.push("nothing was accepted".into());
        }
        let least = |name, seen: Option<f64>, bound: Option<f64>| breach(name, seen, bound, true);
        let most = |name, seen: Option<f64>, bound: Option<f64>| breach(name, seen, bound, false);
        broken.extend(least("used_share", self.used_share, bounds.used_share));
        broken.extend(most(
            "lone_wait_p50_ms",
            self.lone_wait_p50_ms,
            bounds.lone_wait_p50_ms,
        ));
        broken.extend(most(
            "high_wait_p99_ms",
            self.high_wait_p99_ms,
            bounds.high_wait_p99_ms,
        ));
        broken.extend(most(
            "records_per_message",
            self.records_per_message,
            bounds.records_per_message,
        ));
        broken.extend(least("group_share", self.group_share, bounds.group_share));
        broken.extend(most(
            "normal_pause_ms",
            self.normal_pause_ms,
            bounds.normal_pause_ms,
        ));
        broken.extend(self.broken_around_penalty(plan));
        broken
    }

    fn broken_around_penalty(&self, plan: &Plan) -> Vec<String> {
        let held = self.held.as_ref();
        let (share, resumed) = (
            held.map(|held| held.share_meanwhile),
            held.and_then(|held| held.resumed_after_ms),
        );
        let resumes = || breach("resumed_after_ms", resumed, Some(RESUME_MS), false);
        match plan.chaos {
            Some(Chaos::Penalty) => {
                let others = breach("share_in_penalty", share, Some(OTHERS_SHARE), true);
                others.into_iter().chain(resumes()).collect()
            }
            Some(Chaos::AccountPenalty) => {
                let none = breach("share_in_penalty", share, Some(0.0), false);
                none.into_iter().chain(resumes()).collect()
            }
            Some(Chaos::LongPenalty) => breach("share_in_penalty", share, Some(0.0), false)
                .into_iter()
                .collect(),
            Some(
                Chaos::Kill
                | Chaos::RestartAll
                | Chaos::Clock
                | Chaos::Truncate
                | Chaos::Delete
                | Chaos::Broker,
            )
            | None => Vec::new(),
        }
    }
}

/// What is missing breaks a bound as well.
fn breach(name: &str, seen: Option<f64>, bound: Option<f64>, at_least: bool) -> Option<String> {
    let bound = bound?;
    match seen {
        None => Some(format!("{name} was not seen")),
        Some(seen) if at_least && seen < bound => Some(format!("{name} {seen:.4} < {bound}")),
        Some(seen) if !at_least && seen > bound => Some(format!("{name} {seen:.4} > {bound}")),
        Some(_) => None,
    }
}

/// Workers that are started again have other names.
fn workers_stay(plan: &Plan) -> bool {
    match plan.chaos {
        Some(Chaos::Kill | Chaos::RestartAll | Chaos::LongPenalty) => false,
        Some(
            Chaos::Penalty
            | Chaos::AccountPenalty
            | Chaos::Clock
            | Chaos::Truncate
            | Chaos::Delete
            | Chaos::Broker,
        )
        | None => true,
    }
}

fn of_kind(calls: &[Call], kind: Kind) -> impl Iterator<Item = &Call> {
    calls
        .iter()
        .filter(move |call| call.kind == Some(kind) && call.accepted)
}

#[allow(clippy::cast_precision_loss)]
fn used(plan: &Plan, calls: &[Call], seconds: &[Span]) -> Option<f64> {
    let limit = f64::from(plan.per_second()) * plan.accounts as f64 * seconds.len() as f64;
    (limit > 0.0).then(|| accepted(calls, seconds).count() as f64 / limit)
}

/// Of the account that had most.
fn most_in_a_second(plan: &Plan, calls: &[Call]) -> usize {
    let most = |account| {
        let alias = super::feed::alias(account);
        let calls: Vec<&Call> = calls.iter().filter(|call| call.account == alias).collect();
        most_within(&calls, SECOND)
    };
    (0..plan.accounts).map(most).max().unwrap_or(0)
}

#[allow(clippy::cast_precision_loss)]
fn longest_pause(calls: &[Call], span: Span) -> f64 {
    let mut longest = 0;
    let mut before = span.from;
    let moments = of_kind(calls, Kind::Normal)
        .map(|call| call.at)
        .filter(|at| span.has(*at));
    for moment in moments.chain(std::iter::once(span.to)) {
        longest = longest.max(moment - before);
        before = moment;
    }
    longest as f64 / 1_000.0
}

#[allow(clippy::cast_precision_loss)]
fn group_share(calls: &[Call], span: Span) -> f64 {
    let sent = of_kind(calls, Kind::Group)
        .filter(|call| span.has(call.at))
        .count() as f64;
    let minutes = (span.to - span.from) as f64 / SECOND as f64 / 60.0;
    sent / (GROUP_PER_MINUTE * minutes)
}

/// Around the first 429.
#[allow(clippy::cast_precision_loss)]
fn held(plan: &Plan, calls: &[Call], span: Span) -> Option<Held> {
    let first = calls.iter().find(|call| call.throttled)?;
    let ends = match plan.chaos? {
        Chaos::Penalty | Chaos::AccountPenalty => first.at + RETRY_AFTER_SECONDS * SECOND,
        Chaos::LongPenalty => span.to,
        Chaos::Kill
        | Chaos::RestartAll
        | Chaos::Clock
        | Chaos::Truncate
        | Chaos::Delete
        | Chaos::Broker => return None,
    };
    let chat_alone = plan.chaos == Some(Chaos::Penalty);
    let meanwhile = Span {
        from: first.at + KNOWN,
        to: ends,
    };
    let limit = f64::from(plan.per_second()) * (ends - meanwhile.from) as f64 / SECOND as f64;
    let of_account = |call: &&Call| call.account == first.account;
    let others = accepted(calls, &[meanwhile]).filter(of_account).count() as f64;
    let resumed = calls.iter().find(|call| {
        call.accepted
            && call.at >= ends
            && call.account == first.account
            && (!chat_alone || call.chat == first.chat)
    });
    Some(Held {
        share_meanwhile: others / limit,
        resumed_after_ms: resumed.map(|call| (call.at - ends) as f64 / 1_000.0),
    })
}

/// Four digits behind the point are all that such figures are good for.
fn rounded(figure: Option<f64>) -> Option<f64> {
    figure.map(|figure| (figure * 10_000.0).round() / 10_000.0)
}

fn without_nulls(mut json: Value) -> Value {
    if let Some(fields) = json.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    json
}
