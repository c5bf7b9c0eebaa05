//! The content that a message's claim check names (requirement B7). It is fetched as the first part of an attempt, before a
//! byte goes to the platform and within the call's deadline, so that what the lease was made for still holds; what fails
//! here was certainly not posted.

mod cache;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tidings_edge::config::ClaimCheckConfig;
use tidings_edge::content::{ContentError, ContentStore, ContentStoreError, Expected};
use tidings_edge::telemetry::metric_names;
use tidings_envelope::{ClaimCheck, Message};
use tidings_platforms::{Classified, Verdict};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::traces::FetchFacts;

use cache::Cache;

/// The worker's access to the store.
pub(crate) struct Contents {
    store: Option<ContentStore>,
    max_bytes: u64,
    fetch_timeout: Duration,
    places: Semaphore,
    cache: Cache,
}

/// A message as it can be rendered, or the verdict about it.
pub(crate) struct Completed<'a> {
    pub(crate) message: Result<Arc<Message>, Classified>,
    /// How long it took: a part of the call's deadline.
    pub(crate) took: Duration,
    /// `None` when there was nothing to fetch.
    fetch: Option<FetchFacts>,
    /// Bounds the contents in memory until the request is built.
    _place: Option<SemaphorePermit<'a>>,
}

/// Why a fetch gave nothing.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error("storage_key {key:?}: {place} did not give it within {timeout:?}")]
    Late {
        key: String,
        place: String,
        timeout: Duration,
    },
    #[error("storage_key {key:?}: the content is not UTF-8; store the text as UTF-8")]
    NotText { key: String },
}

impl Contents {
    /// # Errors
    /// The configured store cannot be used.
    pub(crate) fn open(config: &ClaimCheckConfig) -> Result<Self, ContentStoreError> {
        Ok(Self {
            store: ContentStore::open(config)?,
            max_bytes: config.max_bytes,
            fetch_timeout: config.fetch_timeout,
            places: Semaphore::new(config.max_in_flight.min(Semaphore::MAX_PERMITS)),
            cache: Cache::new(config.cache_bytes),
        })
    }

    /// The message with its content; one without a claim check as it is. Takes at most half of the call's `deadline`.
    pub(crate) async fn complete(
        &self,
        message: &Arc<Message>,
        deadline: Duration,
    ) -> Completed<'_> {
        let Some(claim) = &message.envelope.claim_check else {
            return Completed::untouched(Ok(Arc::clone(message)));
        };
        let store = match self.acceptable(claim) {
            Ok(store) => store,
            Err(refused) => return Completed::untouched(Err(refused)),
        };
        if let Some(text) = self.cache.get(&cache_key(claim)) {
            count("cached");
            return Completed::untouched(Ok(Arc::new(message.with_content(text))));
        }
        let (began_at, began) = (SystemTime::now(), Instant::now());
        let timeout = self.fetch_timeout.min(deadline / 2);
        let fetched = self.text_within(timeout, store, claim).await;
        let failure = fetched.as_ref().err();
        let failure = failure.map(|error| (error.outcome(), error.reason()));
        count(failure.as_ref().map_or("fetched", |(outcome, _)| *outcome));
        let (message, place) = match fetched {
            Ok((text, place)) => (Ok(Arc::new(message.with_content(text))), Some(place)),
            Err(error) => (Err(error.classified()), None),
        };
        Completed {
            message,
            took: began.elapsed(),
            fetch: Some(FetchFacts {
                began: began_at,
                ended: SystemTime::now(),
                size_bytes: claim.size_bytes,
                failure,
            }),
            _place: place,
        }
    }

    /// The store, if it is worth asking it.
    fn acceptable(&self, claim: &ClaimCheck) -> Result<&ContentStore, Classified> {
        let key = &claim.storage_key;
        let Some(store) = &self.store else {
            return Err(rejected(&format!(
                "claim_check: storage_key {key:?} can not be fetched, since this dispatcher has no store of contents; set claim_check.store and replay"
            )));
        };
        if !is_text(&claim.content_type) {
            return Err(rejected(&format!(
                "claim_check.content_type: storage_key {key:?} is said to be {:?}, and a chat gets text/plain in UTF-8",
                claim.content_type
            )));
        }
        let fits = u64::try_from(claim.size_bytes).is_ok_and(|size| size <= self.max_bytes);
        if !fits {
            return Err(rejected(&format!(
                "claim_check.size_bytes: storage_key {key:?} has {} bytes, and claim_check.max_bytes is {}; shorten it, or raise that and replay",
                claim.size_bytes, self.max_bytes
            )));
        }
        Ok(store)
    }

    async fn text_within<'a>(
        &'a self,
        timeout: Duration,
        store: &ContentStore,
        claim: &ClaimCheck,
    ) -> Result<(Arc<str>, SemaphorePermit<'a>), FetchError> {
        let fetching = self.text(store, claim);
        let late = |_| FetchError::Late {
            key: claim.storage_key.clone(),
            place: store.place().to_owned(),
            timeout,
        };
        tokio::time::timeout(timeout, fetching)
            .await
            .map_err(late)?
    }

    /// A place among the bounded, then the verified text.
    async fn text<'a>(
        &'a self,
        store: &ContentStore,
        claim: &ClaimCheck,
    ) -> Result<(Arc<str>, SemaphorePermit<'a>), FetchError> {
        let not_text = || FetchError::NotText {
            key: claim.storage_key.clone(),
        };
        // Never closed, so that an error is not to be had.
        let place = self.places.acquire().await.map_err(|_| not_text())?;
        let expected = Expected {
            storage_key: &claim.storage_key,
            size_bytes: u64::try_from(claim.size_bytes).unwrap_or_default(),
            sha256: &claim.sha256,
        };
        let bytes = store.fetch(expected).await?;
        let text = String::from_utf8(bytes).map_err(|_| not_text())?;
        let text: Arc<str> = without_nul(text).into();
        self.cache.keep(&cache_key(claim), &text);
        Ok((text, place))
    }
}

