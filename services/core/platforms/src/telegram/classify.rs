//! What an answer means.

use std::borrow::Cow;
use std::time::Duration;

use super::body::Body;
use super::rules;
use crate::answer::Answer;
use crate::retry_after::{self, HintLimits};
use crate::verdict::{Classified, HoldScope, Verdict};

/// The most of an unreadable body that a reason shows, in characters.
const MAX_SHOWN_BODY_CHARS: usize = 200;
/// What a front end (Cloudflare) answers to an address that it has limited (case S13).
const ADDRESS_LIMITED: &str = "error code: 1015";

/// What `answer` means, with the default bounds of a hint. `now_micros` is the present time since the Unix epoch; only an
/// HTTP-date without a `Date` header beside it needs it.
pub fn classify(answer: &Answer<'_>, now_micros: i64) -> Classified {
    classify_with(answer, now_micros, HintLimits::default())
}

/// What `answer` means, in this order:
///
/// 1. nothing was sent: `Transient`; an answer was lost: `Unknown`;
/// 2. `ok: true` with a 2xx: `Delivered`, whatever else the body holds. With another status the two contradict each other:
///    `Unknown`;
/// 3. `migrate_to_chat_id`: `Migrated`, whatever the wording (case S8);
/// 4. a front end's refusal of our address: `Throttled` for the address;
/// 5. known words, if the status leaves no doubt that nothing was posted (not a 5xx, but for "Too Many Requests", which
///    the Bot API server also wraps into a 500): the table of reference/platforms.md;
/// 6. the status: 503, 425 and 408 are `Transient`, other 5xx `Unknown`, 401, 404 and 421 `AuthBroken`, 400, 413 and 422 `Rejected`,
///    2xx without `ok` `Unknown`, the rest `Unrecognised`.
///
/// The body's own `error_code` counts before the HTTP status, which a proxy may have changed.
pub fn classify_with(answer: &Answer<'_>, now_micros: i64, limits: HintLimits) -> Classified {
    match answer {
        Answer::NotSent(cause) => {
            Classified::new(Verdict::Transient, &format!("not sent: {cause}"))
        }
        Answer::Lost(cause) => Classified::new(Verdict::Unknown, &format!("answer lost: {cause}")),
        Answer::Response {
            status,
            headers,
            body,
        } => {
            let text = String::from_utf8_lossy(body);
            let body = Body::read(&text);
            let response = Response {
                status: *status,
                text,
                body,
            };
            let verdict =
                response.verdict(|text| retry_after::longest(headers, text, now_micros, limits));
            Classified::new(verdict, &response.reason())
        }
    }
}

struct Response<'a> {
    status: u16,
    text: Cow<'a, str>,
    body: Body,
}

impl Response<'_> {
    fn verdict(&self, hint: impl Fn(&str) -> Option<Duration>) -> Verdict {
        if self.body.ok == Some(true) {
            return self.accepted();
        }
        if let Some(new_chat_id) = self.body.migrate_to_chat_id.clone() {
            return Verdict::Migrated { new_chat_id };
        }
        let verdict = self
            .by_front_end()
            .or_else(|| self.by_words())
            .unwrap_or_else(|| self.by_status());
        with_hint(verdict, || hint(&self.text))
    }

    fn accepted(&self) -> Verdict {
        if (200..=299).contains(&self.status) {
            Verdict::Delivered {
                platform_message_id: self.body.message_id.clone(),
            }
        } else {
            Verdict::Unknown
        }
    }

    /// The status that counts.
    fn code(&self) -> u16 {
        self.body.error_code.unwrap_or(self.status)
    }

    /// A page or a text in place of the API's JSON comes from what stands before it, which knows addresses, not chats.
    fn by_front_end(&self) -> Option<Verdict> {
        let page = self.body.ok.is_none() && self.text.trim_start().starts_with('<');
        let limited = self.text.contains(ADDRESS_LIMITED) || (page && self.code() == 429);
        limited.then_some(Verdict::Throttled {
            scope: HoldScope::Address,
            wait: None,
        })
    }

    /// The API's own words; outside its JSON only those of a limit are believed.
    fn by_words(&self) -> Option<Verdict> {
        let words = self.body.description.as_deref();
        let verdict = rules::verdict(words.unwrap_or(&self.text))?;
        let refused = (400..=499).contains(&self.code()) || self.body.ok == Some(false);
        let throttled = matches!(verdict, Verdict::Throttled { .. });
        let certain = words.is_some() && !(500..=599).contains(&self.code());
        (refused && (throttled || certain)).then_some(verdict)
    }

    /// Decisions where reference/platforms.md leaves room:
    ///
    /// - 2xx without `ok`: not the Bot API's answer (a captive portal gives 200 to everything), so `Delivered` would lose
    ///   messages; bytes went out, so `Unknown`. With `ok: false` it is a refusal in unknown words: `Unrecognised`.
    /// - 400 and 422 in the API's JSON: permanent, `Rejected` (requirement B9); without it `Unrecognised`. 413: `Rejected`.
    /// - 401, 404, 421: the API answers so only to a token it does not serve (a missing chat is a 400): `AuthBroken`.
    /// - 408, 425, 503: the request was not handled: `Transient`. Any other 5xx may come after acceptance: `Unknown`.
    /// - everything else, redirects too, was not handled either: `Unrecognised`.
    fn by_status(&self) -> Verdict {
        let api_answered = self.body.ok == Some(false);
        match self.code() {
            200..=299 if !api_answered => Verdict::Unknown,
            400 | 422 if api_answered => Verdict::Rejected,
            413 => Verdict::Rejected,
            401 | 404 | 421 => Verdict::AuthBroken,
            429 => Verdict::Throttled {
                scope: HoldScope::Unnamed,
                wait: None,
            },
            408 | 425 | 503 => Verdict::Transient,
            500..=599 => Verdict::Unknown,
            _ => Verdict::Unrecognised,
        }
    }

    fn reason(&self) -> String {
        let code = self.code();
        let told = match &self.body.description {
            Some(description) => description.clone(),
            None => self.text.chars().take(MAX_SHOWN_BODY_CHARS).collect(),
        };
        if code == self.status {
            format!("HTTP {code}: {told}")
        } else {
            format!("HTTP {}, error_code {code}: {told}", self.status)
        }
    }
}

/// Puts the wait that the answer names into a throttled verdict. A `Transient` answer that names one becomes
/// `Throttled`: the hint holds on every path (requirement L11).
fn with_hint(verdict: Verdict, hint: impl FnOnce() -> Option<Duration>) -> Verdict {
    let scope = match &verdict {
        Verdict::Throttled { scope, .. } => *scope,
        Verdict::Transient => HoldScope::Unnamed,
        Verdict::Delivered { .. }
        | Verdict::Rejected
        | Verdict::DeadTarget { .. }
        | Verdict::Migrated { .. }
        | Verdict::AuthBroken
        | Verdict::Unknown
        | Verdict::Unrecognised => return verdict,
    };
    match hint() {
        wait @ Some(_) => Verdict::Throttled { scope, wait },
        None => verdict,
    }
}
