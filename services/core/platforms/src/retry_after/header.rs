//! Hints in headers.

use super::{http_date, seconds};

/// The headers that carry a wait: the HTTP one, and Discord's float.
const NAMES: [&str; 2] = ["retry-after", "x-ratelimit-reset-after"];
/// The most of one header's value that is read, in characters: a joined list of several dates fits.
const MAX_VALUE_CHARS: usize = 512;

/// Every wait that `headers` name, in seconds; dates as seconds from the answer's `Date`, else from `now_micros`.
pub(super) fn seconds(headers: &[(String, String)], now_micros: i64) -> Vec<f64> {
    let reference_micros = named(headers, "date")
        .find_map(|value| http_date::parse_micros(value, now_micros))
        .unwrap_or(now_micros);
    NAMES
        .iter()
        .flat_map(|name| named(headers, name))
        .flat_map(|value| values(value, reference_micros))
        .collect()
}

fn named<'a>(headers: &'a [(String, String)], name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
    headers
        .iter()
        .filter(move |(candidate, _)| candidate.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}

/// The waits of one value. Proxies join repeated headers with commas (`2814, 2`, case S15), and a date holds a comma
/// itself: each part is tried with the next one as a date first, then alone.
fn values(value: &str, reference_micros: i64) -> Vec<f64> {
    let value: String = value.chars().take(MAX_VALUE_CHARS).collect();
    let parts: Vec<&str> = value.split(',').collect();
    let mut found = Vec::new();
    let mut index = 0;
    while let Some(part) = parts.get(index) {
        let with_next = parts.get(index + 1).map(|next| format!("{part},{next}"));
        let joined_date = with_next.and_then(|date| until(&date, reference_micros));
        index += if joined_date.is_some() { 2 } else { 1 };
        found.extend(
            joined_date
                .or_else(|| seconds::parse(part))
                .or_else(|| until(part, reference_micros)),
        );
    }
    found
}

/// Seconds from `reference_micros` to the date that `text` is; negative for the past.
fn until(text: &str, reference_micros: i64) -> Option<f64> {
    let date_micros = http_date::parse_micros(text, reference_micros)?;
    Some(date_micros.saturating_sub(reference_micros) as f64 / 1e6)
}
