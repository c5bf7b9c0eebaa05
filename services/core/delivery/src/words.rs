/// One record on its way through a worker. Numbers are never used again in a process, so an answer that comes late can
/// not be taken for another record's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId(pub u64);

/// A partition of a lane. `lane` is the worker's own number for the topic; the names stay at the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionId {
    /// The worker's index of the topic.
    pub lane: u16,
    /// Kafka's partition number.
    pub partition: i32,
}

/// What to do when bytes went out and no usable answer came back (design §7, `Unknown`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnUnknown {
    /// Send again: at least once.
    Resend,
    /// Never send again: a dead letter `unknown`, a person decides. At most once.
    Park,
}

/// Which retry profile an event type declared (design §8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryName {
    /// Seconds to minutes, up to a day.
    Standard,
    /// Under four seconds, for messages that somebody waits for.
    Interactive,
}

/// The one current end of a message (design §1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Settlement {
    /// The platform accepted it.
    Delivered,
    /// The target is dead (blocked, kicked, not found).
    Undeliverable,
    /// The platform, or the sender before any call, refused the content. Also a dead letter.
    Rejected,
    /// Its `expires_at` passed before an attempt.
    Expired,
    /// Exhausted. Also a dead letter.
    DeadLettered,
    /// Unknown under `park`. Also a dead letter.
    Parked,
    /// Given up by an operator.
    Discarded,
}

impl Settlement {
    /// The word used in the claims table, metrics and logs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Undeliverable => "undeliverable",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::DeadLettered => "dead_lettered",
            Self::Parked => "parked",
            Self::Discarded => "discarded",
        }
    }

    /// The settlement of a [`word`](Self::word), `None` for anything else.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [
            Self::Delivered,
            Self::Undeliverable,
            Self::Rejected,
            Self::Expired,
            Self::DeadLettered,
            Self::Parked,
            Self::Discarded,
        ]
        .into_iter()
        .find(|settlement| settlement.word() == word)
    }
}

/// Why a record is a dead letter: the header `tidings_dlq_category` (reference/conventions.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// The bytes can't be understood or may not be sent by anybody: never retried (B8, B13).
    Poison,
    /// The platform or the sender refused the content.
    Rejected,
    /// Transient failures used up the attempts or the age.
    Exhausted,
    /// Answers that no table knows, a few times in a row (B9), or a handler that panicked.
    Unrecognised,
    /// Bytes went out, no answer came, and the event type is `park`.
    Unknown,
}

impl Category {
    /// The word used in headers, metrics and logs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Poison => "poison",
            Self::Rejected => "rejected",
            Self::Exhausted => "exhausted",
            Self::Unrecognised => "unrecognised",
            Self::Unknown => "unknown",
        }
    }

    /// How a message ends that becomes a dead letter for this reason.
    #[must_use]
    pub fn settlement(self) -> Settlement {
        match self {
            Self::Rejected => Settlement::Rejected,
            Self::Unknown => Settlement::Parked,
            Self::Poison | Self::Exhausted | Self::Unrecognised => Settlement::DeadLettered,
        }
    }
}
