//! The event types of a deployment: built in, or from a folder with the layout of `schemas/` (design §5).

mod folder;
mod history;
mod proof;

pub use folder::{MAX_FILE_BYTES, MAX_TYPES, MAX_VERSIONS, SchemasError};
pub use history::{Edition, editions};
pub use proof::{Incompatible, first_incompatible, incompatible};

use std::path::Path;

use tidings_envelope::Catalogue;

use crate::config::SchemasConfig;

/// The event types that the configuration names, checked.
///
/// # Errors
/// [`SchemasError`], naming folder, file, field and remedy.
pub fn catalogue(config: &SchemasConfig) -> Result<Catalogue, SchemasError> {
    catalogue_of(config.folder.as_deref())
}

/// The event types of a folder; without one those that are built in.
///
/// # Errors
/// As [`catalogue`].
pub fn catalogue_of(folder: Option<&Path>) -> Result<Catalogue, SchemasError> {
    match folder {
        Some(path) => folder::read(path),
        None => built_in(),
    }
}

fn built_in() -> Result<Catalogue, SchemasError> {
    let catalogue = Catalogue::builtin().map_err(SchemasError::BuiltIn)?;
    catalogue.check_names().map_err(SchemasError::BuiltIn)?;
    Ok(catalogue)
}
