//! Where the servers' programs are on this machine: PostgreSQL and Java from the system, jars and Jaeger from the cache
//! that `make setup` fills (deploy/setup.sh).

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::StackError;

const VERSIONS: &str = include_str!("../../../deploy/stack/versions.env");
/// Kafka 4 brokers and Apicurio Registry 2.6 run on Java 17 and newer (reference/libraries.md).
const JAVA_AT_LEAST: u32 = 17;

/// The folder with PostgreSQL's programs: the newest under `/usr/lib/postgresql`, else the one on `PATH`.
pub(crate) fn postgres_folder() -> Result<PathBuf, StackError> {
    let packaged = numbered_folders(Path::new("/usr/lib/postgresql"))
        .into_iter()
        .map(|folder| folder.join("bin"));
    let complete =
        |folder: &PathBuf| folder.join("postgres").is_file() && folder.join("initdb").is_file();
    packaged
        .chain(path_folders())
        .find(complete)
        .ok_or_else(|| StackError::Missing {
            what: "PostgreSQL's server",
            searched: "/usr/lib/postgresql and PATH".to_owned(),
        })
}

/// The first Java that is new enough, of `JAVA_HOME`, `PATH` and `/usr/lib/jvm`.
pub(crate) fn java() -> Result<PathBuf, StackError> {
    let home = env::var_os("JAVA_HOME").map(|home| PathBuf::from(home).join("bin"));
    let packaged = folders_in(Path::new("/usr/lib/jvm"))
        .into_iter()
        .map(|folder| folder.join("bin"));
    let mut candidates = home
        .into_iter()
        .chain(path_folders())
        .chain(packaged)
        .map(|folder| folder.join("java"));
    candidates
        .find(|java| java_major(java).is_some_and(|major| major >= JAVA_AT_LEAST))
        .ok_or_else(|| StackError::Missing {
            what: "Java 17 or newer",
            searched: "JAVA_HOME, PATH and /usr/lib/jvm".to_owned(),
        })
}

/// The folder with Kafka's jars.
pub(crate) fn kafka_folder(cache: Option<&Path>) -> Result<PathBuf, StackError> {
    let version = version_of("KAFKA_VERSION");
    cached(
        cache,
        "Apache Kafka",
        &format!("kafka-{version}"),
        &format!("kafka_2.13-{version}.jar"),
    )
    .map(|(folder, _)| folder)
}

/// The registry's jar, which names the others beside it.
pub(crate) fn registry_jar(cache: Option<&Path>) -> Result<PathBuf, StackError> {
    let version = version_of("REGISTRY_VERSION");
    let jar = format!("apicurio-registry-app-{version}-runner.jar");
    cached(
        cache,
        "Apicurio Registry",
        &format!("apicurio-registry-{version}"),
        &jar,
    )
    .map(|(_, jar)| jar)
}

/// Jaeger's program.
pub(crate) fn jaeger(cache: Option<&Path>) -> Result<PathBuf, StackError> {
    let version = version_of("JAEGER_VERSION");
    cached(cache, "Jaeger", &format!("jaeger-{version}"), "jaeger").map(|(_, program)| program)
}

fn cached(
    cache: Option<&Path>,
    what: &'static str,
    folder: &str,
    file: &str,
) -> Result<(PathBuf, PathBuf), StackError> {
    let cache = cache
        .map(Path::to_owned)
        .or_else(default_cache)
        .unwrap_or_default();
    let folder = cache.join(folder);
    let file = folder.join(file);
    if file.is_file() {
        Ok((folder, file))
    } else {
        Err(StackError::Missing {
            what,
            searched: file.display().to_string(),
        })
    }
}

fn default_cache() -> Option<PathBuf> {
    let set = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    Some(
        set("XDG_CACHE_HOME")
            .or_else(|| Some(set("HOME")?.join(".cache")))?
            .join("tidings"),
    )
}

/// A value of deploy/stack/versions.env.
pub(crate) fn version_of(name: &str) -> &'static str {
    VERSIONS
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
        .unwrap_or("unknown")
}

fn java_major(java: &Path) -> Option<u32> {
    let output = Command::new(java).arg("-version").output().ok()?;
    parse_java_major(&String::from_utf8_lossy(&output.stderr))
}

/// From `openjdk version "17.0.15" 2025-04-15`. The old numbering (`"1.8.0"`) reads as 1, which is too old as well.
fn parse_java_major(text: &str) -> Option<u32> {
    let version = text.split_once(" version \"")?.1;
    let digits = version
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(version.len());
    version[..digits].parse().ok()
}

fn path_folders() -> Vec<PathBuf> {
    env::var_os("PATH")
        .map(|path| env::split_paths(&path).collect())
        .unwrap_or_default()
}

fn folders_in(parent: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<_> = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    folders
}

/// Folders whose names are numbers, highest first.
fn numbered_folders(parent: &Path) -> Vec<PathBuf> {
    let number = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<u32>().ok();
    let mut folders: Vec<_> = folders_in(parent)
        .into_iter()
        .filter(|folder| number(folder).is_some())
        .collect();
    folders.sort_by_key(|folder| std::cmp::Reverse(number(folder)));
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_versions_are_read_in_every_form() {
        assert_eq!(
            parse_java_major("openjdk version \"17.0.15\" 2025-04-15\nOpenJDK …"),
            Some(17)
        );
        assert_eq!(
            parse_java_major("openjdk version \"21\" 2023-09-19"),
            Some(21)
        );
        assert_eq!(parse_java_major("java version \"1.8.0_402\""), Some(1));
        assert_eq!(parse_java_major("command not found"), None);
    }

    #[test]
    fn the_versions_are_those_that_setup_fetches() {
        assert!(version_of("KAFKA_VERSION").starts_with("4."));
        assert!(version_of("REGISTRY_VERSION").starts_with("2.6."));
        assert!(version_of("JAEGER_VERSION").starts_with("1."));
    }

    #[test]
    fn missing_jars_name_the_remedy() {
        let problem = kafka_folder(Some(Path::new("/nowhere")))
            .unwrap_err()
            .to_string();
        assert!(
            problem.contains("/nowhere/kafka-") && problem.contains("make setup"),
            "{problem}"
        );
    }
}
