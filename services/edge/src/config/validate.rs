//! The rules between settings. Each problem names the key, its value and what to do.

mod accounts;
mod claim_check;
mod failure;
mod kafka;
mod limits;
mod roles;
mod tuning;

use std::fmt::Display;
use std::time::Duration;

use super::{Config, DatabaseConfig};

/// One setting that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: {remedy}")]
pub struct ConfigProblem {
    /// The key, with its section.
    pub key: String,
    /// The value as it was understood; never a secret.
    pub value: String,
    /// What to do.
    pub remedy: String,
}

/// Collects problems; a rule is one line at its caller.
#[derive(Default)]
struct Problems(Vec<ConfigProblem>);

impl Problems {
    fn unless(&mut self, fits: bool, key: &str, value: impl Display, remedy: impl Display) {
        if !fits {
            self.0.push(ConfigProblem {
                key: key.to_owned(),
                value: value.to_string(),
                remedy: remedy.to_string(),
            });
        }
    }

    fn positive<N: Into<u64> + Copy + Display>(&mut self, key: &str, value: N) {
        self.unless(value.into() > 0, key, value, "must be at least 1");
    }

    fn positive_size(&mut self, key: &str, value: usize) {
        self.unless(value > 0, key, value, "must be at least 1");
    }

    fn positive_time(&mut self, key: &str, value: Duration) {
        self.unless(
            !value.is_zero(),
            key,
            human(value),
            "must be longer than nothing",
        );
    }
}

impl Config {
    /// Checks every rule between settings, and reports all problems at once.
    ///
    /// # Errors
    /// The problems, in the order of the sections.
    pub fn validate(&self) -> Result<(), Vec<ConfigProblem>> {
        let mut problems = Problems::default();
        kafka::kafka(&self.kafka, &mut problems);
        database("upstream", &self.upstream, &mut problems);
        database("state", &self.state, &mut problems);
        registry(self, &mut problems);
        roles::relay(self, &mut problems);
        roles::dispatcher(self, &mut problems);
        limits::limits(&self.limits, &mut problems);
        claim_check::claim_check(self, &mut problems);
        accounts::accounts(self, &mut problems);
        match problems.0.as_slice() {
            [] => Ok(()),
            _ => Err(problems.0),
        }
    }
}

fn database(section: &str, database: &DatabaseConfig, problems: &mut Problems) {
    problems.unless(
        crate::postgres::is_connection_url(&database.database),
        &format!("{section}.database"),
        "(not shown: it may hold a password)",
        "use postgres://user@host:port/database, with at most sslmode, application_name and connect_timeout after '?'",
    );
}

fn registry(config: &Config, problems: &mut Problems) {
    let registry = &config.registry;
    problems.unless(
        is_http_url(&registry.url),
        "registry.url",
        "(not shown: it may hold a password)",
        "use http:// or https:// and a host, without user and password (set username and password_file)",
    );
    problems.unless(
        registry.username.is_some() == registry.password.is_some(),
        "registry.username",
        registry.username.as_deref().unwrap_or("(not set)"),
        "set username and password_file (or password_env), or neither",
    );
    problems.positive_time("registry.request_timeout", registry.request_timeout);
    problems.positive_size("registry.cache_entries", registry.cache_entries);
}

fn is_name(name: &str, max_chars: usize) -> bool {
    !name.is_empty()
        && name.len() <= max_chars
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn is_http_url(url: &str) -> bool {
    reqwest::Url::parse(url).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
    })
}

/// A duration the way it is written in the file.
fn human(duration: Duration) -> String {
    humantime_serde::re::humantime::format_duration(duration).to_string()
}

#[cfg(test)]
mod tests;
