//! Telegram's Bot API as far as senders use it: `POST /bot<TOKEN>/sendMessage` with a JSON body.
//!
//! A call goes through these steps:
//!
//! 1. its token is looked up and its body checked as Telegram checks it; a faulty call is refused in Telegram's words;
//! 2. the account's limits judge every other one ([`crate::limits`]), and may refuse it;
//! 3. the script decides about what is left ([`crate::script`]), and with that whether the message is accepted;
//! 4. it enters the log: from here on it is seen there, whatever comes;
//! 5. its latency passes, and the answer goes out, or does not; a 429 that goes out opens its penalty.

mod call;
mod ending;
mod entities;
mod reply;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::HeaderMap;
use axum::response::Response;

use call::Fields;
pub use call::{Call, MAX_TEXT_BYTES, MAX_TEXT_CHARS};
use ending::{Announcement, Ending, Progress};
use reply::Fault;

use crate::connection::Connection;
use crate::limits::Ruling;
use crate::log::Arrival;
use crate::script::{Answer, ThrottleForm};
use crate::shared::Shared;

/// The header that tells attempts apart; it is kept in the log.
const ATTEMPT_HEADER: &str = "tidings-attempt";
/// The most of that header that is kept, in characters.
const MAX_ATTEMPT_CHARS: usize = 256;

/// Answers a path that nothing is at.
pub(crate) async fn not_found() -> Response {
    Fault::new(404, "Not Found").reply().into_response()
}

/// Answers one call of `/<bot>/<method>`.
pub(crate) async fn call(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    Path((bot, method)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let began = shared.limits.now();
    let token = bot.strip_prefix("bot").filter(|token| !token.is_empty());
    let Some(token) = token.filter(|_| method.eq_ignore_ascii_case("sendMessage")) else {
        return not_found().await;
    };
    let body = axum::body::to_bytes(body, shared.body_bytes).await;
    let times = Times {
        began,
        arrived: shared.limits.now(),
        arrived_since_epoch: since_epoch(),
    };
    let fields = body.map_or_else(|_| Err(too_large()), |body| Fields::read(&body));
    let account = shared.tokens.get(token).cloned();
    let call = Received::new(times, account, attempt(&headers), fields);
    call.answer(&shared, &connection).await
}

/// When a call was read.
#[derive(Clone, Copy)]
struct Times {
    /// Its head, since the simulator's start.
    began: Duration,
    /// The whole of it, since the simulator's start.
    arrived: Duration,
    /// The same by the wall clock.
    arrived_since_epoch: Duration,
}

/// A call that was read as far as it can be.
struct Received {
    times: Times,
    account: Option<String>,
    attempt: Option<String>,
    fields: Fields,
    checked: Result<Call, Fault>,
}

impl Received {
    fn new(
        times: Times,
        account: Option<String>,
        attempt: Option<String>,
        fields: Result<Fields, Fault>,
    ) -> Self {
        let checked = fields
            .as_ref()
            .map_err(Fault::clone)
            .and_then(Fields::check);
        Self {
            times,
            account,
            attempt,
            fields: fields.unwrap_or_default(),
            checked,
        }
    }

    async fn answer(self, shared: &Shared, connection: &Connection) -> Response {
        let at = self.times.arrived_since_epoch;
        let Decided {
            outcome,
            latency,
            ruling,
        } = self.decide(shared);
        let accepted = matches!(&outcome, Ok(taken) if taken.answer.accepts());
        let ticket = match shared.log.enter(self.arrival(accepted, ruling)) {
            Ok(ticket) => ticket,
            Err(refusal) => return Fault::new(507, refusal.to_string()).reply().into_response(),
        };
        let (ending, announcement) = match outcome {
            Err(fault) => (Ending::Reply(fault.reply()), None),
            Ok(taken) => (
                Ending::of(&taken.answer, &taken.call, ticket.message_id, at),
                Announcement::of(&taken.answer, &taken.call, &taken.account),
            ),
        };
        let progress = Progress {
            shared,
            connection,
            seq: ticket.seq,
            announcement,
        };
        progress.end(ending, latency).await
    }

    /// What becomes of the call, and how long that takes.
    fn decide(&self, shared: &Shared) -> Decided {
        let Some(account) = &self.account else {
            return Decided::refused(Fault::new(401, "Unauthorized"));
        };
        let call = match &self.checked {
            Err(fault) => return Decided::refused(fault.clone()),
            Ok(call) => call,
        };
        let Times { began, arrived, .. } = self.times;
        let limits = &shared.limits;
        let ruling = limits.arrive(account, &call.chat_id, began, arrived);
        let (answer, latency) = answer(shared, account, call, &ruling);
        let attempt = self.attempt.as_deref();
        limits.count(account, &ruling, answer.accepts(), attempt);
        let taken = Taken {
            account: account.clone(),
            call: call.clone(),
            answer,
        };
        Decided {
            outcome: Ok(taken),
            latency,
            ruling: Some(ruling),
        }
    }

    fn arrival(self, accepted: bool, ruling: Option<Ruling>) -> Arrival {
        let received_at = self.times.arrived_since_epoch.as_micros();
        Arrival {
            received_at_micros: i64::try_from(received_at).unwrap_or(i64::MAX),
            account: self.account,
            chat_id: self.fields.chat_id,
            thread_id: self.fields.thread_id,
            text: self.fields.text,
            parse_mode: self.fields.parse_mode,
            attempt: self.attempt,
            accepted,
            exceeded: ruling.and_then(|ruling| ruling.exceeded),
            in_penalty: ruling.is_some_and(|ruling| ruling.in_penalty),
        }
    }
}

/// What becomes of a call.
struct Decided {
    /// The call with its answer, or the fault for which Telegram refuses it.
    outcome: Result<Taken, Fault>,
    latency: Duration,
    /// There if the call reached the limits.
    ruling: Option<Ruling>,
}

/// A call without fault, and its answer.
struct Taken {
    account: String,
    call: Call,
    answer: Answer,
}

impl Decided {
    fn refused(fault: Fault) -> Self {
        Self {
            outcome: Err(fault),
            latency: Duration::ZERO,
            ruling: None,
        }
    }
}

/// The limits' refusal, at once, or what the script decides.
fn answer(shared: &Shared, account: &str, call: &Call, ruling: &Ruling) -> (Answer, Duration) {
    match ruling.refusal {
        Some(refusal) => {
            let answer = Answer::Throttle {
                retry_after: refusal.retry_after,
                scope: refusal.scope,
                form: ThrottleForm::HeaderAndBody,
            };
            (answer, Duration::ZERO)
        }
        None => {
            let decision = shared.engine.decide(account, call);
            (decision.answer, decision.latency)
        }
    }
}

fn too_large() -> Fault {
    Fault::new(413, "Request Entity Too Large")
}

fn attempt(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(ATTEMPT_HEADER)?.to_str().ok()?;
    Some(value.chars().take(MAX_ATTEMPT_CHARS).collect())
}

fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}
