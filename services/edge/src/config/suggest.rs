//! "Did you mean …": the known name that a mistyped one is closest to.

/// The most that a suggestion may differ from what was written, as a part of its length.
const FARTHEST_SHARE: f64 = 0.4;

/// The closest of `known` to `written`, if one is close. Case and the number of underscores hardly count: a single
/// `_` for `__` is the commonest mistake.
pub(super) fn closest<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let plain = |name: &str| name.to_ascii_lowercase().replace("__", "_");
    let written = plain(written);
    let distances = known.into_iter().map(|name| {
        let distance = strsim::damerau_levenshtein(&written, &plain(name));
        (distance, name)
    });
    let (distance, name) = distances.min_by_key(|(distance, _)| *distance)?;
    let longest = written.len().max(name.len());
    (distance as f64 <= FARTHEST_SHARE * longest as f64).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let known = ["brokers", "prefix", "partitions"];
        assert_eq!(closest("broker", known), Some("brokers"));
        assert_eq!(closest("Partition", known), Some("partitions"));
        assert_eq!(closest("colour", known), None);
        assert_eq!(closest("x", []), None);
    }

    #[test]
    fn a_single_underscore_means_two() {
        let known = ["TIDINGS_KAFKA__BROKERS", "TIDINGS_KAFKA__PREFIX"];
        assert_eq!(
            closest("TIDINGS_KAFKA_BROKERS", known),
            Some("TIDINGS_KAFKA__BROKERS")
        );
    }
}
