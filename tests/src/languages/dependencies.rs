//! What programs depend on, by the package manager of their language. Go has a cache of its own, and psql needs nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cache::installed;
use super::{InstallError, Toolchain, bounded};

/// How much of a package manager's last words an error repeats, in bytes.
const WORDS: usize = 8_000;

/// The interpreter of a virtual environment with a `requirements.txt` installed.
///
/// # Errors
/// See [`InstallError`].
pub fn python(toolchain: &Toolchain, requirements: &Path) -> Result<PathBuf, InstallError> {
    let folder = installed(toolchain, &[requirements], |folder| {
        run(
            "venv",
            bounded("python3")
                .args(["-m", "venv"])
                .arg(folder.join("venv")),
        )?;
        let mut pip = bounded(interpreter(folder));
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-input",
            "--disable-pip-version-check",
        ]);
        run("pip", pip.arg("--requirement").arg(requirements))
    })?;
    Ok(interpreter(&folder))
}

fn interpreter(folder: &Path) -> PathBuf {
    folder.join("venv").join("bin").join("python")
}

/// The folder `node_modules` with what a `package-lock.json` names; `project` holds it and its `package.json`.
///
/// # Errors
/// See [`InstallError`].
pub fn node_modules(toolchain: &Toolchain, project: &Path) -> Result<PathBuf, InstallError> {
    let names = ["package.json", "package-lock.json"];
    let [package, lock] = names.map(|name| project.join(name));
    let folder = installed(toolchain, &[&package, &lock], |folder| {
        for (file, name) in [(&package, names[0]), (&lock, names[1])] {
            fs::copy(file, folder.join(name)).map_err(InstallError::file("copy", file))?;
        }
        let mut npm = bounded("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        run("npm", npm.current_dir(folder))
    })?;
    Ok(folder.join("node_modules"))
}

/// The folder with the jars that a `pom.xml` names for running.
///
/// # Errors
/// See [`InstallError`].
pub fn jars(toolchain: &Toolchain, pom: &Path) -> Result<PathBuf, InstallError> {
    let folder = installed(toolchain, &[pom], |folder| {
        let mut maven = bounded("mvn");
        maven.args([
            "--batch-mode",
            "--no-transfer-progress",
            "--strict-checksums",
            "-Dstyle.color=never",
        ]);
        maven
            .args([
                "dependency:copy-dependencies",
                "-DincludeScope=runtime",
                "-f",
            ])
            .arg(pom);
        run(
            "Maven",
            maven.arg(format!(
                "-DoutputDirectory={}",
                folder.join("lib").display()
            )),
        )
    })?;
    Ok(folder.join("lib"))
}

fn run(program: &'static str, command: &mut Command) -> Result<(), InstallError> {
    let output = command.output();
    let output = output.map_err(|source| InstallError::Start { program, source })?;
    if output.status.success() {
        return Ok(());
    }
    let mut said = output.stdout;
    said.extend(output.stderr);
    let end = said
        .get(said.len().saturating_sub(WORDS)..)
        .unwrap_or_default();
    Err(InstallError::Failed {
        program,
        status: output.status,
        output: String::from_utf8_lossy(end).into_owned(),
    })
}
