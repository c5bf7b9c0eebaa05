//! The client that calls platforms. Its one duty beyond sending: tell what surely did not leave this machine
//! from what may have reached the platform, because only the first may be repeated freely (design §7).

mod gate;

use std::error::Error as _;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Body, Client, Method, Response, redirect};

use gate::Gate;
pub use gate::TooLate;

/// The most that is kept of an answer's body; platforms' answers to a send are far smaller.
const RESPONSE_BODY_BYTES: usize = 64 * 1024;

/// The most headers kept of an answer.
const RESPONSE_HEADERS: usize = 100;

/// Bounds of the client.
#[derive(Debug, Clone)]
pub struct PlatformClientSettings {
    /// The longest that DNS, TCP and TLS may take together. A call with a shorter deadline may end as
    /// [`Lost::Timeout`] while it connects, which is the careful answer.
    pub connect_timeout: Duration,
    /// The most idle connections kept for one host.
    pub max_idle_per_host: usize,
}

impl Default for PlatformClientSettings {
    /// 5 s to connect; 512 idle connections, the default of `dispatcher.max_in_flight_calls`.
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            max_idle_per_host: 512,
        }
    }
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client for platforms could not be built")]
pub struct PlatformClientError(#[source] reqwest::Error);

/// One call. It has no `Debug`: the URL may hold a token.
pub struct PlatformCall<'a> {
    /// `POST`, `GET`, ….
    pub method: &'a str,
    /// The whole URL.
    pub url: &'a str,
    /// Names and values.
    pub headers: &'a [(String, String)],
    /// The body's bytes.
    pub body: Vec<u8>,
    /// The longest the whole call may take, the answer's body included.
    pub deadline: Duration,
    /// The request must leave by then, or not at all; `None` for whenever it can. A connection may be long in coming, and
    /// a busy process long in writing. Only a call with a body is held to it.
    pub leave_by: Option<Instant>,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallOutcome {
    /// The platform answered.
    Response(PlatformResponse),
    /// No byte of the request reached the platform.
    NotSent(NotSent),
    /// Bytes may have reached the platform, and there is no usable answer.
    Lost(Lost),
}

/// A platform's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlatformResponse {
    /// The status code.
    pub status: u16,
    /// At most 100 headers whose values are text; names in small letters.
    pub headers: Vec<(String, String)>,
    /// The first 64 KiB of the body.
    pub body: Vec<u8>,
}

/// Why nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSent {
    /// The host's name has no address.
    Dns,
    /// The connection was refused or is impossible.
    Connect,
    /// TLS could not be agreed on, or the certificate does not fit.
    Tls,
    /// Connecting took longer than the bound.
    ConnectTimeout,
    /// The method, URL or a header is malformed: an error of the caller's configuration.
    Invalid,
}

/// How the answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// The deadline passed.
    Timeout,
    /// The connection broke.
    Reset,
    /// The answer is not HTTP, or anything else.
    Other,
}

/// The client, with its pool of connections. Clones share the pool.
#[derive(Debug, Clone)]
pub struct PlatformClient {
    client: Client,
}

impl PlatformClient {
    /// Builds the client: no redirects (a token in a URL must not follow one), no proxy from the environment,
    /// no repeats of its own.
    ///
    /// # Errors
    /// The TLS library could not be set up.
    pub fn new(settings: &PlatformClientSettings) -> Result<Self, PlatformClientError> {
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            .connect_timeout(settings.connect_timeout)
            .pool_max_idle_per_host(settings.max_idle_per_host)
            .pool_idle_timeout(Duration::from_secs(30))
            .tcp_nodelay(true)
            .tcp_keepalive(Duration::from_secs(30))
            .build()
            .map_err(PlatformClientError)?;
        Ok(Self { client })
    }

    /// Makes one call and waits for its answer, at most for its deadline.
    ///
    /// # Errors
    /// [`TooLate`]: the request could not leave in time, and no byte of it did.
    pub async fn call(&self, call: PlatformCall<'_>) -> Result<CallOutcome, TooLate> {
        let Some(request) = self.request(&call) else {
            return Ok(CallOutcome::NotSent(NotSent::Invalid));
        };
        let (gate, kept_back) = Gate::new(call.body, call.leave_by);
        match request.body(Body::wrap(gate)).send().await {
            Ok(response) => Ok(read(response).await),
            Err(_) if kept_back.is_so() => Err(TooLate),
            Err(error) => Ok(classify(&error.without_url())),
        }
    }

    fn request(&self, call: &PlatformCall<'_>) -> Option<reqwest::RequestBuilder> {
        let method = Method::from_bytes(call.method.as_bytes()).ok()?;
        let url = reqwest::Url::parse(call.url).ok()?;
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        let mut headers = HeaderMap::with_capacity(call.headers.len());
        for (name, value) in call.headers {
            let name = HeaderName::try_from(name.as_str()).ok()?;
            headers.append(name, HeaderValue::try_from(value.as_str()).ok()?);
        }
        let request = self.client.request(method, url).headers(headers);
        Some(request.timeout(call.deadline))
    }
}

/// Reads an answer. When the body breaks off, a status that refuses still says enough; one that accepts does not
/// (Telegram's body says `ok`), so that call is lost.
async fn read(mut response: Response) -> CallOutcome {
    let status = response.status();
    let headers = text_headers(response.headers());
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let room = RESPONSE_BODY_BYTES - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() >= room {
                    break;
                }
            }
            Ok(None) => break,
            Err(_) if status.is_client_error() || status.is_server_error() => break,
            Err(error) => return CallOutcome::Lost(lost(&error)),
        }
    }
    CallOutcome::Response(PlatformResponse {
        status: status.as_u16(),
        headers,
        body,
    })
}

fn text_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .take(RESPONSE_HEADERS)
        .filter_map(|(name, value)| {
            let value = value.to_str().ok()?;
            Some((name.as_str().to_owned(), value.to_owned()))
        })
        .collect()
}

/// A reused connection that the platform had closed is opened anew by the library if nothing was written to it;
/// otherwise the error arrives here and counts as lost.
fn classify(error: &reqwest::Error) -> CallOutcome {
    if error.is_builder() {
        CallOutcome::NotSent(NotSent::Invalid)
    } else if error.is_connect() {
        CallOutcome::NotSent(not_sent(error))
    } else {
        CallOutcome::Lost(lost(error))
    }
}

fn not_sent(error: &reqwest::Error) -> NotSent {
    if error.is_dns() {
        NotSent::Dns
    } else if error.is_timeout() {
        NotSent::ConnectTimeout
    } else if causes::<native_tls::Error>(error).next().is_some() {
        NotSent::Tls
    } else {
        NotSent::Connect
    }
}

fn lost(error: &reqwest::Error) -> Lost {
    if error.is_timeout() {
        return Lost::Timeout;
    }
    let broken = causes::<std::io::Error>(error).any(|cause| {
        matches!(
            cause.kind(),
            ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::BrokenPipe
                | ErrorKind::UnexpectedEof
        )
    });
    if broken { Lost::Reset } else { Lost::Other }
}

/// The errors of one type in the chain of causes.
fn causes<E: std::error::Error + 'static>(error: &reqwest::Error) -> impl Iterator<Item = &E> {
    std::iter::successors(error.source(), |&cause| cause.source())
        .filter_map(|cause| cause.downcast_ref::<E>())
}

#[cfg(test)]
mod tests;
