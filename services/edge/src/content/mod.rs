//! Contents that are too large for a message (requirement B7): files of a folder, or objects of a bucket, read under this
//! process' own identity and compared with what the claim check says of them.

mod error;
mod open;
mod probe;

use std::sync::Arc;

use object_store::path::Path;
use object_store::{
    Attribute, Attributes, Error, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions,
};
use sha2::{Digest as _, Sha256};

use crate::config::ClaimCheckConfig;

pub use error::{ContentError, ContentStoreError};
pub use probe::NotReadable;

/// A store of contents. Clones share its connections.
#[derive(Debug, Clone)]
pub struct ContentStore {
    store: Arc<dyn ObjectStore>,
    place: Arc<str>,
    /// Whether it keeps a media type beside the bytes.
    keeps_types: bool,
}

/// What a claim check says of a content.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// Its name in the store.
    pub storage_key: &'a str,
    /// Its length.
    pub size_bytes: u64,
    /// SHA-256 of its bytes, lower-case hexadecimal.
    pub sha256: &'a str,
}

/// What came of storing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// The content is there now.
    New,
    /// The same bytes were there already.
    AlreadyThere,
}

impl ContentStore {
    /// The configured store; `None` if there is none. A bucket is not asked for before the first content.
    ///
    /// # Errors
    /// The folder is missing, or the bucket's settings are not usable.
    pub fn open(config: &ClaimCheckConfig) -> Result<Option<Self>, ContentStoreError> {
        open::open(config)
    }

    /// Where it is, for people: `folder /var/contents`.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Reads a content and compares length and SHA-256. The length is compared before anything is read, so that no more
    /// than `size_bytes` is ever held. It sets no time limit.
    ///
    /// # Errors
    /// [`ContentError`]; those that [may pass](ContentError::may_pass) are worth another attempt.
    pub async fn fetch(&self, expected: Expected<'_>) -> Result<Vec<u8>, ContentError> {
        let key = expected.storage_key;
        let path = object_path(key)?;
        let failed = |error| ContentError::of(key, &self.place, error);
        let found = self.store.get(&path).await.map_err(failed)?;
        if found.meta.size != expected.size_bytes {
            return Err(ContentError::Size {
                key: key.to_owned(),
                expected: expected.size_bytes,
                found: found.meta.size,
            });
        }
        let bytes = found.bytes().await.map_err(failed)?;
        let (bytes, sha256) = hashed(bytes.into()).await;
        if sha256 != expected.sha256 {
            return Err(ContentError::Sha256 {
                key: key.to_owned(),
                expected: expected.sha256.to_owned(),
                found: sha256,
            });
        }
        Ok(bytes)
    }

    /// Stores a content under a key that is free, or that holds the same bytes: what messages refer to never changes.
    ///
    /// # Errors
    /// [`ContentError::Taken`] if the key holds something else; the store's failures.
    pub async fn put(
        &self,
        storage_key: &str,
        content_type: &str,
        bytes: Vec<u8>,
    ) -> Result<Stored, ContentError> {
        let path = object_path(storage_key)?;
        let size_bytes = bytes.len() as u64;
        let (bytes, sha256) = hashed(bytes).await;
        let options = PutOptions {
            mode: PutMode::Create,
            attributes: self.attributes(content_type),
            ..PutOptions::default()
        };
        match self.store.put_opts(&path, bytes.into(), options).await {
            Ok(_) => Ok(Stored::New),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                let expected = Expected {
                    storage_key,
                    size_bytes,
                    sha256: &sha256,
                };
                self.same(expected).await
            }
            Err(error) => Err(ContentError::of(storage_key, &self.place, error)),
        }
    }

    async fn same(&self, expected: Expected<'_>) -> Result<Stored, ContentError> {
        match self.fetch(expected).await {
            Ok(_) => Ok(Stored::AlreadyThere),
            Err(ContentError::Size { key, .. } | ContentError::Sha256 { key, .. }) => {
                Err(ContentError::Taken { key })
            }
            Err(error) => Err(error),
        }
    }

    fn attributes(&self, content_type: &str) -> Attributes {
        let mut attributes = Attributes::new();
        if self.keeps_types {
            attributes.insert(Attribute::ContentType, content_type.to_owned().into());
        }
        attributes
    }
}

/// SHA-256 of a content, lower-case hexadecimal, as a claim check has it.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// Off the runtime's threads: a large content takes milliseconds.
async fn hashed(bytes: Vec<u8>) -> (Vec<u8>, String) {
    let hashing = tokio::task::spawn_blocking(move || {
        let sha256 = sha256_hex(&bytes);
        (bytes, sha256)
    });
    // Hashing does not panic, and is only cancelled with the runtime: then nothing matches.
    hashing.await.unwrap_or_default()
}

/// A key as the stores take it. Leading and trailing slashes, which they would drop, are refused: another reader of the
/// same claim check may not.
fn object_path(key: &str) -> Result<Path, ContentError> {
    let refused = |source: Option<object_store::path::Error>| ContentError::Key {
        key: key.chars().take(200).collect(),
        source,
    };
    if key.is_empty() || key.starts_with('/') || key.ends_with('/') {
        return Err(refused(None));
    }
    Path::parse(key).map_err(|source| refused(Some(source)))
}

#[cfg(test)]
mod tests;
