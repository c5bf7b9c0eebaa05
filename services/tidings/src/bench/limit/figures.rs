//! What is made of what was seen.

use serde_json::{Value, json};

use super::bounds::broken;
use super::calls::{Call, Kind, accepted, fairness, most_within, shortest_by};
use super::chaos::RETRY_AFTER_SECONDS;
use super::options::Chaos;
use super::plan::{High, Plan};
use super::run::Line;
use super::spans::{SECOND, Span};
use super::waits::percentile;

/// A group's limit, in messages a minute (reference/platforms.md, Telegram).
const GROUP_PER_MINUTE: f64 = 20.0;

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
    pub(super) used_share: Option<f64>,
    pub(super) used_share_whole: Option<f64>,
    pub(super) seconds_counted: usize,
    pub(super) over_limit: usize,
    pub(super) in_penalty_calls: usize,
    pub(super) most_in_a_second: usize,
    pub(super) too_early_ms: f64,
    pub(super) accepted: usize,
    pub(super) records_per_message: Option<f64>,
    pub(super) fairness: Option<f64>,
    pub(super) workers_served: Option<usize>,
    pub(super) lone_wait_p50_ms: Option<f64>,
    pub(super) lone_wait_p99_ms: Option<f64>,
    pub(super) high_wait_p50_ms: Option<f64>,
    pub(super) high_wait_p99_ms: Option<f64>,
    pub(super) high_took_p99_ms: Option<f64>,
    pub(super) normal_pause_ms: Option<f64>,
    pub(super) group_share: Option<f64>,
    pub(super) held: Option<Held>,
}

/// What happened around a penalty.
pub(super) struct Held {
    /// What was accepted while it lasted, as a part of the limit.
    pub(super) share_meanwhile: f64,
    /// From its end to the next accepted call of what it held.
    pub(super) resumed_after_ms: Option<f64>,
}

#[allow(clippy::cast_precision_loss)]
impl Figures {
    pub(super) fn of(plan: &Plan, mut seen: Seen) -> Self {
        let whole = seen.span.seconds_without(&[]);
        let calls = &seen.calls;
        let count = |is: fn(&Call) -> bool| calls.iter().filter(|call| is(call)).count();
        let served = workers_stay(plan).then(|| fairness(accepted(calls, &seen.seconds)));
        let served = served.flatten();
        let (most_in_a_second, too_early_ms) = most_in_a_second(plan, calls);
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
            most_in_a_second,
            too_early_ms,
            accepted: in_span,
            records_per_message: (offsets_go_on(plan) && in_span > 0)
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
        let broken = broken(self, plan);
        let json = json!({
            "bench": "limit", "scenario": plan.name, "ok": broken.is_empty(), "broken": broken,
            "workers": plan.workers, "accounts": plan.accounts, "seconds": plan.seconds, "limit_per_second": plan.per_second(),
            "chaos": plan.chaos.map(Chaos::word), "used_share": rounded(self.used_share), "used_share_whole": rounded(self.used_share_whole),
            "seconds_counted": self.seconds_counted, "accepted": self.accepted, "over_limit": self.over_limit,
            "in_penalty_calls": self.in_penalty_calls, "most_in_a_second": self.most_in_a_second, "too_early_ms": self.too_early_ms,
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
}

/// A topic that is made again begins at 0.
fn offsets_go_on(plan: &Plan) -> bool {
    plan.chaos != Some(Chaos::Delete)
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

/// Of the account that had most; and by how many milliseconds the worst call beyond the account's limit was too early,
/// which tells a mistake from a machine so busy that calls arrive late.
#[allow(clippy::cast_precision_loss)]
fn most_in_a_second(plan: &Plan, calls: &[Call]) -> (usize, f64) {
    let count = usize::try_from(plan.per_second()).unwrap_or(usize::MAX);
    let of = |account| {
        let alias = super::feed::alias(account);
        let calls: Vec<&Call> = calls.iter().filter(|call| call.account == alias).collect();
        (
            most_within(&calls, SECOND),
            shortest_by(&calls, count, SECOND),
        )
    };
    let all = (0..plan.accounts).map(of);
    let (most, early) = all.fold((0, 0), |(most, early), of| {
        (most.max(of.0), early.max(of.1))
    });
    (most, early as f64 / 1_000.0)
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
