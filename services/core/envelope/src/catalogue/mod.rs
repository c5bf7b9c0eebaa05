//! The event types that this build knows, from the folders under `schemas/`.

mod compose;
mod declaration;
mod error;
mod event_type;

pub use declaration::{Declaration, OnDead, OnStale, Policy, RetryProfile, TextSource};
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

/// The texts of one folder under `schemas/`.
#[derive(Debug, Clone, Copy)]
pub struct TypeFolder<'a> {
    /// The folder's name, which is the event type's.
    pub name: &'a str,
    /// `type.toml`.
    pub declaration: &'a str,
    /// `template.txt`, unless the text comes ready.
    pub template: Option<&'a str>,
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
        for (version, data) in folder.versions {
            let event = EventType::build(builtin::ENVELOPE, folder, *version, data)?;
            let versions = self.types.entry(folder.name.to_owned()).or_default();
            if versions.insert(*version, Arc::new(event)).is_some() {
                return Err(CatalogueError::Twice {
                    event: folder.name.to_owned(),
                    version: *version,
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
