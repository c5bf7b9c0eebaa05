//! One attempt: prepare, call, classify. Whatever panics on the way has a verdict too.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures::FutureExt as _;
use tidings_delivery::PermitId;
use tidings_edge::config::{AccountConfig, Config};
use tidings_edge::http::{CallOutcome, Lost, NotSent, PlatformCall, PlatformClient, TooLate};
use tidings_edge::rate_limit::Limits;
use tidings_envelope::Message;
use tidings_platforms::{ATTEMPT_HEADER, Answer, Classified, HttpRequest, Secret, Verdict};
use tracing::debug;
use uuid::Uuid;

use crate::content::Contents;
use crate::credentials::Credential;
use crate::platform::{Platform, Platforms};
use crate::traces::{CallEnd, CallFacts, FetchFacts, Server};
use crate::turn::{NotItsTurn, Turn};

/// An account that messages can be sent with.
struct Account {
    platform: Arc<dyn Platform>,
    base_url: String,
    server: Arc<Server>,
    credential: Credential,
    attempt_header: bool,
    deadline: Duration,
}

/// The accounts of a worker and the client that calls their platforms.
pub(crate) struct Caller {
    accounts: HashMap<String, Account>,
    client: PlatformClient,
    contents: Contents,
    limits: Limits,
    owner: Uuid,
}

/// One call to make.
pub(crate) struct Attempt {
    pub(crate) account: Arc<str>,
    pub(crate) message: Arc<Message>,
    pub(crate) fence: i64,
    pub(crate) call: u32,
    pub(crate) target: Option<Arc<str>>,
    /// What it is sent under; `None` in an account without limits.
    pub(crate) permit: Option<PermitId>,
}

/// A request on its way out.
struct Sending {
    request: HttpRequest,
    deadline: Duration,
    /// Its permit's end.
    leave_by: Option<Instant>,
}

/// What came of an attempt.
pub(crate) struct Attempted {
    pub(crate) classified: Classified,
    /// `None` when there is no claim check, or one that is not worth asking for.
    pub(crate) fetch: Option<FetchFacts>,
    /// `None` when no call was made.
    pub(crate) call: Option<CallFacts>,
}

impl Caller {
    pub(crate) fn new(
        config: &Config,
        platforms: &Platforms,
        client: PlatformClient,
        contents: Contents,
        limits: Limits,
        owner: Uuid,
    ) -> Self {
        let accounts = config
            .accounts
            .iter()
            .filter_map(|(name, account)| {
                let platform = platforms.get(name.split(':').next()?)?;
                let account = with_platform(config, account, platform)?;
                Some((name.clone(), account))
            })
            .collect();
        Self {
            accounts,
            client,
            contents,
            limits,
            owner,
        }
    }

    pub(crate) fn knows(&self, account: &str) -> bool {
        self.accounts.contains_key(account)
    }

    /// Calls of the account use this credential from now on; says whether it is another one.
    pub(crate) fn set_token(&self, account: &str, token: Secret) -> bool {
        let account = self.accounts.get(account);
        account.is_some_and(|account| account.credential.set(token))
    }

    /// The credential that is where the configuration says, if it is not the one in use. Reads a file.
    pub(crate) fn other_token(&self, account: &str) -> Option<Secret> {
        self.accounts.get(account)?.credential.other()
    }

    /// Makes the attempt. Every way it can end is a verdict, but for the last look at its permit: it is taken when
    /// nothing but the call is left to do.
    pub(crate) async fn attempt(&self, attempt: &Attempt) -> Result<Attempted, NotItsTurn> {
        let turn = Turn::new(&self.limits, attempt.permit);
        let Some(account) = self.accounts.get(&*attempt.account) else {
            return Ok(without_call(unknown_account(attempt), None));
        };
        let completing = self.contents.complete(&attempt.message, account.deadline);
        let completed = match AssertUnwindSafe(completing).catch_unwind().await {
            Ok(completed) => completed,
            Err(_) => return Ok(without_call(panicked_before(), None)),
        };
        let prepared = match &completed.message {
            Ok(message) => self.prepare(account, attempt, message),
            Err(classified) => Err(classified.clone()),
        };
        let fetch_took = completed.took;
        // From here on the content is not held any more.
        let fetch = completed.into_facts();
        match prepared {
            Ok(request) => {
                let left = account.deadline.saturating_sub(fetch_took);
                // A permit is short and a content may be slow: the next one is waited for with the content in hand.
                let patience = fetch.as_ref().map_or(Duration::ZERO, |_| left / 2);
                let began = Instant::now();
                let leave_by = turn.take(patience).await?;
                let deadline = left.saturating_sub(began.elapsed());
                let sending = Sending {
                    request,
                    deadline,
                    leave_by,
                };
                self.send(account, sending, fetch).await
            }
            Err(classified) => Ok(without_call(classified, fetch)),
        }
    }

    async fn send(
        &self,
        account: &Account,
        sending: Sending,
        fetch: Option<FetchFacts>,
    ) -> Result<Attempted, NotItsTurn> {
        let request = &sending.request;
        let (method, url_template) = (request.method.as_str(), request.url_template);
        let called = AssertUnwindSafe(self.call(account, sending))
            .catch_unwind()
            .await;
        let (classified, end) = called.unwrap_or_else(|_| Ok(panicked()))?;
        Ok(Attempted {
            classified,
            fetch,
            call: Some(CallFacts {
                method,
                url_template,
                server: Arc::clone(&account.server),
                end,
            }),
        })
    }

