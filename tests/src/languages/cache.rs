//! `~/.cache/tidings/examples/<language>-<hash>`: installed by whoever comes first, used by all.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::{InstallError, Toolchain};

/// Written last: a folder without it is what an interrupted installation left.
const COMPLETE: &str = "complete";

/// The folder that `install` has filled, for this toolchain and these files: now, or once before. Other processes wait
/// meanwhile. Folders of older files stay until someone removes them.
pub(super) fn installed(
    toolchain: &Toolchain,
    files: &[&Path],
    install: impl FnOnce(&Path) -> Result<(), InstallError>,
) -> Result<PathBuf, InstallError> {
    let name = format!("{}-{}", toolchain.language, hash(toolchain, files)?);
    let parent = cache_folder()?;
    fs::create_dir_all(&parent).map_err(InstallError::file("make", &parent))?;
    let folder = parent.join(&name);
    let _lock = lock(&parent.join(format!("{name}.lock")))?;
    if folder.join(COMPLETE).exists() {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(InstallError::file("remove", &folder))?;
    }
    fs::create_dir(&folder).map_err(InstallError::file("make", &folder))?;
    install(&folder)?;
    let complete = folder.join(COMPLETE);
    fs::write(&complete, "").map_err(InstallError::file("write", complete))?;
    Ok(folder)
}

/// The beginning of a hash of everything that the installed folder depends on.
fn hash(toolchain: &Toolchain, files: &[&Path]) -> Result<String, InstallError> {
    let mut hasher = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(bytes.len().to_be_bytes());
        hasher.update(bytes);
    };
    add(toolchain.version.as_bytes());
    for path in files {
        add(&fs::read(path).map_err(InstallError::file("read", *path))?);
    }
    let digest = hasher.finalize();
    Ok(digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// Beside the programs that deploy/setup.sh keeps.
fn cache_folder() -> Result<PathBuf, InstallError> {
    let set = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    let cache = cache.ok_or(InstallError::NoCacheFolder)?;
    Ok(cache.join("tidings").join("examples"))
}

/// Held until it is dropped, or its process ends. Whoever holds it is bounded by [`super::PATIENCE`] a command.
fn lock(path: &Path) -> Result<File, InstallError> {
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path);
    let file = file.map_err(InstallError::file("create", path))?;
    file.lock().map_err(InstallError::file("lock", path))?;
    Ok(file)
}
