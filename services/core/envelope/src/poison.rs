//! Why a record can never be processed (requirement B13).

use crate::rejection::capped;
use crate::wire::WireError;
use std::fmt;

/// A record that can never be processed: dead-lettered at once, never retried.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Poison {
    /// What kind of fault it is.
    pub category: PoisonCategory,
    /// Where it is: `envelope.producer`, `data.items[2].quantity`, or `value`, `schema`.
    pub field: String,
    /// What is wrong there.
    pub problem: String,
}

impl Poison {
    const PART_CHARS: usize = 900;

    /// A fault, with both texts cut to 900 characters, so that the whole keeps within
    /// requirement B12's 2,000.
    pub fn new(
        category: PoisonCategory,
        field: impl Into<String>,
        problem: impl Into<String>,
    ) -> Self {
        Self {
            category,
            field: capped(field.into(), Self::PART_CHARS),
            problem: capped(problem.into(), Self::PART_CHARS),
        }
    }
}

impl fmt::Display for Poison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}: {}",
            self.category.as_str(),
            self.field,
            self.problem
        )
    }
}

impl From<WireError> for Poison {
    fn from(error: WireError) -> Self {
        Self::new(PoisonCategory::NotFramed, "value", error.to_string())
    }
}

/// The kinds of poison; the words are stable (a dead letter's category).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PoisonCategory {
    /// No value at all.
    NullValue,
    /// Not in the registry's wire format: random bytes, another system's JSON.
    NotFramed,
    /// A schema id that the registry does not know.
    UnknownSchemaId,
    /// A schema that cannot be parsed, is out of bounds, or cannot be read as ours.
    IncompatibleSchema,
    /// A schema of no event type of ours.
    UnknownType,
    /// A version of an event type that is not known here.
    UnsupportedVersion,
    /// Larger than a message may be.
    TooLarge,
    /// Not what its schema says: cut short, too long, or garbled.
    InvalidBytes,
    /// An envelope field that is missing, empty, out of range, or inconsistent.
    InvalidEnvelope,
    /// A data field that is out of range.
    InvalidData,
    /// No chat to send to, on a lane.
    NoDestination,
    /// The code that handled it panicked.
    HandlerPanicked,
}

impl PoisonCategory {
    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NullValue => "null_value",
            Self::NotFramed => "not_framed",
            Self::UnknownSchemaId => "unknown_schema_id",
            Self::IncompatibleSchema => "incompatible_schema",
            Self::UnknownType => "unknown_type",
            Self::UnsupportedVersion => "unsupported_version",
            Self::TooLarge => "too_large",
            Self::InvalidBytes => "invalid_bytes",
            Self::InvalidEnvelope => "invalid_envelope",
            Self::InvalidData => "invalid_data",
            Self::NoDestination => "no_destination",
            Self::HandlerPanicked => "handler_panicked",
        }
    }
}