    fn prepare(
        &self,
        account: &Account,
        attempt: &Attempt,
        message: &Message,
    ) -> Result<HttpRequest, Classified> {
        let prepared = catch_unwind(AssertUnwindSafe(|| {
            account.platform.prepare(
                &account.base_url,
                &account.credential.used(),
                message,
                attempt.target.as_deref(),
            )
        }));
        let request = prepared.unwrap_or_else(|_| Err(panicked_before()))?;
        if !account.attempt_header {
            return Ok(request);
        }
        let id = attempt.message.envelope.message_id;
        let value = format!("{id}/{}/{}/{}", self.owner, attempt.fence, attempt.call);
        Ok(request.with_header(ATTEMPT_HEADER, &value))
    }

    async fn call(
        &self,
        account: &Account,
        sending: Sending,
    ) -> Result<(Classified, CallEnd), NotItsTurn> {
        let Sending {
            request,
            deadline,
            leave_by,
        } = sending;
        let outcome = self
            .client
            .call(PlatformCall {
                method: request.method.as_str(),
                url: request.url.expose(),
                headers: &request.headers,
                body: request.body,
                deadline,
                leave_by,
            })
            .await
            .map_err(|TooLate| NotItsTurn)?;
        debug!(url = request.url_template, "platform answered");
        let end = call_end(&outcome);
        let response;
        let answer = match outcome {
            CallOutcome::Response(got) => {
                response = got;
                Answer::Response {
                    status: response.status,
                    headers: &response.headers,
                    body: &response.body,
                }
            }
            CallOutcome::NotSent(why) => Answer::NotSent(not_sent(why)),
            CallOutcome::Lost(why) => Answer::Lost(lost(why)),
        };
        Ok((account.platform.classify(&answer, now_micros()), end))
    }
}

fn with_platform(
    config: &Config,
    account: &AccountConfig,
    platform: &Arc<dyn Platform>,
) -> Option<Account> {
    let credential = Credential::of(account)?;
    let base_url = account.base_url.as_deref();
    let base_url = base_url.unwrap_or(platform.default_base_url());
    Some(Account {
        platform: Arc::clone(platform),
        base_url: base_url.to_owned(),
        server: Arc::new(Server::of(base_url)),
        credential,
        attempt_header: account.attempt_header,
        deadline: account
            .call_deadline
            .unwrap_or(config.dispatcher.call_deadline),
    })
}

fn unknown_account(attempt: &Attempt) -> Classified {
    let destination = attempt.message.envelope.destination.as_ref();
    let name = destination.map(|d| format!("{}:{}", d.platform, d.account));
    Classified {
        verdict: Verdict::Rejected,
        reason: format!(
            "destination.account: no account {:?} is configured; add [accounts.\"…\"] with its token and replay, or correct the publisher",
            name.unwrap_or_default()
                .chars()
                .take(100)
                .collect::<String>()
        ),
    }
}

fn without_call(classified: Classified, fetch: Option<FetchFacts>) -> Attempted {
    Attempted {
        classified,
        fetch,
        call: None,
    }
}

fn panicked_before() -> Classified {
    Classified {
        verdict: Verdict::Unrecognised,
        reason: "the handler panicked before the call".into(),
    }
}

fn panicked() -> (Classified, CallEnd) {
    let classified = Classified {
        verdict: Verdict::Unknown,
        reason: "the sender panicked after the call began".into(),
    };
    (classified, CallEnd::Failed("panic"))
}

/// OpenTelemetry's `error.type` for what is no answer.
fn call_end(outcome: &CallOutcome) -> CallEnd {
    match outcome {
        CallOutcome::Response(response) => CallEnd::Answered(response.status),
        CallOutcome::NotSent(why) => CallEnd::Failed(match why {
            NotSent::Dns => "dns",
            NotSent::Connect => "connect",
            NotSent::ConnectTimeout => "connect_timeout",
            NotSent::Tls => "tls",
            NotSent::Invalid => "invalid_request",
        }),
        CallOutcome::Lost(why) => CallEnd::Failed(match why {
            Lost::Timeout => "timeout",
            Lost::Reset => "connection_reset",
            Lost::Other => "connection_closed",
        }),
    }
}

fn not_sent(why: NotSent) -> tidings_platforms::NotSent {
    match why {
        NotSent::Dns => tidings_platforms::NotSent::Dns,
        NotSent::Connect | NotSent::ConnectTimeout | NotSent::Invalid => {
            tidings_platforms::NotSent::Connect
        }
        NotSent::Tls => tidings_platforms::NotSent::Tls,
    }
}

fn lost(why: Lost) -> tidings_platforms::Lost {
    match why {
        Lost::Timeout => tidings_platforms::Lost::Timeout,
        Lost::Reset => tidings_platforms::Lost::Reset,
        Lost::Other => tidings_platforms::Lost::Closed,
    }
}

/// The wall clock, microseconds since the Unix epoch.
pub(crate) fn now_micros() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |elapsed| {
        i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX)
    })
}
