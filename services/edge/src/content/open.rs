//! From settings to a store.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::client::{HttpClient, HttpConnector};
use object_store::local::LocalFileSystem;
use object_store::{ClientOptions, RetryConfig};
use reqwest::redirect;

use super::{ContentStore, ContentStoreError};
use crate::config::{ClaimCheckConfig, ContentStoreKind, S3Config};

/// The longest that DNS, TCP and TLS may take together, as for platforms.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn open(config: &ClaimCheckConfig) -> Result<Option<ContentStore>, ContentStoreError> {
    match config.store {
        ContentStoreKind::None => Ok(None),
        ContentStoreKind::Folder => folder(config).map(Some),
        ContentStoreKind::S3 => bucket(&config.s3).map(Some),
    }
}

fn folder(config: &ClaimCheckConfig) -> Result<ContentStore, ContentStoreError> {
    let path = set(config.folder.as_ref(), "claim_check.folder")?;
    let store = LocalFileSystem::new_with_prefix(path).map_err(|source| {
        let path = path.clone();
        ContentStoreError::Folder { path, source }
    })?;
    Ok(ContentStore {
        store: Arc::new(store),
        place: format!("folder {}", path.display()).into(),
        keeps_types: false,
    })
}

/// A repeat is the delivery machine's decision, so the library makes none. The endpoint was checked with the rest of the
/// configuration: it is https, loopback, or allowed.
fn bucket(config: &S3Config) -> Result<ContentStore, ContentStoreError> {
    let bucket = set(config.bucket.as_ref(), "claim_check.s3.bucket")?;
    let access_key_id = set(
        config.access_key_id.as_ref(),
        "claim_check.s3.access_key_id",
    )?;
    let secret = set(
        config.secret_access_key.as_ref(),
        "claim_check.s3.secret_access_key",
    )?;
    let mut builder = AmazonS3Builder::new()
        .with_region(&config.region)
        .with_bucket_name(bucket)
        .with_access_key_id(access_key_id)
        .with_secret_access_key(secret.expose())
        .with_virtual_hosted_style_request(false)
        .with_allow_http(true)
        .with_http_connector(Connector)
        .with_retry(RetryConfig {
            max_retries: 0,
            ..RetryConfig::default()
        });
    let mut place = format!("bucket {bucket}");
    if let Some(endpoint) = &config.endpoint {
        builder = builder.with_endpoint(endpoint);
        place = format!("{place} at {endpoint}");
    }
    Ok(ContentStore {
        store: Arc::new(builder.build().map_err(ContentStoreError::S3)?),
        place: place.into(),
        keeps_types: true,
    })
}

fn set<'a, T>(value: Option<&'a T>, key: &'static str) -> Result<&'a T, ContentStoreError> {
    value.ok_or(ContentStoreError::NotSet { key })
}

/// The client of platforms' calls, in short: no redirects (a signature must not follow one), no proxy from the environment,
/// no repeats.
#[derive(Debug)]
struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .build();
        let client = client.map_err(|source| object_store::Error::Generic {
            store: "S3",
            source: Box::new(source),
        })?;
        Ok(HttpClient::new(client))
    }
}
