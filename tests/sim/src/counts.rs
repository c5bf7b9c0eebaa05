use std::collections::BTreeMap;

/// How often things happened, by name: an idle simulation proves nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    pub(crate) fn add(&mut self, what: &'static str) {
        self.add_many(what, 1);
    }

    pub(crate) fn add_many(&mut self, what: &'static str, times: u64) {
        *self.0.entry(what).or_default() += times;
    }

    /// Adds another world's counts.
    pub fn merge(&mut self, other: &Self) {
        for (what, times) in &other.0 {
            self.add_many(what, *times);
        }
    }

    /// How often `what` happened.
    #[must_use]
    pub fn get(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// All names with their numbers, ascending by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(what, times)| (*what, *times))
    }
}
