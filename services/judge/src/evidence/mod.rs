//! What the judge has seen, before it thinks about any of it.

mod attempt;
mod claim;
mod fault;
mod ledger;
mod platform;

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

pub use attempt::{AttemptId, UnreadableAttempt};
pub use claim::{Claim, State, UnknownState};
pub use fault::Faults;
pub use ledger::{Expectation, Lane, LedgerRow, RolledBack, Transaction, UnknownWord};
pub use platform::{Answer, Call};

/// Everything that [`crate::decide()`] judges by. Made by [`crate::gather()`], or by hand in tests.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// Which run is judged.
    pub scope: Scope,
    /// The ledger rows of the judged run: exactly what upstream committed.
    pub ledger: Vec<LedgerRow>,
    /// Messages whose transactions upstream rolled back.
    pub rolled_back: Vec<RolledBack>,
    /// Messages that are still in the outbox.
    pub outbox: HashSet<Uuid>,
    /// Messages in `outbox_held`: they wait for an operator.
    pub held: HashSet<Uuid>,
    /// Messages that the relay rejected, with its reason.
    pub rejected_by_relay: HashMap<Uuid, String>,
    /// The claims of the judged messages.
    pub claims: Vec<Claim>,
    /// Judged messages that wait in Postgres with their chats.
    pub deferred: HashSet<Uuid>,
    /// Every call that the platform received, in order of arrival.
    pub calls: Vec<Call>,
    /// What lies in Kafka; `None` when no brokers were named.
    pub kafka: Option<KafkaEvidence>,
    /// What was done to the workers on purpose.
    pub faults: Faults,
    /// Whether a message that was given up breaks the run: for runs in which nothing may fail.
    pub require_delivery: bool,
    /// Whether the system came to rest before the evidence was read.
    pub rest: Rest,
}

/// Which messages are judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Scope {
    /// Every run in the ledger; every post must belong to one of them.
    #[default]
    EveryRun,
    /// One run. Posts to other chats than the run's, of other messages, are counted as foreign and
    /// otherwise ignored, so that runs can share a simulator.
    Run(String),
}

/// What lies in the lanes and in the dead-letter topics.
#[derive(Debug, Clone, Default)]
pub struct KafkaEvidence {
    /// Records behind the consumer group's committed offsets, over all lanes.
    pub lag: u64,
    /// `ce_id` of those records.
    pub unread: HashSet<Uuid>,
    /// `ce_id` of the records in the dead-letter topics.
    pub dead_letters: HashSet<Uuid>,
    /// All records in the dead-letter topics, those without a readable `ce_id` too.
    pub dead_letter_records: u64,
}

/// How the wait for the system to come to rest ended (design §7, "after quiescence").
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Rest {
    /// The caller asked for no wait.
    #[default]
    NotAwaited,
    /// Nothing was outstanding any more.
    Reached,
    /// Nothing moved for as long as was asked, though something may be outstanding.
    Stalled,
    /// Things still moved when the longest wait was over.
    StillMoving,
}
