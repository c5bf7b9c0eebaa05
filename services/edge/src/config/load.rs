//! Reading the configuration: embedded defaults ← optional file ← variables, then the secrets it points at.

use std::path::{Path, PathBuf};

use figment::Figment;

use super::layers::Layers;
use super::{
    AccountConfig, Config, ConfigProblem, DatabaseConfig, RegistryConfig, S3Config, Secret,
    SecretError, SecurityConfig, read_secret_file, read_secret_variable,
};

/// The documented default configuration, as it is embedded.
pub const DEFAULT_TOML: &str = include_str!("default.toml");

/// Why there is no configuration. Messages name the key, never a secret's value.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file named on the command line cannot be read.
    #[error("cannot read the configuration file {path}; check the path and its permissions")]
    Unreadable {
        /// The path as given.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A key is unknown or its value has the wrong type; the source names the key and where it was set.
    #[error(
        "the configuration does not fit; services/edge/src/config/default.toml documents every key"
    )]
    Shape(#[source] Box<figment::Error>),
    /// A secret stands in a file in the open.
    #[error("{key} holds a secret in the open; {remedy}")]
    LiteralSecret {
        /// The key.
        key: String,
        /// What to set instead.
        remedy: &'static str,
    },
    /// A secret that a key points at cannot be read.
    #[error("{key} points at a secret that cannot be read")]
    Secret {
        /// The key.
        key: String,
        /// Why.
        #[source]
        source: SecretError,
    },
    /// The values do not fit each other.
    #[error("the configuration has {} problem(s): {}", .0.len(), list(.0))]
    Invalid(Vec<ConfigProblem>),
}

impl Config {
    /// Reads the defaults, then the file if one is given, then the variables `TIDINGS_<SECTION>__<KEY>`;
    /// reads the secrets they point at; validates the whole.
    ///
    /// # Errors
    /// An unreadable file, an unknown key or a wrong type, a secret in the open or one that cannot be read,
    /// values that do not fit each other.
    pub fn load(path: Option<&Path>) -> Result<Self, ConfigError> {
        let mut layers = Layers::defaults().map_err(shape)?;
        if let Some(path) = path {
            layers = layers.with_file(path, &read_file(path)?).map_err(shape)?;
        }
        let layers = layers.with_variables().map_err(shape)?;
        let config = extract(&layers.merged())?;
        config.validate().map_err(ConfigError::Invalid)?;
        Ok(config)
    }

    /// The embedded defaults alone, without file and variables: the base for demos and tests.
    ///
    /// # Errors
    /// None in practice; a test reads them.
    pub fn defaults() -> Result<Self, ConfigError> {
        extract(&Layers::defaults().map_err(shape)?.merged())
    }
}

pub(super) fn read_file(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable {
        path: path.to_owned(),
        source,
    })
}

fn extract(figment: &Figment) -> Result<Config, ConfigError> {
    let mut config: Config = figment.extract().map_err(|error| shape(Box::new(error)))?;
    let failed = resolve_secrets(&mut config, figment);
    failed.into_iter().next().map_or(Ok(config), Err)
}

/// Reads every secret that a key points at, and returns those that are not to be had.
pub(super) fn resolve_secrets(config: &mut Config, figment: &Figment) -> Vec<ConfigError> {
    let mut resolved = vec![
        resolve_database("upstream", &mut config.upstream, figment),
        resolve_database("state", &mut config.state, figment),
        resolve_sasl(&mut config.kafka.security),
        resolve_registry(&mut config.registry),
        resolve_s3(&mut config.claim_check.s3),
    ];
    for (alias, account) in &mut config.accounts {
        resolved.push(resolve_account(alias, account));
    }
    resolved.into_iter().filter_map(Result::err).collect()
}

fn shape(error: Box<figment::Error>) -> ConfigError {
    ConfigError::Shape(Box::new(without_values(*error)))
}

