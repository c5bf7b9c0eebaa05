//! Building the call.

use serde_json::{Map, Value};

use super::destination;
use crate::refusal::Refusal;
use crate::request::{HttpRequest, Method, Outgoing};
use crate::secret::{Secret, SecretUrl};

/// Where everybody's bots are served (reference/platforms.md, Telegram).
pub const DEFAULT_BASE_URL: &str = "https://api.telegram.org";
/// The path of the call, with the token's place: what spans show.
pub const SEND_MESSAGE_TEMPLATE: &str = "/bot{token}/sendMessage";
/// The longest text, in code points, after Telegram has taken the markup out (reference/platforms.md).
pub const MAX_TEXT_CHARS: usize = 4_096;
/// The largest raw text, in bytes of UTF-8, markup included (reference/platforms.md).
pub const MAX_TEXT_BYTES: usize = 32_768;

/// The call that sends `outgoing` from the account of `token` to the Bot API at `base_url`
/// ([`DEFAULT_BASE_URL`], or a server of one's own, or a simulator).
///
/// # Errors
/// [`Refusal`] when no call could succeed: an id that Telegram has no form for, an empty or too long text, an unusable
/// base address or token. A text with a parse mode may have more than [`MAX_TEXT_CHARS`] raw characters (markup does not
/// count, case S10): only Telegram can count those, and its answer is then `Rejected`.
pub fn request(
    base_url: &str,
    token: &Secret,
    outgoing: &Outgoing<'_>,
) -> Result<HttpRequest, Refusal> {
    let base_url = usable_base(base_url)?;
    check_token(token)?;
    check_text(outgoing)?;
    Ok(HttpRequest {
        method: Method::Post,
        url: SecretUrl::from_template(base_url, SEND_MESSAGE_TEMPLATE, token),
        url_template: SEND_MESSAGE_TEMPLATE,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body(outgoing)?.to_string().into_bytes(),
    })
}

fn body(outgoing: &Outgoing<'_>) -> Result<Value, Refusal> {
    let mut fields = Map::new();
    fields.insert(
        "chat_id".to_owned(),
        destination::chat_id(outgoing.chat_id)?,
    );
    fields.insert("text".to_owned(), Value::from(outgoing.text));
    if let Some(thread_id) = outgoing.thread_id {
        let thread_id = destination::thread_id(thread_id)?;
        fields.insert("message_thread_id".to_owned(), thread_id);
    }
    if let Some(parse_mode) = outgoing.parse_mode {
        fields.insert("parse_mode".to_owned(), Value::from(parse_mode.as_str()));
    }
    Ok(Value::Object(fields))
}

fn check_text(outgoing: &Outgoing<'_>) -> Result<(), Refusal> {
    let text = outgoing.text;
    if text.trim().is_empty() {
        return Err(Refusal::TextEmpty);
    }
    if text.len() > MAX_TEXT_BYTES {
        let (bytes, limit) = (text.len(), MAX_TEXT_BYTES);
        return Err(Refusal::TextTooLarge { bytes, limit });
    }
    let chars = text.chars().count();
    if outgoing.parse_mode.is_none() && chars > MAX_TEXT_CHARS {
        let limit = MAX_TEXT_CHARS;
        return Err(Refusal::TextTooLong { chars, limit });
    }
    Ok(())
}

/// `base_url` without its trailing slashes.
fn usable_base(base_url: &str) -> Result<&str, Refusal> {
    let refuse = |problem| Err(Refusal::BaseUrl { problem });
    let scheme_less = base_url
        .strip_prefix("https://")
        .or_else(|| base_url.strip_prefix("http://"));
    let Some(scheme_less) = scheme_less else {
        return refuse("does not start with http:// or https://");
    };
    if scheme_less.trim_end_matches('/').is_empty() {
        return refuse("names no host");
    }
    if base_url.contains('@') {
        return refuse("holds credentials");
    }
    let forbidden =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#' | '{' | '}');
    if base_url.contains(forbidden) {
        return refuse("holds white space, a query, a fragment or a brace");
    }
    Ok(base_url.trim_end_matches('/'))
}

/// A token goes into a path: anything that could change the path is refused.
fn check_token(token: &Secret) -> Result<(), Refusal> {
    let token = token.expose();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-');
    if token.is_empty() || !token.chars().all(fits) {
        return Err(Refusal::Token);
    }
    Ok(())
}
