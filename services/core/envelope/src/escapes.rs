//! Characters that JSON can escape but that no text may hold.

use std::borrow::Cow;

const REPLACEMENT: &[u8] = br"\ufffd";
/// A backslash, `u` and four hexadecimal digits.
const ESCAPE_BYTES: usize = 6;

/// Replaces the escapes of U+0000 and of lone surrogates in a JSON text with that of U+FFFD.
///
/// Postgres' `json` keeps such escapes as they came, so that an order is not lost to a character;
/// Avro strings are UTF-8 and cannot hold a surrogate, and platforms refuse U+0000. Total: a text
/// that is no JSON is passed through.
pub fn sanitise_escapes(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let mut clean = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(offset) = bytes[at..].iter().position(|byte| *byte == b'\\') {
        at += offset;
        let (length, keep) = judge(&bytes[at..]);
        if !keep {
            clean.extend_from_slice(&bytes[copied..at]);
            clean.extend_from_slice(REPLACEMENT);
            copied = at + length;
        }
        at += length;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    clean.extend_from_slice(&bytes[copied..]);
    Cow::Owned(String::from_utf8_lossy(&clean).into_owned())
}

/// The length of the escape that `rest` begins with, and whether it may stay.
fn judge(rest: &[u8]) -> (usize, bool) {
    match code_unit(rest) {
        Some(0 | 0xdc00..=0xdfff) => (ESCAPE_BYTES, false),
        Some(0xd800..=0xdbff) => match code_unit(&rest[ESCAPE_BYTES..]) {
            Some(0xdc00..=0xdfff) => (2 * ESCAPE_BYTES, true),
            Some(_) | None => (ESCAPE_BYTES, false),
        },
        Some(_) => (ESCAPE_BYTES, true),
        // Another escape, whose second byte may itself be a backslash, or a text that ends here.
        None => (rest.len().min(2), true),
    }
}

/// The code unit of a `\uXXXX` that `rest` begins with.
fn code_unit(rest: &[u8]) -> Option<u16> {
    let [b'\\', b'u', digits @ ..] = rest else {
        return None;
    };
    let mut unit = 0u16;
    for digit in digits.get(..4)? {
        unit = unit << 4 | char::from(*digit).to_digit(16)? as u16;
    }
    Some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> String {
        serde_json::from_str(&sanitise_escapes(json)).unwrap()
    }

    #[test]
    fn nul_and_lone_surrogates_become_the_replacement_character() {
        assert_eq!(text(r#""a\u0000b""#), "a\u{fffd}b");
        assert_eq!(text(r#""\ud83d""#), "\u{fffd}");
        assert_eq!(text(r#""\ud83dx""#), "\u{fffd}x");
        assert_eq!(
            text(r#""\uDE00\ud83d\ud83d\ude00\u0000""#),
            "\u{fffd}\u{fffd}😀\u{fffd}"
        );
        assert_eq!(text(r#""\ud83d\n""#), "\u{fffd}\n");
    }

    #[test]
    fn what_may_stay_is_not_copied() {
        for json in [
            r#""plain""#,
            r#""\ud83d\ude00""#,
            r#""\\u0000""#,
            r#""\\\\ud800""#,
            r#""\"""#,
        ] {
            assert!(
                matches!(sanitise_escapes(json), Cow::Borrowed(same) if same == json),
                "{json}"
            );
        }
        assert_eq!(text(r#""\\\u0000""#), "\\\u{fffd}");
    }

    #[test]
    fn texts_that_are_no_json_pass() {
        for odd in [
            "",
            "\\",
            r"\u",
            r"\u00",
            r"\ud83d\u12",
            r"\u00zz",
            "é\\é",
            r"\ud83d\",
        ] {
            assert!(!sanitise_escapes(odd).contains('\0'));
        }
    }
}
