//! The three layers of a configuration: embedded defaults ← optional file ← variables.

use std::fmt;
use std::path::{Path, PathBuf};

use figment::providers::{Env, Format, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Error, Figment, Metadata, Profile, Provider};

use super::DEFAULT_TOML;

/// Where a setting's value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The embedded `default.toml`.
    Default,
    /// The configuration file.
    File(PathBuf),
    /// An environment variable, by its name.
    Variable(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File(path) => write!(formatter, "file {}", path.display()),
            Self::Variable(name) => write!(formatter, "variable {name}"),
        }
    }
}

/// The layers, each a tree of tables.
#[derive(Debug, Clone, Default)]
pub(super) struct Layers {
    defaults: Dict,
    file: Option<(PathBuf, Dict)>,
    variables: Dict,
}

impl Layers {
    /// The defaults alone.
    pub(super) fn defaults() -> Result<Self, Box<Error>> {
        Ok(Self {
            defaults: tree(&Toml::string(DEFAULT_TOML))?,
            ..Self::default()
        })
    }

    /// The same under a file's text.
    pub(super) fn with_file(mut self, path: &Path, text: &str) -> Result<Self, Box<Error>> {
        self.file = Some((path.to_owned(), tree(&Toml::string(text))?));
        Ok(self)
    }

    /// The same under the process' variables `TIDINGS_<SECTION>__<KEY>`. Only names with a section are settings:
    /// `TIDINGS_TOKEN`, say, may be what a `token_env` names.
    pub(super) fn with_variables(mut self) -> Result<Self, Box<Error>> {
        let variables = Env::prefixed("TIDINGS_")
            .filter(|name| name.as_str().contains("__"))
            .split("__");
        self.variables = tree(&variables)?;
        Ok(self)
    }

    /// All of them, the later over the earlier.
    pub(super) fn merged(&self) -> Figment {
        let mut figment = Figment::from(Layer("defaults", &self.defaults));
        if let Some((_, file)) = &self.file {
            figment = figment.merge(Layer("file", file));
        }
        figment.merge(Layer("environment", &self.variables))
    }

    /// Where the value at a path comes from; for a table, where its last part was added.
    pub(super) fn origin(&self, path: &[String]) -> Origin {
        if has(&self.variables, path) {
            return Origin::Variable(variable_name(path));
        }
        match &self.file {
            Some((file, tree)) if has(tree, path) => Origin::File(file.clone()),
            Some(_) | None => Origin::Default,
        }
    }

    /// Takes the value at a path out of the uppermost layer above the defaults that has it; tells whether one had.
    pub(super) fn remove(&mut self, path: &[String]) -> bool {
        remove(&mut self.variables, path)
            || self
                .file
                .as_mut()
                .is_some_and(|(_, tree)| remove(tree, path))
    }
}

/// The variable that sets the value at a path.
pub(super) fn variable_name(path: &[String]) -> String {
    format!("TIDINGS_{}", path.join("__").to_ascii_uppercase())
}

/// A path as operators write it: parts with other characters than TOML's bare ones are quoted.
pub(super) fn dotted(path: &[String]) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let parts = path.iter().map(|part| match part.chars().all(bare) {
        true => part.clone(),
        false => format!("{part:?}"),
    });
    parts.collect::<Vec<_>>().join(".")
}

/// A layer as figment takes it; the name tells the variables from the rest.
struct Layer<'a>(&'static str, &'a Dict);

impl Provider for Layer<'_> {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.0)
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        Ok(Map::from([(Profile::Default, self.1.clone())]))
    }
}

fn tree(provider: &impl Provider) -> Result<Dict, Box<Error>> {
    let mut profiles = provider.data().map_err(Box::new)?;
    Ok(profiles.remove(&Profile::Default).unwrap_or_default())
}

fn has(tree: &Dict, path: &[String]) -> bool {
    match path {
        [] => true,
        [first, rest @ ..] => match (tree.get(first), rest) {
            (Some(Value::Dict(_, below)), _) => has(below, rest),
            // What lies below is a part of this value, an element of a list, say.
            (Some(_), _) => true,
            (None, _) => false,
        },
    }
}

fn remove(tree: &mut Dict, path: &[String]) -> bool {
    let [first, rest @ ..] = path else {
        return false;
    };
    match (tree.get_mut(first), rest) {
        (Some(Value::Dict(_, below)), [_, ..]) => remove(below, rest),
        (Some(_), _) => tree.remove(first).is_some(),
        (None, _) => false,
    }
}
