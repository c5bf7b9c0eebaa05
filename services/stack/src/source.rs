//! Where tests and drills take their stack from.

use crate::error::StackError;
use crate::options::{Existing, StackOptions};
use crate::stack::Stack;

const VARIABLE: &str = "TIDINGS_STACK";

/// Where a stack comes from.
#[derive(Clone, Debug, Default)]
pub enum StackSource {
    /// Child processes on this machine.
    #[default]
    Local,
    /// Servers that run already.
    Existing(Existing),
    /// Containers, through testcontainers. Needs the feature `containers`, and Docker on this machine.
    Containers,
}

impl StackSource {
    /// Reads `TIDINGS_STACK`: `local` (also when unset), `containers`, or `existing` with
    /// `TIDINGS_POSTGRES_URL`, `TIDINGS_KAFKA_BROKERS` and `TIDINGS_REGISTRY_URL`.
    ///
    /// # Errors
    /// [`StackError::Environment`] if the value is another one, or an address is missing.
    pub fn from_env() -> Result<Self, StackError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// Starts a stack from this source. A stack of existing servers ignores `options`.
    ///
    /// # Errors
    /// As [`Stack::start`]; for containers also [`StackError::Docker`] and [`StackError::Container`], or
    /// [`StackError::Environment`] where the feature is missing.
    pub async fn start(self, options: StackOptions) -> Result<Stack, StackError> {
        match self {
            Self::Local => Stack::start(options).await,
            Self::Existing(existing) => {
                Stack::start(StackOptions {
                    existing,
                    ..options
                })
                .await
            }
            #[cfg(feature = "containers")]
            Self::Containers => Stack::start_containers(options).await,
            #[cfg(not(feature = "containers"))]
            Self::Containers => Err(StackError::Environment {
                variable: VARIABLE,
                problem:
                    "containers needs a build with the feature `containers` of tidings-stack; \
                          `make test-containers` does it"
                        .to_owned(),
            }),
        }
    }

    fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Self, StackError> {
        let address = |variable: &'static str| match get(variable) {
            Some(value) if !value.is_empty() => Ok(Some(value)),
            _ => Err(StackError::Environment {
                variable,
                problem: format!("must be set when {VARIABLE} is existing"),
            }),
        };
        match get(VARIABLE).as_deref() {
            None | Some("" | "local") => Ok(Self::Local),
            Some("containers") => Ok(Self::Containers),
            Some("existing") => Ok(Self::Existing(Existing {
                postgres_url: address("TIDINGS_POSTGRES_URL")?,
                kafka_brokers: address("TIDINGS_KAFKA_BROKERS")?,
                registry_url: address("TIDINGS_REGISTRY_URL")?,
            })),
            Some(other) => Err(StackError::Environment {
                variable: VARIABLE,
                problem: format!("{other:?} is unknown; use local, containers or existing"),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<StackSource, StackError> {
        StackSource::from_variables(|name| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn local_unless_told_otherwise() {
        for variables in [&[][..], &[(VARIABLE, "")], &[(VARIABLE, "local")]] {
            assert!(matches!(read(variables), Ok(StackSource::Local)));
        }
    }

    #[test]
    fn existing_needs_all_addresses() {
        let all = [
            (VARIABLE, "existing"),
            ("TIDINGS_POSTGRES_URL", "postgres://h"),
            ("TIDINGS_KAFKA_BROKERS", "h:9092"),
            ("TIDINGS_REGISTRY_URL", "http://h"),
        ];
        assert!(
            matches!(read(&all), Ok(StackSource::Existing(existing)) if existing.is_complete())
        );
        let problem = read(&all[..3]).unwrap_err().to_string();
        assert!(problem.contains("TIDINGS_REGISTRY_URL"), "{problem}");
    }

    #[test]
    fn an_unknown_source_is_named_with_the_possible_ones() {
        let problem = read(&[(VARIABLE, "docker")]).unwrap_err().to_string();
        assert!(
            problem.contains("docker") && problem.contains("local") && problem.contains("existing"),
            "{problem}"
        );
    }

    #[test]
    fn containers_are_a_source_of_their_own() {
        assert!(matches!(
            read(&[(VARIABLE, "containers")]),
            Ok(StackSource::Containers)
        ));
    }

    #[cfg(not(feature = "containers"))]
    #[tokio::test]
    async fn without_the_feature_containers_are_refused_with_the_remedy() {
        let refused = StackSource::Containers.start(StackOptions::default()).await;
        let problem = refused.map(|_| ()).unwrap_err().to_string();
        assert!(problem.contains("make test-containers"), "{problem}");
    }
}
