//! Values that logs, errors and spans must not show.

use std::fmt;

use serde::Deserialize;

/// A value that must never be printed: a token, a password, a URL that may hold one.
///
/// `Debug` prints `Secret(..)` and there is no `Display`, so that a secret reaches a log, an error or a span only through
/// an explicit [`Secret::expose`] (reference/conventions.md, "HTTP, CLI, files").
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps `value`.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the call that needs it; never for a log, an error or a span.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// An address with a credential in its path (case O4). `Debug` and `Display` show the template in its place.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretUrl {
    exposed: String,
    redacted: String,
}

impl SecretUrl {
    /// `base_url` followed by the path of `template` in which every `{token}` stands for `token`.
    pub(crate) fn from_template(base_url: &str, template: &str, token: &Secret) -> Self {
        Self {
            exposed: format!("{base_url}{}", template.replace("{token}", token.expose())),
            redacted: format!("{base_url}{template}"),
        }
    }

    /// The address itself: for the wire only.
    pub fn expose(&self) -> &str {
        &self.exposed
    }

    /// The address with the template's placeholder instead of the credential.
    pub fn redacted(&self) -> &str {
        &self.redacted
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.redacted)
    }
}

impl fmt::Display for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.redacted)
    }
}
