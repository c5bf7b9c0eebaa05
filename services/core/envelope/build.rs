//! Lists the event types under `schemas/`, so that adding a folder there is enough to add a type.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let schemas = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../../schemas");
    println!("cargo:rerun-if-changed={}", schemas.display());

    let mut list = format!(
        "pub(crate) const ENVELOPE: &str = {};\n\
         pub(crate) const FOLDERS: &[TypeFolder<'static>] = &[\n",
        include(&schemas.join("envelope.avsc"))
    );
    for folder in type_folders(&schemas)? {
        list.push_str(&folder_entry(&folder)?);
    }
    list.push_str("];\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("builtin.rs"), list)?;
    Ok(())
}

/// The folders that declare an event type, in the order of their names.
fn type_folders(schemas: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(schemas)? {
        let path = entry?.path();
        if path.join("type.toml").is_file() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}

fn folder_entry(folder: &Path) -> Result<String, Box<dyn Error>> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let name = folder
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or("a folder name is not UTF-8")?;
    let template = folder.join("template.txt");
    let template = if template.is_file() {
        format!("Some({})", include(&template))
    } else {
        "None".to_owned()
    };
    let older = versions(folder, "template.v", ".txt")?;

    let mut entry = String::new();
    writeln!(entry, "TypeFolder {{ name: {name:?}, template: {template},")?;
    writeln!(
        entry,
        "  declaration: {},",
        include(&folder.join("type.toml"))
    )?;
    writeln!(entry, "  older_templates: &[{}],", numbered(&older))?;
    let versions = versions(folder, "v", ".avsc")?;
    writeln!(entry, "  versions: &[{}] }},", numbered(&versions))?;
    Ok(entry)
}

/// The pairs of number and embedded file.
fn numbered(files: &BTreeMap<i32, PathBuf>) -> String {
    let pairs = files
        .iter()
        .map(|(number, path)| format!("({number}, {}),", include(path)));
    pairs.collect()
}

/// The files of a folder that are named by a number between two texts, by that number.
fn versions(
    folder: &Path,
    before: &str,
    after: &str,
) -> Result<BTreeMap<i32, PathBuf>, Box<dyn Error>> {
    let mut versions = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if let Some(number) = name
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
        {
            versions.insert(number.parse()?, path);
        }
    }
    Ok(versions)
}

/// The expression that embeds a file; cargo then also rebuilds when the file changes.
fn include(path: &Path) -> String {
    println!("cargo:rerun-if-changed={}", path.display());
    format!("include_str!({:?})", path.display().to_string())
}
