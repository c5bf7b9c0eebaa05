//! Workers whose wall clocks are wrong. Monotonic ones stay right, as on a machine whose clock is wrong.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

/// Where Debian's package `faketime` puts its library.
const FAKETIME: [&str; 2] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
];

/// What libfaketime lacks.
const WAITS: &str = include_str!("waits_of_c11.c");

/// The libraries that shift a process' clock.
pub(super) struct ShiftedClocks {
    libraries: OsString,
}

impl ShiftedClocks {
    /// Finds one and compiles the other in `folder`.
    pub(super) fn prepare(folder: &Path) -> anyhow::Result<Self> {
        let faketime = FAKETIME.iter().find(|library| Path::new(library).exists());
        let faketime = faketime.context(
            "wrong clocks need libfaketime: run `deploy/setup.sh limit-drill`, or install the package faketime",
        )?;
        let mut libraries = compiled(folder)?.into_os_string();
        libraries.push(":");
        libraries.push(faketime);
        Ok(Self { libraries })
    }

    /// The environment of a process whose clock is off by `offset`, such as `+1h`.
    pub(super) fn off_by(&self, offset: &str) -> Vec<(&'static str, OsString)> {
        vec![
            ("LD_PRELOAD", self.libraries.clone()),
            ("FAKETIME", offset.into()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
            ("DONT_FAKE_MONOTONIC", "1".into()),
        ]
    }
}

fn compiled(folder: &Path) -> anyhow::Result<PathBuf> {
    let (source, library) = (
        folder.join("waits_of_c11.c"),
        folder.join("waits_of_c11.so"),
    );
    fs::write(&source, WAITS)?;
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-o"])
        .args([&library, &source])
        .output()
        .context("wrong clocks need a C compiler, as `cc`")?;
    if !compiled.status.success() {
        let said = String::from_utf8_lossy(&compiled.stderr);
        bail!("{} can not be compiled: {said}", source.display());
    }
    Ok(library)
}
