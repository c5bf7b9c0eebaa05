//! Jaeger's query API, as far as it is needed here.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use reqwest::{Client, StatusCode, Url};
use serde::Deserialize;
use serde_json::{Value, json};
use tidings_edge::telemetry::traces::attributes;

const REQUEST_DEADLINE: Duration = Duration::from_secs(10);

/// How far back a message is looked for; Jaeger in memory forgets sooner.
const LOOK_BACK: Duration = Duration::from_secs(7 * 86_400);

/// The services that are searched: ours first, then others that may carry the message on; not more.
const OUR_SERVICES: [&str; 2] = ["tidings-relay", "tidings-dispatcher"];
const SERVICES: usize = 50;

pub(super) struct Jaeger {
    base: Url,
    http: Client,
}

/// A trace as Jaeger tells it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Trace {
    #[serde(rename = "traceID")]
    pub(super) trace_id: String,
    pub(super) spans: Vec<Span>,
    #[serde(default)]
    pub(super) processes: HashMap<String, Process>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Span {
    #[serde(rename = "spanID")]
    pub(super) span_id: String,
    pub(super) operation_name: String,
    #[serde(default)]
    pub(super) references: Vec<Reference>,
    /// Microseconds since the Unix epoch.
    pub(super) start_time: u64,
    /// Microseconds.
    pub(super) duration: u64,
    #[serde(default)]
    pub(super) tags: Vec<Tag>,
    #[serde(rename = "processID", default)]
    pub(super) process_id: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reference {
    pub(super) ref_type: String,
    #[serde(rename = "traceID")]
    pub(super) trace_id: String,
    #[serde(rename = "spanID")]
    pub(super) span_id: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Tag {
    pub(super) key: String,
    pub(super) value: Value,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Process {
    pub(super) service_name: String,
}

#[derive(Deserialize)]
struct Answer<T> {
    data: Option<T>,
}

impl Jaeger {
    pub(super) fn new(base: &str) -> anyhow::Result<Self> {
        let base = Url::parse(base).with_context(|| format!("--jaeger {base} is no URL"))?;
        let http = Client::builder().timeout(REQUEST_DEADLINE).build()?;
        Ok(Self { base, http })
    }

    /// Where a person sees a trace.
    pub(super) fn page_of(&self, trace_id: &str) -> String {
        format!(
            "{}/trace/{trace_id}",
            self.base.as_str().trim_end_matches('/')
        )
    }

    /// The trace of this id, if Jaeger has it.
    pub(super) async fn trace(&self, trace_id: &str) -> anyhow::Result<Option<Trace>> {
        let url = self.url(&format!("api/traces/{trace_id}"), &[])?;
        let traces: Vec<Trace> = self.get(url).await?.unwrap_or_default();
        Ok(traces.into_iter().next())
    }

    /// The first trace with a span of this message. Jaeger wants a service's name in every search.
    pub(super) async fn search(&self, message_id: &str) -> anyhow::Result<Option<Trace>> {
        let known: Vec<String> = self
            .get(self.url("api/services", &[])?)
            .await?
            .unwrap_or_default();
        let ours = |service: &String| OUR_SERVICES.contains(&service.as_str());
        let (ours, others): (Vec<_>, Vec<_>) = known.into_iter().partition(ours);
        let tags = json!({ attributes::MESSAGING_MESSAGE_ID: message_id }).to_string();
        for service in ours.iter().chain(&others).take(SERVICES) {
            let url = self.search_url(service, &tags)?;
            let found: Vec<Trace> = self.get(url).await?.unwrap_or_default();
            if let Some(trace) = found.into_iter().next() {
                return Ok(Some(trace));
            }
        }
        Ok(None)
    }

    fn search_url(&self, service: &str, tags: &str) -> anyhow::Result<Url> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let start = now.saturating_sub(LOOK_BACK).as_micros().to_string();
        let end = now.as_micros().to_string();
        let parameters = [
            ("service", service),
            ("tags", tags),
            ("start", &start),
            ("end", &end),
            ("limit", "1"),
        ];
        self.url("api/traces", &parameters)
    }

    fn url(&self, path: &str, parameters: &[(&str, &str)]) -> anyhow::Result<Url> {
        let text = format!("{}/{path}", self.base.as_str().trim_end_matches('/'));
        Ok(match parameters {
            [] => Url::parse(&text)?,
            [..] => Url::parse_with_params(&text, parameters)?,
        })
    }

    /// `None` when there is nothing of that name.
    async fn get<T: serde::de::DeserializeOwned>(&self, url: Url) -> anyhow::Result<Option<T>> {
        let response = self.http.get(url).send().await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let answer: Answer<T> = response.error_for_status()?.json().await?;
        Ok(answer.data)
    }
}
