//! Reading a folder of event types.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tidings_envelope::{Catalogue, CatalogueError, TypeFolder, fingerprint};

/// The most event types of a folder; a deployment has tens.
pub const MAX_TYPES: usize = 1_000;
/// The most versions of an event type.
pub const MAX_VERSIONS: usize = 100;
/// The longest file, in bytes; what readers take of a composed schema.
pub const MAX_FILE_BYTES: u64 = 64 * 1024;
/// The most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// Why there are no event types.
#[derive(Debug, thiserror::Error)]
pub enum SchemasError {
    /// The built-in ones contradict each other.
    #[error("the built-in event types are broken")]
    BuiltIn(#[source] CatalogueError),
    /// What is in the folder does not fit.
    #[error("schemas.folder = {}: an event type does not fit", folder.display())]
    Unfit {
        /// The folder.
        folder: PathBuf,
        /// Which, and what to do.
        source: CatalogueError,
    },
    /// A file or folder cannot be read.
    #[error("schemas.folder: {} cannot be read; it must be a folder of event types that this user may read", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something in the folder that cannot be what it should.
    #[error("schemas.folder: {}: {problem}", path.display())]
    Refused {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong and what to do.
        problem: String,
    },
}

/// One event type's files.
struct Files {
    name: String,
    declaration: String,
    template: Option<String>,
    older_templates: Vec<(i32, String)>,
    versions: Vec<(i32, String)>,
}

/// Reads and checks the event types of a folder.
pub(super) fn read(folder: &Path) -> Result<Catalogue, SchemasError> {
    check_envelope(folder)?;
    let mut types = Vec::new();
    for path in entries(folder)? {
        types.extend(type_files(&path)?);
        if types.len() > MAX_TYPES {
            return Err(refused(
                folder,
                format!("it has more than {MAX_TYPES} event types; divide it"),
            ));
        }
    }
    if types.is_empty() {
        let problem = "it has no event type: give it a folder such as order.confirmed with type.toml, v1.avsc and template.txt";
        return Err(refused(folder, problem));
    }
    let versions: Vec<Vec<(i32, &str)>> =
        types.iter().map(|files| texts(&files.versions)).collect();
    let older: Vec<Vec<(i32, &str)>> = types
        .iter()
        .map(|files| texts(&files.older_templates))
        .collect();
    let all = types.iter().zip(versions.iter().zip(&older));
    let folders: Vec<TypeFolder<'_>> = all
        .map(|(files, (versions, older))| TypeFolder {
            name: &files.name,
            declaration: &files.declaration,
            template: files.template.as_deref(),
            older_templates: older,
            versions,
        })
        .collect();
    let unfit = |source| SchemasError::Unfit {
        folder: folder.to_owned(),
        source,
    };
    let catalogue = Catalogue::from_folders(&folders).map_err(unfit)?;
    catalogue.check_names().map_err(unfit)?;
    Ok(catalogue)
}

/// The envelope is code as much as schema: a folder may hold a copy, and no other.
fn check_envelope(folder: &Path) -> Result<(), SchemasError> {
    let path = folder.join("envelope.avsc");
    let Some(text) = optional(&path)? else {
        return Ok(());
    };
    let ours = fingerprint(tidings_envelope::ENVELOPE_SCHEMA).ok();
    if fingerprint(&text).ok() == ours {
        return Ok(());
    }
    Err(refused(
        &path,
        "it differs from this version's envelope, which a folder cannot change; remove it",
    ))
}

/// `None` for what is no event type's folder: files, `outbox/`.
fn type_files(folder: &Path) -> Result<Option<Files>, SchemasError> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let mut versions = Vec::new();
    let mut older_templates = Vec::new();
    for path in entries(folder)? {
        let name = name_of(&path)?;
        if let Some(number) = numbered(&path, name, "template.v", ".txt")? {
            older_templates.push((number, text(&path)?));
        } else if let Some(number) = numbered(&path, name, "v", ".avsc")? {
            versions.push((number, text(&path)?));
        }
        if versions.len() > MAX_VERSIONS {
            return Err(refused(
                folder,
                format!(
                    "it has more than {MAX_VERSIONS} versions; remove those that no topic holds"
                ),
            ));
        }
    }
    let declaration = match optional(&folder.join("type.toml"))? {
        Some(declaration) => declaration,
        None if versions.is_empty() => return Ok(None),
        None => {
            return Err(refused(
                folder,
                "there is no type.toml; copy order.confirmed's, which explains every key",
            ));
        }
    };
    Ok(Some(Files {
        name: name_of(folder)?.to_owned(),
        declaration,
        template: optional(&folder.join("template.txt"))?,
        older_templates,
        versions,
    }))
}

/// The number in a name such as `v2.avsc`; `None` if the name is another.
fn numbered(
    path: &Path,
    name: &str,
    before: &str,
    after: &str,
) -> Result<Option<i32>, SchemasError> {
    let digits = name
        .strip_prefix(before)
        .and_then(|rest| rest.strip_suffix(after));
    let Some(digits) = digits else {
        return Ok(None);
    };
    let canonical = |number: &i32| *number > 0 && number.to_string() == digits;
    match digits.parse().ok().filter(canonical) {
        Some(number) => Ok(Some(number)),
        None => Err(refused(
            path,
            format!("its name has no version; name it {before}1{after}, {before}2{after} …"),
        )),
    }
}

/// The entries of a folder by name.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, SchemasError> {
    let unreadable = |source| SchemasError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        paths.push(entry.map_err(unreadable)?.path());
        if paths.len() > MAX_ENTRIES {
            return Err(refused(
                folder,
                format!("it has more than {MAX_ENTRIES} entries; is it the right folder?"),
            ));
        }
    }
    paths.sort();
    Ok(paths)
}

fn optional(path: &Path) -> Result<Option<String>, SchemasError> {
    match text(path) {
        Ok(text) => Ok(Some(text)),
        Err(SchemasError::Unreadable { source, .. })
            if source.kind() == io::ErrorKind::NotFound =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

pub(super) fn text(path: &Path) -> Result<String, SchemasError> {
    let unreadable = |source| SchemasError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_FILE_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(refused(
            path,
            format!("it is longer than {MAX_FILE_BYTES} bytes; shorten it"),
        ));
    }
    Ok(text)
}

pub(super) fn name_of(path: &Path) -> Result<&str, SchemasError> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.ok_or_else(|| refused(path, "its name is not UTF-8; rename it"))
}

fn texts(files: &[(i32, String)]) -> Vec<(i32, &str)> {
    files
        .iter()
        .map(|(number, text)| (*number, text.as_str()))
        .collect()
}

pub(super) fn refused(path: &Path, problem: impl Into<String>) -> SchemasError {
    SchemasError::Refused {
        path: path.to_owned(),
        problem: problem.into(),
    }
}

#[cfg(test)]
mod tests;
