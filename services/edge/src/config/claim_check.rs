//! `[claim_check]`: the store of content that is too large for a message (requirement B7).

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::Secret;

/// `[claim_check]`: where the content is that claim checks name, and how it is read.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimCheckConfig {
    /// Which store.
    pub store: ContentStoreKind,
    /// The folder whose files are the content, for [`ContentStoreKind::Folder`].
    pub folder: Option<PathBuf>,
    /// The bucket whose objects are the content, for [`ContentStoreKind::S3`].
    pub s3: S3Config,
    /// The largest content that is read or stored, in bytes.
    pub max_bytes: u64,
    /// The longest that reading one content may take, waiting for a place included.
    #[serde(with = "humantime_serde")]
    pub fetch_timeout: Duration,
    /// The most contents that a worker reads at once; times `max_bytes`, the memory they take.
    pub max_in_flight: usize,
    /// The most bytes of verified contents that a worker keeps: for the next chat that gets the same, and the next call.
    pub cache_bytes: usize,
}

/// Which store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentStoreKind {
    /// There is none: messages with a claim check become dead letters.
    None,
    /// A folder on this machine.
    Folder,
    /// A bucket of Amazon S3 or of a server that speaks its protocol.
    S3,
}

/// `[claim_check.s3]`: a bucket, addressed by path.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct S3Config {
    /// Base of the server's API; absent: Amazon's in the region.
    pub endpoint: Option<String>,
    /// The region that requests are signed for.
    pub region: String,
    /// The bucket.
    pub bucket: Option<String>,
    /// The name of the key that requests are signed with.
    pub access_key_id: Option<String>,
    /// The key itself. Filled from the two keys below when the configuration is loaded; a literal is refused.
    pub secret_access_key: Option<Secret>,
    /// A file that holds the key.
    pub secret_access_key_file: Option<PathBuf>,
    /// The name of the environment variable that holds the key.
    pub secret_access_key_env: Option<String>,
    /// Whether an endpoint beyond loopback may be reached without TLS.
    pub allow_http: bool,
}
