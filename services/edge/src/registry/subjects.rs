//! What a registry has under a subject, and how strictly it judges: what schema_registry_converter does not offer.

use std::time::Duration;

use reqwest::{Client, Method, StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::config::{RegistryConfig, Secret};

/// The largest answer that is read, in bytes.
const ANSWER_BYTES: usize = 1024 * 1024;
/// The most versions of a subject that are compared; each change of a schema or a template adds one.
const MAX_EDITIONS: usize = 1_000;
/// Characters of a refusal that are quoted.
const QUOTE_CHARS: usize = 300;

/// Asks for subjects over Confluent's API.
#[derive(Debug, Clone)]
pub struct Subjects {
    http: Client,
    url: Url,
    username: Option<String>,
    password: Option<Secret>,
}

/// One version of a subject.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RegisteredEdition {
    /// The registry's number of it in the subject; not the event type's version.
    pub version: u32,
    /// The schema id, which records carry.
    pub id: u32,
    /// The schema's text.
    #[serde(rename = "schema")]
    pub schema_json: String,
}

/// Why a subject could not be asked or told.
#[derive(Debug, thiserror::Error)]
pub enum SubjectsError {
    /// The client could not be built.
    #[error("registry.url cannot be used")]
    Client(#[source] Option<reqwest::Error>),
    /// No answer.
    #[error("the registry does not answer; check registry.url and that it runs")]
    Unreachable(#[source] reqwest::Error),
    /// An answer that helps no further.
    #[error("the registry answered {status} for {subject}: {answer}")]
    Refused {
        /// The subject.
        subject: String,
        /// The HTTP status.
        status: u16,
        /// The beginning of what it said.
        answer: String,
    },
    /// An answer beyond bounds.
    #[error("the registry's answer for {subject} is beyond bounds: {problem}")]
    Unbounded {
        /// The subject.
        subject: String,
        /// Which.
        problem: String,
    },
    /// An answer that is not what the API says.
    #[error(
        "the registry's answer for {subject} cannot be read; does registry.url end in its Confluent-compatible API?"
    )]
    Unreadable {
        /// The subject.
        subject: String,
        /// Why.
        source: serde_json::Error,
    },
}

impl Subjects {
    /// A client; nothing is asked yet.
    ///
    /// # Errors
    /// [`SubjectsError::Client`].
    pub fn new(config: &RegistryConfig) -> Result<Self, SubjectsError> {
        let http = Client::builder()
            .no_proxy()
            .timeout(config.request_timeout)
            .connect_timeout(config.request_timeout.min(Duration::from_secs(10)))
            .build()
            .map_err(|error| SubjectsError::Client(Some(error)))?;
        let url = Url::parse(&config.url).map_err(|_| SubjectsError::Client(None))?;
        Ok(Self {
            http,
            url,
            username: config.username.clone(),
            password: config.password.clone(),
        })
    }

    /// Every version of a subject, ascending; empty if the registry does not know the subject.
    ///
    /// # Errors
    /// [`SubjectsError`].
    pub async fn editions(&self, subject: &str) -> Result<Vec<RegisteredEdition>, SubjectsError> {
        let versions: Vec<u32> = match self
            .get(subject, &["subjects", subject, "versions"])
            .await?
        {
            Some(versions) => versions,
            None => return Ok(Vec::new()),
        };
        if versions.len() > MAX_EDITIONS {
            return Err(SubjectsError::Unbounded {
                subject: subject.to_owned(),
                problem: format!(
                    "{} versions; {MAX_EDITIONS} are compared at most",
                    versions.len()
                ),
            });
        }
        let mut editions = Vec::with_capacity(versions.len());
        for version in versions {
            let number = version.to_string();
            // One that was deleted meanwhile is no longer anybody's schema.
            editions.extend(
                self.get(subject, &["subjects", subject, "versions", &number])
                    .await?,
            );
        }
        Ok(editions)
    }

    /// Has the registry refuse what does not read and write every version of the subject. The subject must exist.
    ///
    /// # Errors
    /// [`SubjectsError`].
    pub async fn require_full_transitive(&self, subject: &str) -> Result<(), SubjectsError> {
        let request = self.request(Method::PUT, &["config", subject])?;
        let request = request.json(&json!({"compatibility": "FULL_TRANSITIVE"}));
        let (status, body) = answer(subject, request).await?;
        if status.is_success() {
            Ok(())
        } else {
            Err(refused(subject, status, &body))
        }
    }

    /// `None` if the registry has no such thing.
    async fn get<T: DeserializeOwned>(
        &self,
        subject: &str,
        path: &[&str],
    ) -> Result<Option<T>, SubjectsError> {
        let (status, body) = answer(subject, self.request(Method::GET, path)?).await?;
        match status {
            StatusCode::NOT_FOUND if is_confluents(&body) => Ok(None),
            status if status.is_success() => {
                serde_json::from_slice(&body).map(Some).map_err(|source| {
                    SubjectsError::Unreadable {
                        subject: subject.to_owned(),
                        source,
                    }
                })
            }
            status => Err(refused(subject, status, &body)),
        }
    }

    fn request(
        &self,
        method: Method,
        path: &[&str],
    ) -> Result<reqwest::RequestBuilder, SubjectsError> {
        let mut url = self.url.clone();
        url.path_segments_mut()
            .map_err(|()| SubjectsError::Client(None))?
            .pop_if_empty()
            .extend(path);
        let request = self.http.request(method, url);
        Ok(match (&self.username, &self.password) {
            (Some(username), Some(password)) => {
                request.basic_auth(username, Some(password.expose()))
            }
            (None, _) | (_, None) => request,
        })
    }
}

/// Whether a 404 is about the subject or the version (40401, 40402) and not about the path.
fn is_confluents(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Coded {
        error_code: u32,
    }
    serde_json::from_slice::<Coded>(body)
        .is_ok_and(|coded| matches!(coded.error_code, 40_401 | 40_402))
}

async fn answer(
    subject: &str,
    request: reqwest::RequestBuilder,
) -> Result<(StatusCode, Vec<u8>), SubjectsError> {
    let mut response = request.send().await.map_err(SubjectsError::Unreachable)?;
    let status = response.status();
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(SubjectsError::Unreachable)? {
        if body.len() + part.len() > ANSWER_BYTES {
            return Err(SubjectsError::Unbounded {
                subject: subject.to_owned(),
                problem: format!("more than {ANSWER_BYTES} bytes"),
            });
        }
        body.extend_from_slice(&part);
    }
    Ok((status, body))
}

fn refused(subject: &str, status: StatusCode, body: &[u8]) -> SubjectsError {
    SubjectsError::Refused {
        subject: subject.to_owned(),
        status: status.as_u16(),
        answer: String::from_utf8_lossy(body)
            .chars()
            .take(QUOTE_CHARS)
            .collect(),
    }
}