/// Removes what was found from an error: it may be a secret at the wrong place. TOML's own errors quote the line.
pub(super) fn without_values(mut error: figment::Error) -> figment::Error {
    use figment::error::Kind;
    error.kind = match error.kind {
        Kind::InvalidType(_, expected) => Kind::Message(format!("wrong type, expected {expected}")),
        Kind::InvalidValue(_, expected) => {
            Kind::Message(format!("wrong value, expected {expected}"))
        }
        Kind::Message(text) => Kind::Message(without_quote(&text)),
        kind @ (Kind::InvalidLength(..)
        | Kind::UnknownVariant(..)
        | Kind::UnknownField(..)
        | Kind::MissingField(_)
        | Kind::DuplicateField(_)
        | Kind::ISizeOutOfRange(_)
        | Kind::USizeOutOfRange(_)
        | Kind::Unsupported(_)
        | Kind::UnsupportedKey(..)) => kind,
    };
    error
}

/// The first and the last line: where, and what.
fn without_quote(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    match (lines.next(), lines.next_back()) {
        (Some(place), Some(what)) => format!("{place}: {what}"),
        (place, _) => place.unwrap_or_default().to_owned(),
    }
}

const DATABASE_REMEDY: &str =
    "leave the password out and set database_file or the variable TIDINGS_<SECTION>__DATABASE";

fn resolve_database(
    section: &str,
    database: &mut DatabaseConfig,
    figment: &Figment,
) -> Result<(), ConfigError> {
    if let Some(path) = &database.database_file {
        let key = format!("{section}.database_file");
        database.database =
            read_secret_file(path).map_err(|source| ConfigError::Secret { key, source })?;
        return Ok(());
    }
    let key = format!("{section}.database");
    let from_variable = figment
        .find_metadata(&key)
        .is_some_and(|metadata| metadata.name.contains("environment"));
    if !from_variable && holds_password(&database.database) {
        return Err(ConfigError::LiteralSecret {
            key,
            remedy: DATABASE_REMEDY,
        });
    }
    Ok(())
}

/// A URL that cannot be parsed is reported by `validate`, which has better words for it.
fn holds_password(url: &Secret) -> bool {
    url.expose()
        .parse::<tokio_postgres::Config>()
        .is_ok_and(|config| config.get_password().is_some())
}

fn resolve_sasl(security: &mut SecurityConfig) -> Result<(), ConfigError> {
    security.sasl_password = resolve(
        "kafka.security.sasl_password",
        security.sasl_password.take(),
        security.sasl_password_file.as_deref(),
        security.sasl_password_env.as_deref(),
    )?;
    Ok(())
}

fn resolve_registry(registry: &mut RegistryConfig) -> Result<(), ConfigError> {
    registry.password = resolve(
        "registry.password",
        registry.password.take(),
        registry.password_file.as_deref(),
        registry.password_env.as_deref(),
    )?;
    Ok(())
}

fn resolve_s3(s3: &mut S3Config) -> Result<(), ConfigError> {
    s3.secret_access_key = resolve(
        "claim_check.s3.secret_access_key",
        s3.secret_access_key.take(),
        s3.secret_access_key_file.as_deref(),
        s3.secret_access_key_env.as_deref(),
    )?;
    Ok(())
}

fn resolve_account(alias: &str, account: &mut AccountConfig) -> Result<(), ConfigError> {
    account.token = resolve(
        &format!("accounts.\"{alias}\".token"),
        account.token.take(),
        account.token_file.as_deref(),
        account.token_env.as_deref(),
    )?;
    Ok(())
}

/// The secret of `key`, `key`_file or `key`_env; the file wins over the variable.
fn resolve(
    key: &str,
    literal: Option<Secret>,
    file: Option<&Path>,
    variable: Option<&str>,
) -> Result<Option<Secret>, ConfigError> {
    if literal.is_some() {
        return Err(ConfigError::LiteralSecret {
            key: key.to_owned(),
            remedy: "put it into a file or a variable and name that with the key's _file or _env form",
        });
    }
    let (suffix, read) = match (file, variable) {
        (Some(path), _) => ("file", read_secret_file(path)),
        (None, Some(name)) => ("env", read_secret_variable(name)),
        (None, None) => return Ok(None),
    };
    let key = format!("{key}_{suffix}");
    read.map(Some)
        .map_err(|source| ConfigError::Secret { key, source })
}

fn list(problems: &[ConfigProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("; ")
}

#[cfg(test)]
mod tests;
