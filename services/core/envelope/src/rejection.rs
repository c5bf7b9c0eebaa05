//! Why a row cannot be encoded, in words for the service that published it.

use crate::path::Path;
use std::fmt;

/// A row that cannot be encoded. Its Display is the reason kept beside the row: at most
/// [`Rejection::REASON_CHARS`] characters, and no more of the payload than the number or enum
/// value at fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Rejection {
    /// What kind of fault it is.
    pub code: RejectionCode,
    /// Where: `data.items[2].quantity`, or an envelope field.
    pub field: String,
    /// What is wrong there.
    pub problem: String,
    /// What the publishing service can do about it.
    pub remedy: String,
}

impl Rejection {
    /// The longest reason (requirement B12).
    pub const REASON_CHARS: usize = 2_000;
    /// The longest of the parts that a row can influence.
    const PART_CHARS: usize = 600;

    pub(crate) fn new(
        code: RejectionCode,
        at: &Path<'_>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            code,
            field: capped(at.to_string(), Self::PART_CHARS),
            problem: capped(problem.into(), Self::PART_CHARS),
            remedy: capped(remedy.into(), Self::PART_CHARS),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}: {}. Remedy: {}.",
            self.code.as_str(),
            self.field,
            self.problem,
            self.remedy
        )
    }
}

/// The kinds of faults; the words are stable (a metric label, a column).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RejectionCode {
    /// No such event type.
    UnknownType,
    /// The event type exists, this version of it does not.
    UnsupportedVersion,
    /// The data is not JSON.
    InvalidJson,
    /// A required field is absent.
    MissingField,
    /// A field that the type does not have.
    UnknownField,
    /// A field that occurs twice.
    DuplicateField,
    /// A value of another type than the field's.
    WrongType,
    /// A word that is none of the enum's.
    UnknownEnum,
    /// A number or time beyond the field's type.
    OutOfRange,
    /// More bytes than a message may have.
    TooLarge,
    /// An envelope field that is empty, too long, or inconsistent.
    InvalidEnvelope,
}

impl RejectionCode {
    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownType => "unknown_type",
            Self::UnsupportedVersion => "unsupported_version",
            Self::InvalidJson => "invalid_json",
            Self::MissingField => "missing_field",
            Self::UnknownField => "unknown_field",
            Self::DuplicateField => "duplicate_field",
            Self::WrongType => "wrong_type",
            Self::UnknownEnum => "unknown_enum",
            Self::OutOfRange => "out_of_range",
            Self::TooLarge => "too_large",
            Self::InvalidEnvelope => "invalid_envelope",
        }
    }
}

/// The text, cut to `limit` characters, with an ellipsis where it was cut.
pub(crate) fn capped(text: String, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text,
        Some(_) => text.chars().take(limit - 1).chain(['…']).collect(),
    }
}

/// The candidate that `name` was probably meant to be.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Longer names are not typing errors, and the distance costs length × length.
    const LONGEST: usize = 64;
    if name.len() > LONGEST {
        return None;
    }
    let near = candidates
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate));
    near.filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(2))
        .min()
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance: the fewest single characters to insert, remove or replace.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, one) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (left, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(one != *other);
            diagonal = row[left + 1];
            row[left + 1] = replaced.min(diagonal + 1).min(row[left] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("größe", "grösse"), 2);
    }

    #[test]
    fn the_nearest_name_is_offered_only_when_it_is_near() {
        let fields = ["order_id", "amount", "currency"];
        assert_eq!(nearest("amonut", fields), Some("amount"));
        assert_eq!(nearest("orderId", fields), Some("order_id"));
        assert_eq!(nearest("zzzzzzzzzzzz", fields), None);
        assert_eq!(nearest(&"a".repeat(100_000), fields), None);
    }

    #[test]
    fn reasons_are_bounded() {
        let long = "ü".repeat(10_000);
        let rejection = Rejection::new(
            RejectionCode::UnknownField,
            &Path::Root(&long),
            long.clone(),
            long.clone(),
        );
        assert!(rejection.to_string().chars().count() <= Rejection::REASON_CHARS);
    }
}
