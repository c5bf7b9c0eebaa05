//! The effective configuration, key by key, with where each value comes from. Never a secret's value.

use std::path::{Path, PathBuf};

use figment::value::{Dict, Value};
use figment::{Profile, Provider};
use tidings_platforms::redact::redact;

use super::examine::gather;
use super::layers::{Layers, Origin, dotted};
use super::{Config, ConfigProblem};

/// One key's effective value.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The key with its section, as TOML writes it: `accounts."telegram:main".base_url`.
    pub key: String,
    /// The value; of a secret, only the words "secret, set from …".
    pub value: serde_json::Value,
    /// The layer that the value is from.
    pub origin: Origin,
}

impl Config {
    /// Every key that is set, in the order of its name. Nothing is checked beyond that the file can be read.
    ///
    /// # Errors
    /// A layer cannot be read or is no TOML.
    pub fn settings(path: Option<&Path>) -> Result<Vec<Setting>, Vec<ConfigProblem>> {
        match gather(path) {
            (layers, problems) if problems.is_empty() => Ok(list(&layers)),
            (_, problems) => Err(problems),
        }
    }

    /// The same of the embedded defaults alone.
    #[must_use]
    pub fn default_settings() -> Vec<Setting> {
        list(&Layers::defaults().unwrap_or_default())
    }
}

/// The paths of all values that are set.
pub(super) fn setting_paths(layers: &Layers) -> Vec<Vec<String>> {
    let mut leaves = Vec::new();
    collect(&merged(layers), &mut Vec::new(), &mut leaves);
    leaves.into_iter().map(|(path, _)| path).collect()
}

/// The variables that keys such as `token_env` point at.
pub(super) fn named_variables(layers: &Layers) -> Vec<String> {
    let mut leaves = Vec::new();
    collect(&merged(layers), &mut Vec::new(), &mut leaves);
    let named = leaves.into_iter().filter_map(|(path, value)| {
        let points = path.last().is_some_and(|name| name.ends_with("_env"));
        points.then(|| value.into_string()).flatten()
    });
    named.collect()
}

/// The files that hold secrets, by the keys that point at them.
pub(super) fn secret_files(layers: &Layers) -> Vec<(String, PathBuf)> {
    let mut leaves = Vec::new();
    collect(&merged(layers), &mut Vec::new(), &mut leaves);
    let files = leaves.into_iter().filter_map(|(path, value)| {
        let secret = path.last()?.strip_suffix("_file")?;
        let holds_one = is_secret_name(secret) || ["database", "key"].contains(&secret);
        holds_one.then_some((dotted(&path), PathBuf::from(value.as_str()?)))
    });
    files.collect()
}

fn list(layers: &Layers) -> Vec<Setting> {
    let mut leaves = Vec::new();
    collect(&merged(layers), &mut Vec::new(), &mut leaves);
    let settings = leaves.into_iter().flat_map(|(path, value)| {
        let origin = layers.origin(&path);
        let pointed_at = pointed_at(&path, &value, &origin);
        let shown = Setting {
            key: dotted(&path),
            value: shown(&path, &value, &origin),
            origin,
        };
        std::iter::once(shown).chain(pointed_at)
    });
    settings.collect()
}

fn merged(layers: &Layers) -> Dict {
    let profiles = layers.merged().data().unwrap_or_default();
    let mut profiles = profiles;
    profiles.remove(&Profile::Default).unwrap_or_default()
}

fn collect(tree: &Dict, above: &mut Vec<String>, leaves: &mut Vec<(Vec<String>, Value)>) {
    for (name, value) in tree {
        above.push(name.clone());
        match value {
            Value::Dict(_, below) => collect(below, above, leaves),
            Value::String(..)
            | Value::Char(..)
            | Value::Bool(..)
            | Value::Num(..)
            | Value::Empty(..)
            | Value::Array(..) => leaves.push((above.clone(), value.clone())),
        }
        above.pop();
    }
}

fn shown(path: &[String], value: &Value, origin: &Origin) -> serde_json::Value {
    let name = path.last().map_or("", String::as_str);
    let text = value.as_str();
    let from_variable = matches!(origin, Origin::Variable(_));
    let hidden = is_secret_name(name)
        || (name == "database" && from_variable)
        || text.is_some_and(holds_user_info);
    if hidden {
        return format!("(secret, set from {origin})").into();
    }
    match text {
        Some(text) => redact(text).into(),
        None => serde_json::to_value(value).unwrap_or_default(),
    }
}

/// The secret itself, beside the key that says where it is.
fn pointed_at(path: &[String], value: &Value, origin: &Origin) -> Option<Setting> {
    let (name, table) = path.split_last()?;
    let (secret, what) = match (name.strip_suffix("_file"), name.strip_suffix("_env")) {
        (Some(secret), _) => (secret, "file"),
        (None, Some(secret)) => (secret, "variable"),
        (None, None) => return None,
    };
    if !is_secret_name(secret) && secret != "database" {
        return None;
    }
    let place = value.as_str().unwrap_or("(not a text)");
    let key: Vec<String> = table.iter().cloned().chain([secret.to_owned()]).collect();
    Some(Setting {
        key: dotted(&key),
        value: format!("(secret, set from {what} {place})").into(),
        origin: origin.clone(),
    })
}

fn is_secret_name(name: &str) -> bool {
    ["token", "password", "secret", "secret_key", "access_key"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Whether a text is a URL with a password, or a libpq string with one.
fn holds_user_info(text: &str) -> bool {
    let in_url = reqwest::Url::parse(text).is_ok_and(|url| url.password().is_some());
    in_url || text.contains("password=")
}

#[cfg(test)]
mod tests;
