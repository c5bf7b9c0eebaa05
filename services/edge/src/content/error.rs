//! Why there is no store, or no content.

use std::error::Error;
use std::path::PathBuf;

/// Why the configured store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ContentStoreError {
    /// The folder is not there.
    #[error("claim_check.folder {path}: there is no such folder; make it, or mount it")]
    Folder {
        /// As configured.
        path: PathBuf,
        /// What the library said.
        #[source]
        source: object_store::Error,
    },
    /// The bucket's settings do not fit each other.
    #[error("[claim_check.s3] can not be used; check endpoint, region and bucket")]
    S3(#[source] object_store::Error),
    /// A setting that `Config::validate` asks for is missing.
    #[error("{key} is not set")]
    NotSet {
        /// The key.
        key: &'static str,
    },
}

/// Why there is no content. Every message names the key, what was expected and what was found.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// The store takes no such key.
    #[error(
        "storage_key {key:?} is no name of an object: its parts must be separated by single slashes and be neither empty, . nor .."
    )]
    Key {
        /// As claimed, shortened.
        key: String,
        /// What the library said.
        #[source]
        source: Option<object_store::path::Error>,
    },
    /// There is no such object, or not yet.
    #[error("storage_key {key:?} is not in {place}")]
    Missing {
        /// As claimed.
        key: String,
        /// Where it was looked for.
        place: String,
        /// What the library said.
        #[source]
        source: object_store::Error,
    },
    /// The store does not let us. S3 also says so of a missing object to whoever may not list the bucket.
    #[error(
        "storage_key {key:?}: {place} refuses access; check the key's rights (it must read objects, and list the bucket to tell missing ones)"
    )]
    Refused {
        /// As claimed.
        key: String,
        /// Who refuses.
        place: String,
        /// What the library said; it may quote the request, so it is not shown.
        #[source]
        source: object_store::Error,
    },
    /// The store does not answer, or not as it should.
    #[error("storage_key {key:?}: {place} does not answer")]
    Unreachable {
        /// As claimed.
        key: String,
        /// Who does not answer.
        place: String,
        /// What the library said.
        #[source]
        source: object_store::Error,
    },
    /// The object has another length than its claim check says.
    #[error(
        "storage_key {key:?}: size_bytes is {expected} in the claim check, {found} in the store"
    )]
    Size {
        /// As claimed.
        key: String,
        /// As claimed.
        expected: u64,
        /// The object's.
        found: u64,
    },
    /// The object has other bytes than its claim check says.
    #[error("storage_key {key:?}: sha256 is {expected} in the claim check, {found} in the store")]
    Sha256 {
        /// As claimed.
        key: String,
        /// As claimed.
        expected: String,
        /// The object's.
        found: String,
    },
    /// Something else is stored under the key.
    #[error(
        "storage_key {key:?} holds another content already, which messages may refer to; choose another key"
    )]
    Taken {
        /// The key.
        key: String,
    },
}

impl ContentError {
    /// Whether a later attempt may find the content: it may arrive late, and stores come back.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Missing { .. } | Self::Refused { .. } | Self::Unreachable { .. } => true,
            Self::Key { .. } | Self::Size { .. } | Self::Sha256 { .. } | Self::Taken { .. } => {
                false
            }
        }
    }

    /// The failure's kind, in one word for metrics.
    #[must_use]
    pub fn outcome(&self) -> &'static str {
        match self {
            Self::Key { .. } => "bad_key",
            Self::Missing { .. } => "missing",
            Self::Refused { .. } => "refused",
            Self::Unreachable { .. } => "unreachable",
            Self::Size { .. } | Self::Sha256 { .. } => "mismatched",
            Self::Taken { .. } => "taken",
        }
    }

    /// The failure and its causes in one line for an operator, without what a store quotes of a signed request.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Unreachable { source, .. } => format!("{self}: {}", innermost(source)),
            Self::Key { .. }
            | Self::Missing { .. }
            | Self::Refused { .. }
            | Self::Size { .. }
            | Self::Sha256 { .. }
            | Self::Taken { .. } => self.to_string(),
        }
    }

    /// What the library's error means. Its enum grows; what is not listed is a store that does not do as it should.
    #[allow(clippy::wildcard_enum_match_arm)]
    pub(super) fn of(key: &str, place: &str, source: object_store::Error) -> Self {
        let (key, place) = (key.to_owned(), place.to_owned());
        match source {
            object_store::Error::NotFound { .. } => Self::Missing { key, place, source },
            object_store::Error::PermissionDenied { .. }
            | object_store::Error::Unauthenticated { .. } => Self::Refused { key, place, source },
            source => Self::Unreachable { key, place, source },
        }
    }
}

/// The last cause says what happened; those before it repeat the request.
pub(super) fn innermost(error: &dyn Error) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}
