//! Telegram's Bot API as far as senders use it: `POST /bot<TOKEN>/sendMessage` with a JSON body.
//!
//! A call goes through these steps:
//!
//! 1. its token is looked up and its body checked as Telegram checks it; a faulty call is refused in Telegram's words;
//! 2. the script decides about every other one ([`crate::script`]), and with that whether the message is accepted;
//! 3. it enters the log: from here on it is seen there, whatever comes;
//! 4. its latency passes, and the answer goes out, or does not.

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
use ending::{Ending, Progress};
use reply::Fault;

use crate::connection::Connection;
use crate::log::Arrival;
use crate::script::Answer;
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
    let token = bot.strip_prefix("bot").filter(|token| !token.is_empty());
    let Some(token) = token.filter(|_| method.eq_ignore_ascii_case("sendMessage")) else {
        return not_found().await;
    };
    let body = axum::body::to_bytes(body, shared.body_bytes).await;
    let fields = body.map_or_else(|_| Err(too_large()), |body| Fields::read(&body));
    let account = shared.tokens.get(token).cloned();
    let call = Received::new(account, attempt(&headers), fields);
    call.answer(&shared, &connection).await
}

/// A call that was read as far as it can be.
struct Received {
    at: Duration,
    account: Option<String>,
    attempt: Option<String>,
    fields: Fields,
    checked: Result<Call, Fault>,
}

impl Received {
    fn new(
        account: Option<String>,
        attempt: Option<String>,
        fields: Result<Fields, Fault>,
    ) -> Self {
        let checked = fields
            .as_ref()
            .map_err(Fault::clone)
            .and_then(Fields::check);
        Self {
            at: since_epoch(),
            account,
            attempt,
            fields: fields.unwrap_or_default(),
            checked,
        }
    }

    async fn answer(self, shared: &Shared, connection: &Connection) -> Response {
        let at = self.at;
        let (decided, latency) = self.decide(shared);
        let accepted = matches!(&decided, Ok((_, answer)) if answer.accepts());
        let ticket = match shared.log.enter(self.arrival(accepted)) {
            Ok(ticket) => ticket,
            Err(refusal) => return Fault::new(507, refusal.to_string()).reply().into_response(),
        };
        let ending = match decided {
            Err(fault) => Ending::Reply(fault.reply()),
            Ok((call, answer)) => Ending::of(&answer, &call, ticket.message_id, at),
        };
        let progress = Progress {
            shared,
            connection,
            seq: ticket.seq,
        };
        progress.end(ending, latency).await
    }

    /// The call and what the script answers to it, or the fault for which Telegram refuses it; and the latency.
    fn decide(&self, shared: &Shared) -> (Result<(Call, Answer), Fault>, Duration) {
        let Some(account) = &self.account else {
            return (Err(Fault::new(401, "Unauthorized")), Duration::ZERO);
        };
        match &self.checked {
            Err(fault) => (Err(fault.clone()), Duration::ZERO),
            Ok(call) => {
                let decision = shared.engine.decide(account, call);
                (Ok((call.clone(), decision.answer)), decision.latency)
            }
        }
    }

    fn arrival(self, accepted: bool) -> Arrival {
        Arrival {
            received_at_micros: i64::try_from(self.at.as_micros()).unwrap_or(i64::MAX),
            account: self.account,
            chat_id: self.fields.chat_id,
            thread_id: self.fields.thread_id,
            text: self.fields.text,
            parse_mode: self.fields.parse_mode,
            attempt: self.attempt,
            accepted,
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
