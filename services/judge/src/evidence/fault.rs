//! What was done to the workers on purpose, and so what it may have cost.

use std::collections::HashSet;

use uuid::Uuid;

/// The faults of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    /// Worker incarnations that were killed.
    pub killed: HashSet<Uuid>,
    /// Worker incarnations that were stopped beyond their lease, or cut off, and lived on: their
    /// `sent` may have been recorded late, after another worker had sent.
    pub fenced: HashSet<Uuid>,
    /// Whether attempts whose answer was lost, late or a 5xx excuse one extra post each
    /// (design §7: "lost the answer").
    pub unknown_allowance: bool,
}