impl Completed<'_> {
    /// Lets go of the content, and of its place among the bounded.
    pub(crate) fn into_facts(self) -> Option<FetchFacts> {
        self.fetch
    }

    fn untouched(message: Result<Arc<Message>, Classified>) -> Self {
        Self {
            message,
            took: Duration::ZERO,
            fetch: None,
            _place: None,
        }
    }
}

impl FetchError {
    fn reason(&self) -> String {
        match self {
            Self::Content(error) => error.reason(),
            Self::Late { .. } | Self::NotText { .. } => self.to_string(),
        }
    }

    /// The content may arrive late and the store may come back; other bytes than claimed stay other bytes.
    fn classified(&self) -> Classified {
        let may_pass = match self {
            Self::Content(error) => error.may_pass(),
            Self::Late { .. } => true,
            Self::NotText { .. } => false,
        };
        let verdict = if may_pass {
            Verdict::Transient
        } else {
            Verdict::Rejected
        };
        Classified::new(verdict, &format!("claim_check: {}", self.reason()))
    }

    fn outcome(&self) -> &'static str {
        match self {
            Self::Content(error) => error.outcome(),
            Self::Late { .. } => "late",
            Self::NotText { .. } => "not_text",
        }
    }
}

/// What was verified of a content, and so makes another claim check the same.
fn cache_key(claim: &ClaimCheck) -> String {
    format!("{}:{}", claim.sha256, claim.size_bytes)
}

fn count(outcome: &'static str) {
    metrics::counter!(metric_names::CONTENT_FETCHES_TOTAL, "outcome" => outcome).increment(1);
}

fn rejected(reason: &str) -> Classified {
    Classified::new(Verdict::Rejected, reason)
}

/// `text/plain`, in UTF-8 or what is a part of it.
fn is_text(content_type: &str) -> bool {
    let mut parts = content_type.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default();
    let readable = |parameter: &str| match parameter.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            let charset = value.trim().trim_matches('"');
            ["utf-8", "us-ascii"]
                .iter()
                .any(|known| charset.eq_ignore_ascii_case(known))
        }
        Some(_) | None => true,
    };
    media_type.eq_ignore_ascii_case("text/plain") && parts.all(readable)
}

/// As in data: platforms refuse U+0000.
fn without_nul(text: String) -> String {
    if text.contains('\0') {
        text.replace('\0', "\u{fffd}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_text_in_utf_8_goes_to_a_chat() {
        for text in [
            "text/plain",
            "Text/Plain",
            "text/plain; charset=utf-8",
            "text/plain;charset=\"UTF-8\"; format=flowed",
            "text/plain; charset=us-ascii",
        ] {
            assert!(is_text(text), "{text}");
        }
        for other in [
            "text/html",
            "application/pdf",
            "text/plain; charset=iso-8859-1",
            "",
            ";",
        ] {
            assert!(!is_text(other), "{other}");
        }
    }

    #[test]
    fn what_may_pass_is_retried_and_what_stays_is_rejected() {
        let late = FetchError::Late {
            key: "k".into(),
            place: "folder /x".into(),
            timeout: Duration::from_secs(5),
        };
        assert_eq!(late.classified().verdict, Verdict::Transient);
        let other = FetchError::Content(ContentError::Size {
            key: "k".into(),
            expected: 1,
            found: 2,
        });
        let classified = other.classified();
        assert_eq!(classified.verdict, Verdict::Rejected);
        assert_eq!(
            classified.reason,
            "claim_check: storage_key \"k\": size_bytes is 1 in the claim check, 2 in the store"
        );
    }
}
