//! What is still there when the process exits: a stack in a `static` is never dropped, so its children and its
//! temporary folder are removed by a function that the C library calls at exit.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::system::{self, Signal};

/// PostgreSQL's immediate shutdown ends stubborn children after 5 s.
const PATIENCE: Duration = Duration::from_secs(6);

#[derive(Default)]
struct Remains {
    hooked: bool,
    /// Children that have not been reaped, so that their numbers are still theirs.
    processes: BTreeMap<u32, Signal>,
    folders: BTreeSet<PathBuf>,
}

static REMAINS: Mutex<Option<Remains>> = Mutex::new(None);

fn remains() -> MutexGuard<'static, Option<Remains>> {
    REMAINS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn remember(add: impl FnOnce(&mut Remains)) -> io::Result<()> {
    let mut guard = remains();
    let remains = guard.get_or_insert_default();
    if !remains.hooked {
        system::on_exit(clean_up)?;
        remains.hooked = true;
    }
    add(remains);
    Ok(())
}

/// At exit, sends `signal` to this child of ours.
pub(super) fn remember_process(pid: u32, signal: Signal) -> io::Result<()> {
    remember(|remains| {
        remains.processes.insert(pid, signal);
    })
}

/// To be called just before the child is reaped.
pub(super) fn forget_process(pid: u32) {
    if let Some(remains) = &mut *remains() {
        remains.processes.remove(&pid);
    }
}

/// At exit, removes this folder, after the processes have ended.
pub(crate) fn remember_folder(folder: &Path) -> io::Result<()> {
    remember(|remains| {
        remains.folders.insert(folder.to_owned());
    })
}

/// The folder is removed already, or is to be kept.
pub(crate) fn forget_folder(folder: &Path) {
    if let Some(remains) = &mut *remains() {
        remains.folders.remove(folder);
    }
}

/// Does what it can: nobody is left to hear of an error.
extern "C" fn clean_up() {
    let Some(remains) = remains().take() else {
        return;
    };
    for (pid, signal) in &remains.processes {
        let _ = system::signal(*pid, *signal);
        let _ = system::signal(*pid, libc::SIGCONT);
    }
    let started = Instant::now();
    for pid in remains.processes.keys() {
        while !system::has_ended(*pid) {
            if started.elapsed() > PATIENCE {
                let _ = system::signal(*pid, libc::SIGKILL);
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
    for folder in &remains.folders {
        let _ = fs::remove_dir_all(folder);
    }
}
