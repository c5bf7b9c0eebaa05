//! Hints in a body: in its fields, and in its words.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::seconds;

/// What Telegram, and its servers' own errors when they shine through, put before a number of seconds.
const MARKERS: [&str; 3] = ["retry after", "flood_wait_", "slowmode_wait_"];
/// The most of a body in which words are looked for, in characters: the platforms' errors are short.
const MAX_SCANNED_CHARS: usize = 4_096;

/// Every wait that `body` names, in seconds.
pub(super) fn seconds(body: &str) -> Vec<f64> {
    let mut found = in_fields(body);
    found.extend(in_words(body));
    found
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, default)]
    retry_after: Option<&'a RawValue>,
    #[serde(borrow, default)]
    parameters: Option<&'a RawValue>,
}

/// `retry_after` (Discord, Slack) and `parameters.retry_after` (Telegram), as a number or as a string of one. The raw
/// text is read, so that a number beyond JSON's usual range does not hide the rest of the body.
fn in_fields(body: &str) -> Vec<f64> {
    let outer = fields(body);
    let inner = outer
        .as_ref()
        .and_then(|outer| outer.parameters)
        .and_then(|parameters| fields(parameters.get()));
    [outer, inner]
        .into_iter()
        .flatten()
        .filter_map(|fields| seconds::parse(fields.retry_after?.get().trim_matches('"')))
        .collect()
}

/// A JSON object's fields. An array has none, although serde would take its items for them.
fn fields(json: &str) -> Option<Fields<'_>> {
    let is_object = json.trim_start().starts_with('{');
    is_object.then(|| serde_json::from_str(json).ok()).flatten()
}

/// The numbers after each of [`MARKERS`], in any case.
fn in_words(body: &str) -> Vec<f64> {
    let text: String = body.chars().take(MAX_SCANNED_CHARS).collect();
    let text = text.to_ascii_lowercase();
    MARKERS
        .iter()
        .flat_map(|marker| text.split(marker).skip(1))
        .filter_map(leading_number)
        .collect()
}

fn leading_number(text: &str) -> Option<f64> {
    let text = text.trim_start_matches([' ', ':']);
    let end = text
        .find(|c| !seconds::is_number_char(c))
        .unwrap_or(text.len());
    // A full stop after the number ends the sentence; "5e" is the number 5 and a word.
    seconds::parse(text[..end].trim_end_matches(['.', 'e', '-', '+']))
}
