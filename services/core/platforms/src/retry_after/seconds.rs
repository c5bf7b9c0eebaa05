//! Numbers of seconds, as text.

/// The longest number read, in bytes.
const MAX_NUMBER_BYTES: usize = 512;

/// The number of seconds that `text` is, white space around it ignored. Infinite if it is a number beyond the type's
/// range; `None` if it is no decimal number (`inf` and `NaN` are words, not numbers).
pub(super) fn parse(text: &str) -> Option<f64> {
    let text = text.trim();
    let decimal = text.len() <= MAX_NUMBER_BYTES && text.chars().all(is_number_char);
    decimal.then(|| text.parse().ok()).flatten()
}

/// Whether `c` occurs in decimal numbers.
pub(super) fn is_number_char(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E')
}
