//! Examples of what was found: a few are kept, all are counted.

use std::collections::BTreeMap;

/// Examples kept of each kind.
pub const MAX_EXAMPLES: usize = 10;

/// All findings by kind; a kind is named like its count.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    kinds: BTreeMap<&'static str, Finding>,
}

/// One kind of finding.
#[derive(Debug, Clone, Default)]
pub struct Finding {
    /// How many messages or posts were found.
    pub total: u64,
    /// The first [`MAX_EXAMPLES`] of them.
    pub examples: Vec<String>,
}

impl Findings {
    /// Counts one more of `kind`, and keeps its words while there is room.
    pub fn add(&mut self, kind: &'static str, words: impl FnOnce() -> String) {
        let finding = self.kinds.entry(kind).or_default();
        finding.total += 1;
        if finding.examples.len() < MAX_EXAMPLES {
            finding.examples.push(words());
        }
    }

    /// The kinds that were found, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Finding)> {
        self.kinds.iter().map(|(kind, finding)| (*kind, finding))
    }

    /// One kind, if it was found.
    pub fn get(&self, kind: &str) -> Option<&Finding> {
        self.kinds.get(kind)
    }
}
