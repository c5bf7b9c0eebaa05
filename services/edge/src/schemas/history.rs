//! Earlier editions of a version's schema, kept beside it: `<event type>/history/v<N>.<edition>.avsc`.
//!
//! A registry knows them too, but a change is proposed where none may be in reach.

use std::path::Path;

use super::SchemasError;
use super::folder::{entries, name_of, refused, text};

/// An earlier edition of the data of an event type's version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edition {
    /// The event type.
    pub event_type: String,
    /// Its major version.
    pub version: i32,
    /// The file, as messages name it: `order.confirmed/history/v1.1.avsc`.
    pub file: String,
    /// The data's schema.
    pub data_json: String,
}

/// The editions under a folder of event types, by file name.
///
/// # Errors
/// A file cannot be read, is too long, or is named otherwise.
pub fn editions(folder: &Path) -> Result<Vec<Edition>, SchemasError> {
    let mut found = Vec::new();
    for event in entries(folder)? {
        let history = event.join("history");
        if !history.is_dir() {
            continue;
        }
        for path in entries(&history)? {
            let event_type = name_of(&event)?;
            let name = name_of(&path)?;
            let version = version(name).ok_or_else(|| {
                refused(
                    &path,
                    "name it v<N>.<edition>.avsc, such as v1.1.avsc, or remove it",
                )
            })?;
            found.push(Edition {
                event_type: event_type.to_owned(),
                version,
                file: format!("{event_type}/history/{name}"),
                data_json: text(&path)?,
            });
        }
    }
    Ok(found)
}

fn version(name: &str) -> Option<i32> {
    let (version, edition) = name
        .strip_prefix('v')?
        .strip_suffix(".avsc")?
        .split_once('.')?;
    edition.parse::<u32>().ok()?;
    version.parse().ok()
}
