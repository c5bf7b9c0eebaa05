//! What Tidings says became of a message: a row of `tidings_delivery.claims`.

use std::str::FromStr;

use thiserror::Error;
use uuid::Uuid;

use super::AttemptId;

/// One claim. Rows of a deliberate second send (`resend_nonce`) are not evidence here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The claimed message.
    pub message_id: Uuid,
    /// Where the message is, or how it ended.
    pub state: State,
    /// The attempt recorded as `sent`, if any.
    pub sent: Option<AttemptId>,
    /// Why, for settlements other than delivered.
    pub reason: Option<String>,
}

/// States of a claim; the last seven are the settlements of design §1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Claimed, not settled.
    Claimed,
    /// Maybe sent (`park`), not settled.
    Started,
    /// The platform accepted it.
    Delivered,
    /// The target is dead.
    Undeliverable,
    /// The platform refused the message for good.
    Rejected,
    /// It was too late to send.
    Expired,
    /// Given up: attempts exhausted, or poison.
    DeadLettered,
    /// Unknown under `park`: a person decides.
    Parked,
    /// An operator threw it away.
    Discarded,
}

impl State {
    /// Whether the state is an end (design §1, "settlement").
    pub fn is_settlement(self) -> bool {
        match self {
            Self::Claimed | Self::Started => false,
            Self::Delivered
            | Self::Undeliverable
            | Self::Rejected
            | Self::Expired
            | Self::DeadLettered
            | Self::Parked
            | Self::Discarded => true,
        }
    }

    /// Whether the settlement must also be a dead letter (design §1).
    pub fn is_dead_letter(self) -> bool {
        match self {
            Self::Rejected | Self::DeadLettered | Self::Parked => true,
            Self::Claimed
            | Self::Started
            | Self::Delivered
            | Self::Undeliverable
            | Self::Expired
            | Self::Discarded => false,
        }
    }
}

/// A state that the judge has never heard of.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "unknown state `{0}` in tidings_delivery.claims; the judge and the dispatcher are of different versions"
)]
pub struct UnknownState(pub String);

impl FromStr for State {
    type Err = UnknownState;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "claimed" => Self::Claimed,
            "started" => Self::Started,
            "delivered" => Self::Delivered,
            "undeliverable" => Self::Undeliverable,
            "rejected" => Self::Rejected,
            "expired" => Self::Expired,
            "dead_lettered" => Self::DeadLettered,
            "parked" => Self::Parked,
            "discarded" => Self::Discarded,
            other => return Err(UnknownState(other.to_owned())),
        })
    }
}
