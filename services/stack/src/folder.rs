//! The folder of a stack: data, logs and settings of its servers.

use std::env;
use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::StackError;
use crate::part::Part;
use crate::process::{forget_folder, remember_folder};

/// Held locked while the stack lives. The kernel lets go of the lock when the process dies, however it dies.
const LOCK: &str = "lock";
const TEMPORARY: &str = "tidings-stack-";
/// Other users may pass through to their own folder, as PostgreSQL's user does, and see nothing.
const MODE: u32 = 0o711;
const ATTEMPTS: u32 = 16;

/// A folder that belongs to one running stack. Dropped, it is removed unless it is to be kept.
pub(crate) struct StackFolder {
    path: PathBuf,
    temporary: bool,
    keep: bool,
    _lock: File,
}

impl StackFolder {
    /// Takes the named folder, or a new temporary one. Removes what killed stacks have left in temporary ones.
    pub(crate) fn open(named: Option<PathBuf>, keep: bool) -> Result<Self, StackError> {
        sweep(&env::temp_dir());
        match named {
            Some(path) => Self::open_named(path, keep),
            None => Self::open_temporary(keep),
        }
    }

    /// Absolute, since servers are started with other working folders.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn open_named(path: PathBuf, keep: bool) -> Result<Self, StackError> {
        if !path.exists() {
            fs::create_dir_all(&path).map_err(StackError::file("create", &path))?;
            fs::set_permissions(&path, Permissions::from_mode(MODE))
                .map_err(StackError::file("open up", &path))?;
        }
        let path = path
            .canonicalize()
            .map_err(StackError::file("find", &path))?;
        let lock = try_lock(&path)?.ok_or_else(|| StackError::FolderInUse {
            folder: path.clone(),
        })?;
        Ok(Self {
            path,
            temporary: false,
            keep,
            _lock: lock,
        })
    }

    fn open_temporary(keep: bool) -> Result<Self, StackError> {
        for _ in 0..ATTEMPTS {
            let name = format!(
                "{TEMPORARY}{}-{:08x}",
                std::process::id(),
                rand::random::<u32>()
            );
            let path = env::temp_dir().join(name);
            fs::create_dir(&path).map_err(StackError::file("create", &path))?;
            fs::set_permissions(&path, Permissions::from_mode(MODE))
                .map_err(StackError::file("open up", &path))?;
            // A sweep of another process may come between the two steps, and takes the folder for a stale one.
            if let Ok(Some(lock)) = try_lock(&path) {
                if !keep {
                    remember_folder(&path).map_err(StackError::file("watch", &path))?;
                }
                return Ok(Self {
                    path,
                    temporary: true,
                    keep,
                    _lock: lock,
                });
            }
        }
        Err(StackError::FolderInUse {
            folder: env::temp_dir(),
        })
    }

    /// Of a folder that a person has named only what the stack made is removed.
    fn remove(&self) -> io::Result<()> {
        if self.temporary {
            return fs::remove_dir_all(&self.path);
        }
        for part in Part::ALL {
            remove_if_there(fs::remove_dir_all(self.path.join(part.name())))?;
        }
        remove_if_there(fs::remove_file(self.path.join(LOCK)))?;
        match fs::remove_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            other => other,
        }
    }
}

impl Drop for StackFolder {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        if let Err(error) = self.remove() {
            tracing::warn!(folder = %self.path.display(), %error, "the local stack's folder could not be removed");
        }
        forget_folder(&self.path);
    }
}

/// `None` if another process holds the lock.
fn try_lock(folder: &Path) -> Result<Option<File>, StackError> {
    let path = folder.join(LOCK);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    let file = file.map_err(StackError::file("create", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(StackError::file("lock", &path)(error)),
    }
}

/// Removes temporary folders whose stack was killed together with its process. What cannot be removed stays: it is no
/// reason not to start.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        if is_temporary_of_ours(&path) && is_stale(&path) {
            tracing::debug!(folder = %path.display(), "removing what a killed stack left");
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn is_temporary_of_ours(path: &Path) -> bool {
    let named = path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with(TEMPORARY));
    let of_ours = |metadata: fs::Metadata| {
        metadata.is_dir() && fs::metadata("/proc/self").is_ok_and(|me| me.uid() == metadata.uid())
    };
    named && fs::symlink_metadata(path).is_ok_and(of_ours)
}

/// A folder whose lock is free, or which has none and whose process (in its name) has gone.
fn is_stale(path: &Path) -> bool {
    match File::options().write(true).open(path.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(_) => !creator_runs(path).unwrap_or(true),
    }
}

fn creator_runs(path: &Path) -> Option<bool> {
    let pid = path
        .file_name()?
        .to_str()?
        .strip_prefix(TEMPORARY)?
        .split('-')
        .next()?
        .parse::<u32>()
        .ok()?;
    Some(Path::new("/proc").join(pid.to_string()).exists())
}

fn remove_if_there(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_folder_goes_with_its_owner_unless_kept() {
        let thrown_away = StackFolder::open(None, false).unwrap();
        let kept = StackFolder::open(None, true).unwrap();
        let (first, second) = (thrown_away.path().to_owned(), kept.path().to_owned());
        drop((thrown_away, kept));
        assert!(!first.exists());
        assert!(second.exists());
        fs::remove_dir_all(second).unwrap();
    }

    #[test]
    fn a_named_folder_is_for_one_stack_and_keeps_what_others_put_there() {
        let parent = StackFolder::open(None, false).unwrap();
        let path = parent.path().join("mine");
        let folder = StackFolder::open(Some(path.clone()), false).unwrap();
        assert!(matches!(
            StackFolder::open(Some(path.clone()), false),
            Err(StackError::FolderInUse { .. })
        ));
        fs::create_dir(path.join("kafka")).unwrap();
        fs::write(path.join("notes"), "mine").unwrap();
        drop(folder);
        let left: Vec<_> = fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["notes"]);
    }

    #[test]
    fn the_sweep_takes_stale_folders_only() {
        let parent = StackFolder::open(None, false).unwrap();
        let folder = |name: &str| {
            let path = parent.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let stale = folder("tidings-stack-1-a");
        fs::write(stale.join(LOCK), "").unwrap();
        // No process has number 0.
        let gone = folder("tidings-stack-0-b");
        let being_made = folder(&format!("tidings-stack-{}-c", std::process::id()));
        let live = folder("tidings-stack-1-d");
        let _lock = try_lock(&live).unwrap().unwrap();
        let foreign = folder("other");
        sweep(parent.path());
        assert_eq!(
            [stale, gone, being_made, live, foreign].map(|path| path.exists()),
            [false, false, true, true, true]
        );
    }
}
