//! How a call ends.

use std::time::Duration;

use axum::response::{IntoResponse, Response};

use super::call::Call;
use super::reply::{self, Fault, Reply};
use crate::connection::Connection;
use crate::limits::PenaltyScope;
use crate::log::Outcome;
use crate::script::Answer;
use crate::shared::Shared;

impl Answer {
    /// Whether a person sees a message that is answered so.
    pub(super) fn accepts(&self) -> bool {
        match self {
            Self::Ok | Self::HangAccepted | Self::Lost => true,
            Self::ServerError { accepted, .. } | Self::Raw { accepted, .. } => *accepted,
            Self::Hang
            | Self::Reset
            | Self::Throttle { .. }
            | Self::Blocked
            | Self::ChatNotFound
            | Self::Migrated { .. }
            | Self::Unauthorized => false,
        }
    }
}

/// What happens once the latency has passed.
pub(super) enum Ending {
    Reply(Reply),
    Hang,
    Lost,
    Reset,
}

impl Ending {
    /// The ending that `answer` stands for; `message_id` is there if it accepts.
    pub(super) fn of(answer: &Answer, call: &Call, message_id: Option<i64>, at: Duration) -> Self {
        Self::Reply(match answer {
            Answer::Hang | Answer::HangAccepted => return Self::Hang,
            Answer::Lost => return Self::Lost,
            Answer::Reset => return Self::Reset,
            Answer::Ok => reply::success(call, message_id.unwrap_or_default(), at),
            Answer::Throttle {
                retry_after, form, ..
            } => reply::throttled(*retry_after, *form),
            Answer::ServerError { status, html, .. } => reply::server_error(*status, *html),
            Answer::Blocked => Fault::new(403, "Forbidden: bot was blocked by the user").reply(),
            Answer::ChatNotFound => Fault::new(400, "Bad Request: chat not found").reply(),
            Answer::Migrated { new_chat_id } => reply::migrated(*new_chat_id),
            Answer::Unauthorized => Fault::new(401, "Unauthorized").reply(),
            Answer::Raw {
                status,
                headers,
                body,
                ..
            } => Reply {
                status: *status,
                headers: headers.clone().into_iter().collect(),
                body: body.clone(),
            },
        })
    }
}

/// The penalty that runs once its 429 is answered.
pub(super) struct Announcement {
    pub(super) account: String,
    pub(super) chat_id: String,
    pub(super) scope: PenaltyScope,
    pub(super) retry_after: u64,
}

impl Announcement {
    /// The penalty that `answer` to `call` of `account` announces, if it does.
    pub(super) fn of(answer: &Answer, call: &Call, account: &str) -> Option<Self> {
        match answer {
            Answer::Throttle {
                retry_after, scope, ..
            } => Some(Self {
                account: account.to_owned(),
                chat_id: call.chat_id.clone(),
                scope: *scope,
                retry_after: *retry_after,
            }),
            Answer::Ok
            | Answer::Hang
            | Answer::HangAccepted
            | Answer::Lost
            | Answer::Reset
            | Answer::ServerError { .. }
            | Answer::Blocked
            | Answer::ChatNotFound
            | Answer::Migrated { .. }
            | Answer::Unauthorized
            | Answer::Raw { .. } => None,
        }
    }
}

/// A call that is in the log and not answered yet.
pub(super) struct Progress<'a> {
    pub(super) shared: &'a Shared,
    pub(super) connection: &'a Connection,
    pub(super) seq: u64,
    pub(super) announcement: Option<Announcement>,
}

impl Progress<'_> {
    /// Waits for `latency`, then ends the call. If the simulator stops meanwhile the call is cut off and its entry stays
    /// without an answer; so it does if the caller leaves, because the server then drops this future.
    pub(super) async fn end(self, ending: Ending, latency: Duration) -> Response {
        if !latency.is_zero() {
            tokio::select! {
                () = tokio::time::sleep(latency) => {}
                () = self.shared.stopped() => return self.cut(Connection::close),
            }
        }
        match ending {
            Ending::Reply(reply) => {
                self.note(Outcome::Status(reply.status));
                self.announce();
                reply.into_response()
            }
            Ending::Lost => {
                self.note(Outcome::Lost);
                self.cut(Connection::close)
            }
            Ending::Reset => {
                self.note(Outcome::Reset);
                self.cut(Connection::reset)
            }
            Ending::Hang => {
                self.note(Outcome::Hang);
                self.shared.stopped().await;
                self.cut(Connection::close)
            }
        }
    }

    fn announce(&self) {
        if let Some(Announcement {
            account,
            chat_id,
            scope,
            retry_after,
        }) = &self.announcement
        {
            let limits = &self.shared.limits;
            limits.announce(account, chat_id, *scope, *retry_after);
        }
    }

    fn note(&self, outcome: Outcome) {
        self.shared.log.answer(self.seq, outcome);
    }

    /// Ends the connection. The response is needed by the server alone: no byte of it leaves.
    fn cut(&self, end: impl FnOnce(&Connection)) -> Response {
        end(self.connection);
        ().into_response()
    }
}
