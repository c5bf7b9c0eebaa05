//! Removing credentials from text that others wrote (a proxy's error page may quote the path it was asked for).

/// Stands where a credential was.
const PLACEHOLDER: &str = "<token>";
/// The fewest digits of a bot's id before the colon of a token.
const MIN_ID_DIGITS: usize = 5;
/// The fewest characters after the colon of a token (real ones have 35).
const MIN_KEY_CHARS: usize = 20;

/// `text` with everything shaped like a Telegram token replaced by `<token>`: a path segment that starts with `bot` and
/// a digit, and a bare `<5 or more digits>:<20 or more of [A-Za-z0-9_-]>`.
pub fn redact(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let at_word_start = !output.ends_with(|c: char| c.is_ascii_alphanumeric());
        if let Some(after) = rest.strip_prefix("/bot").and_then(after_path_token) {
            output.push_str("/bot");
            output.push_str(PLACEHOLDER);
            rest = after;
        } else if let Some(after) = at_word_start.then(|| after_bare_token(rest)).flatten() {
            output.push_str(PLACEHOLDER);
            rest = after;
        } else {
            output.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    output
}

/// What follows a token that starts here, right after `/bot`.
fn after_path_token(text: &str) -> Option<&str> {
    text.starts_with(|c: char| c.is_ascii_digit())
        .then(|| text.trim_start_matches(|c| is_key_char(c) || matches!(c, ':' | '%')))
}

/// What follows a bare token that starts here.
fn after_bare_token(text: &str) -> Option<&str> {
    let after_id = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let key = after_id
        .strip_prefix(':')
        .or_else(|| after_id.strip_prefix("%3A"))?;
    let after_key = key.trim_start_matches(is_key_char);
    let shaped = text.len() - after_id.len() >= MIN_ID_DIGITS
        && key.len() - after_key.len() >= MIN_KEY_CHARS;
    shaped.then_some(after_key)
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go_and_the_rest_stays() {
        let key = "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw";
        for (text, expected) in [
            (
                format!("/bot123456:{key}/sendMessage"),
                "/bot<token>/sendMessage".to_owned(),
            ),
            (
                "/bot1:a/sendMessage".to_owned(),
                "/bot<token>/sendMessage".to_owned(),
            ),
            (format!("/bot123456%3A{key}/x"), "/bot<token>/x".to_owned()),
            (format!("token 123456:{key}."), "token <token>.".to_owned()),
            (format!("é123456:{key}"), "é<token>".to_owned()),
            (
                "at 12:30, id 123456: blocked".to_owned(),
                "at 12:30, id 123456: blocked".to_owned(),
            ),
            (
                "/bottle/robots.txt".to_owned(),
                "/bottle/robots.txt".to_owned(),
            ),
            (String::new(), String::new()),
        ] {
            assert_eq!(redact(&text), expected, "{text}");
        }
    }
}
