//! Compatibility with what is registered, proved by ourselves before a registry is asked (design §5).

use tidings_envelope::{Break, Catalogue, EventType};

use crate::registry::{RegisteredEdition, Subjects, SubjectsError};

/// A difference that would break a reader, and from what.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{subject}: {found} (against {earlier})")]
pub struct Incompatible {
    /// The subject, which is the event type's and version's.
    pub subject: String,
    /// The schema that it breaks with.
    pub earlier: String,
    /// Field, problem and remedy.
    pub found: Break,
}

/// What an event type's schema breaks of what is registered under its subject; each break once, with the oldest it is from.
#[must_use]
pub fn incompatible(event: &EventType, registered: &[RegisteredEdition]) -> Vec<Incompatible> {
    let mut all: Vec<Incompatible> = Vec::new();
    for edition in registered {
        for found in event.breaks_with(&edition.schema_json) {
            if !all.iter().any(|known| known.found == found) {
                all.push(Incompatible {
                    subject: event.full_name().to_owned(),
                    earlier: format!(
                        "registered version {}, schema id {}",
                        edition.version, edition.id
                    ),
                    found,
                });
            }
        }
    }
    all
}

/// The first break of each event type of a catalogue with what a registry has.
///
/// # Errors
/// The registry cannot be asked.
pub async fn first_incompatible(
    catalogue: &Catalogue,
    subjects: &Subjects,
) -> Result<Option<Incompatible>, SubjectsError> {
    for event in catalogue.iter() {
        let registered = subjects.editions(event.full_name()).await?;
        if let Some(found) = incompatible(event, &registered).into_iter().next() {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
