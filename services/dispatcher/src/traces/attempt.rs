//! The span of one call of a platform. It names the path's template and the server, never the URL: tokens are in it.

use std::sync::Arc;
use std::time::SystemTime;

use tidings_edge::telemetry::traces::{FinishedSpan, SpanKind, attributes};
use tidings_platforms::Classified;

use super::Under;

/// What is known of a call beside what its answer means.
pub(crate) struct CallFacts {
    pub(crate) method: &'static str,
    pub(crate) url_template: &'static str,
    pub(crate) server: Arc<Server>,
    pub(crate) end: CallEnd,
}

/// How a call ended.
#[derive(Clone, Copy)]
pub(crate) enum CallEnd {
    /// With this HTTP status.
    Answered(u16),
    /// Without an answer; the word says how.
    Failed(&'static str),
}

/// Who is called.
pub(crate) struct Server {
    address: String,
    port: Option<u16>,
}

impl Server {
    /// Host and port of a base URL, without anything else that is in it.
    pub(crate) fn of(base_url: &str) -> Self {
        let (scheme, rest) = base_url.split_once("://").unwrap_or(("", base_url));
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        let by_scheme = match scheme {
            "https" => Some(443),
            "http" => Some(80),
            _ => None,
        };
        let named = host
            .rsplit_once(':')
            .and_then(|(address, port)| Some((address, port.parse::<u16>().ok()?)));
        match named {
            Some((address, port)) => Self {
                address: address.to_owned(),
                port: Some(port),
            },
            None => Self {
                address: host.to_owned(),
                port: by_scheme,
            },
        }
    }
}

impl Under {
    /// The call ended. `call` counts from 1; `fence` is the claim it was made under.
    pub(crate) fn called(&self, facts: &CallFacts, call: u32, fence: i64, classified: &Classified) {
        self.traces.record(|| {
            let at = self.traces.new_span(self.parent.trace_id);
            let name = format!("{} {}", facts.method, facts.url_template);
            let resend = call.saturating_sub(1);
            let span = FinishedSpan::new(name, SpanKind::Client, at, self.began, SystemTime::now())
                .child_of(self.parent)
                .with(attributes::HTTP_METHOD, facts.method)
                .with(attributes::URL_TEMPLATE, facts.url_template)
                .with(attributes::SERVER_ADDRESS, facts.server.address.clone())
                .with_some(attributes::SERVER_PORT, facts.server.port.map(i64::from))
                .with_some(
                    attributes::HTTP_RESEND_COUNT,
                    (resend > 0).then(|| i64::from(resend)),
                )
                .with(attributes::VERDICT, classified.verdict.name())
                .with(attributes::FENCE, fence);
            ended(span, facts.end, &classified.reason)
        });
    }
}

fn ended(span: FinishedSpan, end: CallEnd, reason: &str) -> FinishedSpan {
    match end {
        CallEnd::Answered(status) => {
            let span = span.with(attributes::HTTP_STATUS, i64::from(status));
            if status >= 400 {
                span.failed(status.to_string(), reason)
            } else {
                span
            }
        }
        CallEnd::Failed(how) => span.failed(how, reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_host_and_port_and_nothing_secret() {
        for (url, address, port) in [
            ("https://api.telegram.org", "api.telegram.org", Some(443)),
            ("http://127.0.0.1:8088/base?x=1", "127.0.0.1", Some(8088)),
            ("http://user:s3cret@proxy/bot1:abc", "proxy", Some(80)),
            ("http://[::1]:8088", "[::1]", Some(8088)),
            ("http://[::1]/", "[::1]", Some(80)),
            ("", "", None),
        ] {
            let server = Server::of(url);
            assert_eq!((&*server.address, server.port), (address, port), "{url}");
        }
    }
}
