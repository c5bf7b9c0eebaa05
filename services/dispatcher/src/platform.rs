//! What a platform adds to the engine: how a message becomes a request, and what an answer means. All else is shared.

use std::collections::HashMap;
use std::sync::Arc;

use tidings_envelope::{Message, ParseMode};
use tidings_platforms::{Answer, Classified, HttpRequest, Outgoing, Secret, Verdict, telegram};

/// One platform.
pub trait Platform: Send + Sync + 'static {
    /// The word in destinations, topics and metrics.
    fn name(&self) -> &'static str;

    /// Where its API is, unless an account says otherwise.
    fn default_base_url(&self) -> &'static str;

    /// Builds the request for a message, to `target` instead of the message's own chat after a migration.
    ///
    /// # Errors
    /// The verdict about a message that can not be sent as it is, without a call: rejected content, or an account whose
    /// settings do not fit.
    fn prepare(
        &self,
        base_url: &str,
        token: &Secret,
        message: &Message,
        target: Option<&str>,
    ) -> Result<HttpRequest, Classified>;

    /// What an answer means; `now_micros` is the wall clock, for hints that are dates.
    fn classify(&self, answer: &Answer<'_>, now_micros: i64) -> Classified;
}

/// The platforms of a worker, by name.
pub type Platforms = HashMap<String, Arc<dyn Platform>>;

/// The platforms that are built in.
#[must_use]
pub fn built_in() -> Platforms {
    let telegram: Arc<dyn Platform> = Arc::new(Telegram);
    HashMap::from([(telegram.name().to_owned(), telegram)])
}

/// Telegram's Bot API (reference/platforms.md).
pub struct Telegram;

impl Platform for Telegram {
    fn name(&self) -> &'static str {
        "telegram"
    }

    fn default_base_url(&self) -> &'static str {
        telegram::DEFAULT_BASE_URL
    }

    fn prepare(
        &self,
        base_url: &str,
        token: &Secret,
        message: &Message,
        target: Option<&str>,
    ) -> Result<HttpRequest, Classified> {
        let destination = message
            .destination()
            .map_err(|poison| rejected(&poison.to_string()))?;
        let rendered = message
            .text()
            .map_err(|error| rejected(&with_sources(&error)))?;
        let outgoing = Outgoing {
            chat_id: target.unwrap_or(&destination.chat_id),
            thread_id: destination.thread_id.as_deref(),
            text: &rendered.text,
            parse_mode: rendered.parse_mode.map(telegram_mode),
        };
        telegram::request(base_url, token, &outgoing).map_err(|refusal| refusal.classified())
    }

    fn classify(&self, answer: &Answer<'_>, now_micros: i64) -> Classified {
        telegram::classify(answer, now_micros)
    }
}

fn telegram_mode(mode: ParseMode) -> tidings_platforms::ParseMode {
    match mode {
        ParseMode::Html => tidings_platforms::ParseMode::Html,
        ParseMode::MarkdownV2 => tidings_platforms::ParseMode::MarkdownV2,
    }
}

fn rejected(reason: &str) -> Classified {
    Classified {
        verdict: Verdict::Rejected,
        reason: reason.chars().take(2_000).collect(),
    }
}

fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
