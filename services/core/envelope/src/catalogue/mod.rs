//! The event types that are known here, from the folders under `schemas/` or an operator's.

mod build;
mod carried;
mod compose;
mod credentials;
mod declaration;
mod error;
mod event_type;
mod naming;

pub use declaration::{Declaration, Kind, OnDead, OnStale, Policy, RetryProfile, TextSource};
pub use error::CatalogueError;
pub use event_type::EventType;

use crate::path::Path;
use crate::rejection::{Rejection, RejectionCode, nearest};
use std::collections::BTreeMap;
use std::sync::Arc;

mod builtin {
    use super::TypeFolder;
    include!(concat!(env!("OUT_DIR"), "/builtin.rs"));
}

/// The envelope's schema (`schemas/envelope.avsc`), around which data is composed.
pub const ENVELOPE_SCHEMA: &str = builtin::ENVELOPE;

/// The texts of one folder under `schemas/`.
#[derive(Debug, Clone, Copy)]
pub struct TypeFolder<'a> {
    /// The folder's name, which is the event type's.
    pub name: &'a str,
    /// `type.toml`.
    pub declaration: &'a str,
    /// `template.txt`, for the newest version, unless the text comes ready.
    pub template: Option<&'a str>,
    /// N and the text of each `template.v<N>.txt`, for versions that are not upcast to the newest.
    pub older_templates: &'a [(i32, &'a str)],
    /// N and the text of each `v<N>.avsc`.
    pub versions: &'a [(i32, &'a str)],
}

/// The event types, by name and version.
#[derive(Debug, Default)]
pub struct Catalogue {
    types: BTreeMap<String, BTreeMap<i32, Arc<EventType>>>,
}

impl Catalogue {
    /// The event types that were under `schemas/` when this was built.
    ///
    /// # Errors
    /// [`CatalogueError`] naming the folder and what is wrong in it.
    pub fn builtin() -> Result<Self, CatalogueError> {
        Self::from_folders(builtin::FOLDERS)
    }

    /// The event types of the given folders, around the built-in envelope.
    ///
    /// # Errors
    /// [`CatalogueError`] naming the folder and what is wrong in it.
    pub fn from_folders(folders: &[TypeFolder<'_>]) -> Result<Self, CatalogueError> {
        let mut catalogue = Self::default();
        for folder in folders {
            catalogue.add(folder)?;
        }
        Ok(catalogue)
    }

    fn add(&mut self, folder: &TypeFolder<'_>) -> Result<(), CatalogueError> {
        if folder.versions.is_empty() {
            return Err(CatalogueError::NoVersion {
                event: folder.name.to_owned(),
            });
        }
        let mut newest: Option<Arc<EventType>> = None;
        for (version, data) in newest_first(folder)? {
            let event = EventType::of_folder(folder, version, data, newest.as_deref())?;
            if let Some(newest) = &newest {
                event.check_upcast(newest)?;
            }
            let event = Arc::new(event);
            newest.get_or_insert_with(|| Arc::clone(&event));
            let versions = self.types.entry(folder.name.to_owned()).or_default();
            versions.insert(version, event);
        }
        Ok(())
    }

    /// Refuses an event that is named like a command, and the other way round (requirement B5).
    ///
    /// # Errors
    /// [`CatalogueError::Naming`], the first by name.
    pub fn check_names(&self) -> Result<(), CatalogueError> {
        for event in self.iter() {
            if let Some(problem) = naming::problem(event.name(), event.kind()) {
                return Err(CatalogueError::Naming {
                    event: event.name().to_owned(),
                    problem,
                });
            }
        }
        Ok(())
    }

    /// The event type `name` in major version `version`.
    pub fn get(&self, name: &str, version: i32) -> Option<&Arc<EventType>> {
        self.types.get(name)?.get(&version)
    }

    /// As [`Self::get`], with a reason for the publisher.
    ///
    /// # Errors
    /// [`RejectionCode::UnknownType`] or [`RejectionCode::UnsupportedVersion`], naming what exists.
    pub fn find(&self, name: &str, version: i32) -> Result<&Arc<EventType>, Rejection> {
        let Some(versions) = self.types.get(name) else {
            return Err(self.unknown_type(name));
        };
        versions.get(&version).ok_or_else(|| {
            let known: Vec<_> = versions.keys().map(i32::to_string).collect();
            Rejection::new(
                RejectionCode::UnsupportedVersion,
                &Path::Root("event_version"),
                format!("{name} has no version {version}"),
                format!(
                    "publish one of the versions {}, or deploy Tidings with the new one first",
                    known.join(", ")
                ),
            )
        })
    }

    fn unknown_type(&self, name: &str) -> Rejection {
        let meant = match nearest(name, self.types.keys().map(String::as_str)) {
            Some(near) => format!("did you mean {near}? Known types: "),
            None => "publish one of the known types: ".to_owned(),
        };
        let known: Vec<_> = self.types.keys().map(String::as_str).collect();
        Rejection::new(
            RejectionCode::UnknownType,
            &Path::Root("event_type"),
            format!(
                "there is no event type {}",
                crate::rejection::capped(format!("{name:?}"), 100)
            ),
            format!("{meant}{}", known.join(", ")),
        )
    }

    /// Every version of the event type `name`, ascending; empty if there is none.
    pub fn versions(&self, name: &str) -> impl Iterator<Item = &Arc<EventType>> {
        self.types.get(name).into_iter().flat_map(BTreeMap::values)
    }

    /// The event type whose composed record has this Avro full name (the registry subject).
    pub fn by_full_name(&self, full_name: &str) -> Option<&Arc<EventType>> {
        let (name, version) = EventType::split_full_name(full_name)?;
        self.get(name, version)
    }

    /// Every event type and version, by name, then version.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<EventType>> {
        self.types.values().flat_map(BTreeMap::values)
    }
}

/// The versions of a folder, descending, so that the newest is there when an older one needs it.
fn newest_first<'a>(folder: &TypeFolder<'a>) -> Result<Vec<(i32, &'a str)>, CatalogueError> {
    let mut versions = folder.versions.to_vec();
    versions.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    let event = || folder.name.to_owned();
    for pair in versions.windows(2) {
        if let [(one, _), (other, _)] = pair
            && one == other
        {
            let version = *one;
            return Err(CatalogueError::Twice {
                event: event(),
                version,
            });
        }
    }
    for (version, _) in folder.older_templates {
        if !versions.iter().any(|(known, _)| known == version) {
            let version = *version;
            return Err(CatalogueError::StrayTemplate {
                event: event(),
                version,
            });
        }
    }
    Ok(versions)
}
