//! Reading secrets from where the configuration says they are.

use std::path::{Path, PathBuf};

pub use tidings_platforms::Secret;

/// The most that is read from a secret's file: a PEM chain fits, a mistaken path to a big file does not.
const SECRET_FILE_BYTES: u64 = 64 * 1024;

/// Why a secret could not be read. No variant holds the secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file cannot be read.
    #[error("cannot read the file {path}")]
    File {
        /// The configured path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The file is larger than 64 KiB.
    #[error("the file {path} is larger than {SECRET_FILE_BYTES} bytes")]
    TooLarge {
        /// The configured path.
        path: PathBuf,
    },
    /// The environment variable is not set, or is not UTF-8.
    #[error("the environment variable {name} is not set or is not UTF-8")]
    Variable {
        /// The configured name.
        name: String,
    },
    /// There is nothing but white space.
    #[error("the secret is empty")]
    Empty,
}

/// Reads a secret from a file, without the white space around it (editors end a file with a newline).
///
/// # Errors
/// The file cannot be read, is larger than 64 KiB, or is empty.
pub fn read_secret_file(path: &Path) -> Result<Secret, SecretError> {
    let unreadable = |source| SecretError::File {
        path: path.to_owned(),
        source,
    };
    let size_bytes = std::fs::metadata(path).map_err(unreadable)?.len();
    if size_bytes > SECRET_FILE_BYTES {
        return Err(SecretError::TooLarge {
            path: path.to_owned(),
        });
    }
    non_empty(std::fs::read_to_string(path).map_err(unreadable)?)
}

/// Reads a secret from an environment variable, without the white space around it.
///
/// # Errors
/// The variable is not set, is not UTF-8, or is empty.
pub fn read_secret_variable(name: &str) -> Result<Secret, SecretError> {
    let value = std::env::var(name).map_err(|_| SecretError::Variable {
        name: name.to_owned(),
    })?;
    non_empty(value)
}

fn non_empty(value: String) -> Result<Secret, SecretError> {
    match value.trim() {
        "" => Err(SecretError::Empty),
        trimmed => Ok(Secret::new(trimmed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_variable_and_an_empty_value_are_errors() {
        let missing = read_secret_variable("TIDINGS_TEST_NO_SUCH_VARIABLE");
        assert!(matches!(missing, Err(SecretError::Variable { .. })));
        assert!(matches!(non_empty(" \n".into()), Err(SecretError::Empty)));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read_secret_file(Path::new("/no/such/token")).unwrap_err();
        assert!(error.to_string().contains("/no/such/token"));
    }
}
