//! Where an account's credential is, and the one in use. It changes while the worker runs: when the platform refuses it
//! and another is found.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use tidings_edge::config::{AccountConfig, read_secret_file, read_secret_variable};
use tidings_platforms::Secret;

/// An account's credential.
pub(crate) struct Credential {
    used: RwLock<Secret>,
    source: Source,
}

enum Source {
    File(PathBuf),
    Variable(String),
    /// The program was given it.
    Fixed,
}

impl Credential {
    /// `None` for an account without one.
    pub(crate) fn of(account: &AccountConfig) -> Option<Self> {
        let source = match (&account.token_file, &account.token_env) {
            (Some(file), _) => Source::File(file.clone()),
            (None, Some(name)) => Source::Variable(name.clone()),
            (None, None) => Source::Fixed,
        };
        Some(Self {
            used: RwLock::new(account.token.clone()?),
            source,
        })
    }

    /// The one in use.
    pub(crate) fn used(&self) -> Secret {
        let used = self.used.read().unwrap_or_else(PoisonError::into_inner);
        used.clone()
    }

    /// Uses another; says whether it is one.
    pub(crate) fn set(&self, token: Secret) -> bool {
        let mut used = self.used.write().unwrap_or_else(PoisonError::into_inner);
        let other = *used != token;
        *used = token;
        other
    }

    /// What its source holds now, if it can be read and is not the one in use. A file that is being replaced may be empty
    /// for a moment: it is read again.
    pub(crate) fn other(&self) -> Option<Secret> {
        let read = match &self.source {
            Source::File(file) => read_secret_file(file),
            Source::Variable(name) => read_secret_variable(name),
            Source::Fixed => return None,
        };
        read.ok().filter(|token| *token != self.used())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_holds_another_credential_is_seen_and_an_empty_or_missing_one_is_not() {
        let name = format!("tidings-credential-{}", uuid::Uuid::new_v4().simple());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, "1:old\n").unwrap();
        let credential = Credential::of(&AccountConfig {
            token: Some(Secret::new("1:old")),
            token_file: Some(file.clone()),
            ..AccountConfig::default()
        })
        .unwrap();
        assert_eq!(credential.other(), None, "the same");
        std::fs::write(&file, "").unwrap();
        assert_eq!(credential.other(), None, "half written");
        std::fs::write(&file, "1:new\n").unwrap();
        let other = credential.other().unwrap();
        assert!(credential.set(other.clone()) && !credential.set(other));
        assert_eq!(credential.used().expose(), "1:new");
        std::fs::remove_file(&file).unwrap();
        assert_eq!(credential.other(), None, "gone");
    }
}
