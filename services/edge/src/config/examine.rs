//! Everything that is wrong with a configuration at once, and what can be used of it.

use std::path::{Path, PathBuf};

use figment::error::Kind;

use super::layers::{Layers, Origin, dotted, variable_name};
use super::load::{read_file, resolve_secrets, without_values};
use super::print::{named_variables, secret_files, setting_paths};
use super::suggest::closest;
use super::{Config, ConfigError, ConfigProblem, variables};

/// The most keys that are set aside, one after the other: each is found by trying the rest again.
const MOST_PROBLEMS: usize = 100;

/// What a look at a configuration found.
#[derive(Debug)]
pub struct Examined {
    /// What can be used of it: a key that does not fit has its default here, a secret that is not to be had is absent.
    /// `None` if nothing can be used.
    pub config: Option<Config>,
    /// Everything that does not fit, in the order it was found.
    pub problems: Vec<ConfigProblem>,
    /// The files that hold secrets, by the keys that point at them.
    pub secret_files: Vec<(String, PathBuf)>,
}

impl Config {
    /// Reads what [`Config::load`] reads, and goes on after a problem: for `tidings config check` and `tidings doctor`.
    /// A file that cannot be read or is no TOML is a problem too.
    #[must_use]
    pub fn examine(path: Option<&Path>) -> Examined {
        let (layers, mut problems) = gather(path);
        let (config, layers) = fit(layers, &mut problems);
        let paths = setting_paths(&layers);
        let settings: Vec<String> = paths.iter().map(|path| variable_name(path)).collect();
        let named = named_variables(&layers);
        let present = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let present: Vec<String> = present.collect();
        problems.extend(variables::unknown(&present, &settings, &named));
        if let Some(config) = &config {
            add_rules(config, &mut problems);
        }
        Examined {
            config,
            problems,
            secret_files: secret_files(&layers),
        }
    }
}

/// The layers that can be read.
pub(super) fn gather(path: Option<&Path>) -> (Layers, Vec<ConfigProblem>) {
    let mut problems = Vec::new();
    let mut layers = Layers::defaults().unwrap_or_default();
    if let Some(path) = path {
        match read_file(path) {
            Ok(text) => match layers.clone().with_file(path, &text) {
                Ok(with_file) => layers = with_file,
                Err(error) => problems.push(no_toml(path, *error)),
            },
            Err(error) => problems.push(of_error(&error)),
        }
    }
    match layers.clone().with_variables() {
        Ok(with_variables) => layers = with_variables,
        Err(error) => problems.push(ConfigProblem {
            key: "TIDINGS_*".into(),
            value: "(not shown)".into(),
            remedy: without_values(*error).kind.to_string(),
        }),
    }
    (layers, problems)
}

fn no_toml(path: &Path, error: figment::Error) -> ConfigProblem {
    ConfigProblem {
        key: "--config".into(),
        value: path.display().to_string(),
        remedy: format!("correct the file: {}", without_values(error).kind),
    }
}

/// Sets aside what has no place or another type, until the rest fits; then reads the secrets.
fn fit(mut layers: Layers, problems: &mut Vec<ConfigProblem>) -> (Option<Config>, Layers) {
    for _ in 0..MOST_PROBLEMS {
        let figment = layers.merged();
        match figment.extract::<Config>() {
            Ok(mut config) => {
                let failed = resolve_secrets(&mut config, &figment);
                problems.extend(failed.iter().map(of_error));
                return (Some(config), layers);
            }
            Err(error) => {
                let path = error.path.clone();
                problems.push(misfit(&layers, without_values(error)));
                if !layers.remove(&path) {
                    return (None, layers);
                }
            }
        }
    }
    (None, layers)
}

/// The problem of a key that has no place or another type.
fn misfit(layers: &Layers, error: figment::Error) -> ConfigProblem {
    let path = error.path.clone();
    let origin = layers.origin(&path);
    let key = match &origin {
        Origin::Variable(name) => name.clone(),
        Origin::Default | Origin::File(_) => dotted(&path),
    };
    let (value, remedy) = if let Kind::UnknownField(name, known) = &error.kind {
        let remedy = unknown_remedy(name, known, &path, &origin);
        ("(unknown key)", remedy)
    } else {
        let remedy = format!("{}; it is set by {origin}", error.kind);
        ("(not shown)", remedy)
    };
    ConfigProblem {
        key,
        value: value.into(),
        remedy,
    }
}

fn unknown_remedy(name: &str, known: &[&str], path: &[String], origin: &Origin) -> String {
    match closest(name, known.iter().copied()) {
        Some(key) => {
            let mut meant = path.to_vec();
            meant.pop();
            meant.push(key.to_owned());
            match origin {
                Origin::Variable(_) => format!("did you mean {}?", variable_name(&meant)),
                Origin::Default | Origin::File(_) => {
                    format!("did you mean {}? ({origin})", dotted(&meant))
                }
            }
        }
        None => format!("there is no such key here; use one of {}", known.join(", ")),
    }
}

/// An error of loading, as a problem of the key it names.
pub(super) fn of_error(error: &ConfigError) -> ConfigProblem {
    let (key, value, remedy) = match error {
        ConfigError::Unreadable { path, source } => (
            "--config".to_owned(),
            path.display().to_string(),
            format!("cannot be read ({source}); check the path and its permissions"),
        ),
        ConfigError::LiteralSecret { key, remedy } => (
            key.clone(),
            "(a secret in the open, not shown)".to_owned(),
            (*remedy).to_owned(),
        ),
        ConfigError::Secret { key, source } => (
            key.clone(),
            "(not to be had)".to_owned(),
            format!(
                "{}; put the secret there, for this user to read",
                chain(source)
            ),
        ),
        ConfigError::Shape(error) => (
            "--config".to_owned(),
            "(not shown)".to_owned(),
            error.kind.to_string(),
        ),
        ConfigError::Invalid(_) => ("--config".to_owned(), String::new(), error.to_string()),
    };
    ConfigProblem { key, value, remedy }
}

/// The rules between settings. What they say of a secret that is known not to be there is left out.
fn add_rules(config: &Config, problems: &mut Vec<ConfigProblem>) {
    let table = |key: &str| key.rsplit_once('.').map(|(table, _)| table.to_owned());
    let failed: Vec<Option<String>> = problems.iter().map(|problem| table(&problem.key)).collect();
    let found = config.validate().err().unwrap_or_default();
    problems.extend(
        found.into_iter().filter(|problem| {
            problem.value != "(not set)" || !failed.contains(&table(&problem.key))
        }),
    );
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |&cause| cause.source());
    let words: Vec<String> = causes.map(ToString::to_string).collect();
    words.join(": ")
}

#[cfg(test)]
mod tests;
