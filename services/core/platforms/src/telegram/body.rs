//! Reading an answer's body, of which nothing is certain.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The status codes that an `error_code` may name.
const HTTP_STATUSES: std::ops::RangeInclusive<u16> = 100..=599;

/// What a Bot API body says. Each field is read for itself: a strange one hides no other.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Body {
    /// The API's own word; `None` if the body is not the API's.
    pub(super) ok: Option<bool>,
    /// `result.message_id`.
    pub(super) message_id: Option<String>,
    /// `error_code`, if it is an HTTP status.
    pub(super) error_code: Option<u16>,
    /// `description`.
    pub(super) description: Option<String>,
    /// `parameters.migrate_to_chat_id`, if it is an integer.
    pub(super) migrate_to_chat_id: Option<String>,
}

impl Body {
    /// Reads `text`. A body cut in the middle (a caller reads only so much) that begins with the API's `{"ok":true` is
    /// still its word: the server writes it only after it has accepted.
    pub(super) fn read(text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}').trim();
        match object::<Fields<'_>>(text) {
            Some(fields) => Self::from_fields(&fields),
            None => Self {
                ok: begins_with_ok(text).then_some(true),
                ..Self::default()
            },
        }
    }

    fn from_fields(fields: &Fields<'_>) -> Self {
        Self {
            ok: fields.ok.and_then(value),
            message_id: fields
                .result
                .and_then(|raw| object::<Message<'_>>(raw.get()))
                .and_then(|m| integer(m.message_id?)),
            error_code: fields
                .error_code
                .and_then(integer)
                .and_then(|code| status(&code)),
            description: fields
                .description
                .and_then(value::<Cow<'_, str>>)
                .map(Cow::into_owned),
            migrate_to_chat_id: fields
                .parameters
                .and_then(|raw| object::<Parameters<'_>>(raw.get()))
                .and_then(|parameters| integer(parameters.migrate_to_chat_id?)),
        }
    }
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, default)]
    ok: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error_code: Option<&'a RawValue>,
    #[serde(borrow, default)]
    description: Option<&'a RawValue>,
    #[serde(borrow, default)]
    parameters: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    message_id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Parameters<'a> {
    #[serde(borrow, default)]
    migrate_to_chat_id: Option<&'a RawValue>,
}

fn value<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

/// A JSON object. An array is none, although serde would take its items for fields.
fn object<'a, T: Deserialize<'a>>(json: &'a str) -> Option<T> {
    let is_object = json.starts_with('{');
    is_object.then(|| serde_json::from_str(json).ok()).flatten()
}

/// A 64-bit integer, given as a number or as a string of one.
fn integer(raw: &RawValue) -> Option<String> {
    let number: i64 = raw.get().trim_matches('"').parse().ok()?;
    Some(number.to_string())
}

fn status(code: &str) -> Option<u16> {
    code.parse()
        .ok()
        .filter(|code| HTTP_STATUSES.contains(code))
}

fn begins_with_ok(text: &str) -> bool {
    let mut rest = text;
    ["{", "\"ok\"", ":", "true", ","].iter().all(|token| {
        let after = rest.trim_start().strip_prefix(token);
        rest = after.unwrap_or_default();
        after.is_some()
    })
}
