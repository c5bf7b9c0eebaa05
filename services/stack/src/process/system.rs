//! The system calls that the standard library does not have. All unsafe code of the crate is here.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A number of a signal, as `libc` names it.
pub(crate) type Signal = libc::c_int;

/// A user that a server runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// Sends a signal to one process.
pub(super) fn signal(pid: u32, signal: Signal) -> io::Result<()> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    // SAFETY: kill takes no pointers. The callers pass pids of children that they have not reaped, or of those's children.
    check(unsafe { libc::kill(pid, signal) })
}

/// Reaps a child of ours without waiting; true if it has ended, or is no child of ours.
pub(super) fn has_ended(pid: u32) -> bool {
    let Ok(pid) = libc::pid_t::try_from(pid) else {
        return true;
    };
    // SAFETY: a null status pointer is allowed.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) != 0 }
}

/// Makes the kernel send `signal` to the child when the thread that starts it ends, which `spawner` keeps from
/// happening before the whole process ends.
pub(super) fn tie_to_this_process(command: &mut Command, signal: Signal) {
    let parent = std::process::id();
    let tie = move || {
        // SAFETY: prctl and getppid are async-signal-safe, and PR_SET_PDEATHSIG takes a number.
        let (tied, parent_now) =
            unsafe { (libc::prctl(libc::PR_SET_PDEATHSIG, signal), libc::getppid()) };
        check(tied)?;
        // The parent may have died before prctl; then no signal would ever come.
        if u32::try_from(parent_now) == Ok(parent) {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(libc::ESRCH))
        }
    };
    // SAFETY: the closure makes only async-signal-safe calls and allocates nothing. The standard library runs it after
    // the change of user, which would clear the setting.
    unsafe {
        command.pre_exec(tie);
    }
}

/// Runs `hook` when the process exits in order: by return from main or by `std::process::exit`.
pub(super) fn on_exit(hook: extern "C" fn()) -> io::Result<()> {
    // SAFETY: the hook is a plain function that lives as long as the program and does not unwind.
    match unsafe { libc::atexit(hook) } {
        0 => Ok(()),
        _ => Err(io::Error::other("atexit has no room for another function")),
    }
}

/// The user `postgres` if we are root, since PostgreSQL refuses to run as root; `None` otherwise.
pub(crate) fn postgres_user() -> io::Result<Option<User>> {
    // SAFETY: geteuid takes nothing and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        user_by_name(c"postgres").map(Some)
    } else {
        Ok(None)
    }
}

fn user_by_name(name: &CStr) -> io::Result<User> {
    let mut entry = MaybeUninit::<libc::passwd>::uninit();
    let mut texts = vec![0; 16 * 1024];
    let mut found = std::ptr::null_mut();
    // SAFETY: all pointers are to live memory of the sizes given.
    let code = unsafe {
        libc::getpwnam_r(
            name.as_ptr(),
            entry.as_mut_ptr(),
            texts.as_mut_ptr(),
            texts.len(),
            &raw mut found,
        )
    };
    if code != 0 {
        return Err(io::Error::from_raw_os_error(code));
    }
    if found.is_null() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "there is no user postgres",
        ));
    }
    // SAFETY: getpwnam_r has filled the entry, as `found` says.
    let entry = unsafe { entry.assume_init() };
    Ok(User {
        uid: entry.pw_uid,
        gid: entry.pw_gid,
    })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
