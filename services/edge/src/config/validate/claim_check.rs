//! The rules of `[claim_check]`.

use std::net::IpAddr;

use super::{Problems, is_http_url};
use crate::config::{ClaimCheckConfig, Config, ContentStoreKind, S3Config};

/// The most that may be read at once into a worker's memory, in bytes.
const MOST_IN_FLIGHT_BYTES: u64 = 4 << 30;

pub(super) fn claim_check(config: &Config, problems: &mut Problems) {
    let claim_check = &config.claim_check;
    match claim_check.store {
        ContentStoreKind::None => {}
        ContentStoreKind::Folder => problems.unless(
            claim_check
                .folder
                .as_ref()
                .is_some_and(|folder| folder.is_absolute()),
            "claim_check.folder",
            shown(claim_check),
            "name the folder by its absolute path, for store = \"folder\"",
        ),
        ContentStoreKind::S3 => s3(&claim_check.s3, problems),
    }
    bounds(claim_check, problems);
}

fn shown(claim_check: &ClaimCheckConfig) -> String {
    let folder = claim_check.folder.as_ref();
    folder.map_or_else(|| "(not set)".into(), |folder| folder.display().to_string())
}

fn s3(s3: &S3Config, problems: &mut Problems) {
    let bucket = s3.bucket.as_deref();
    problems.unless(
        bucket.is_some_and(is_bucket),
        "claim_check.s3.bucket",
        bucket.unwrap_or("(not set)"),
        "name the bucket: 3 to 63 small letters, digits, '-' and '.'",
    );
    problems.unless(
        !s3.region.is_empty() && s3.region.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
        "claim_check.s3.region",
        &s3.region,
        "name the bucket's region, like eu-central-1; servers other than Amazon's mostly take us-east-1",
    );
    credentials(s3, problems);
    if let Some(endpoint) = s3.endpoint.as_deref() {
        endpoint_fits(endpoint, s3.allow_http, problems);
    }
}

/// Names the half that is missing.
fn credentials(s3: &S3Config, problems: &mut Problems) {
    let has_id = s3.access_key_id.as_deref().is_some_and(|id| !id.is_empty());
    let missing = match (has_id, s3.secret_access_key.is_some()) {
        (true, true) => return,
        (true, false) => "claim_check.s3.secret_access_key_file",
        (false, true | false) => "claim_check.s3.access_key_id",
    };
    problems.unless(
        false,
        missing,
        "(not set)",
        "set access_key_id and secret_access_key_file (or secret_access_key_env)",
    );
}

fn endpoint_fits(endpoint: &str, allow_http: bool, problems: &mut Problems) {
    let key = "claim_check.s3.endpoint";
    let parsed = reqwest::Url::parse(endpoint)
        .ok()
        .filter(|url| is_http_url(endpoint) && url.query().is_none() && url.fragment().is_none());
    match parsed {
        None => problems.unless(
            false,
            key,
            "(not shown: it may hold a password)",
            "use http:// or https:// and a host, without user, password, bucket and query",
        ),
        Some(url) => problems.unless(
            url.scheme() == "https" || allow_http || is_loopback(&url),
            key,
            endpoint,
            "use https://, or set claim_check.s3.allow_http if contents may travel in the open",
        ),
    }
}

fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn is_bucket(name: &str) -> bool {
    (3..=63).contains(&name.len())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.'))
}

fn bounds(claim_check: &ClaimCheckConfig, problems: &mut Problems) {
    problems.positive("claim_check.max_bytes", claim_check.max_bytes);
    problems.positive_time("claim_check.fetch_timeout", claim_check.fetch_timeout);
    problems.positive_size("claim_check.max_in_flight", claim_check.max_in_flight);
    problems.unless(
        claim_check.cache_bytes as u64 >= claim_check.max_bytes,
        "claim_check.cache_bytes",
        claim_check.cache_bytes,
        "must be at least claim_check.max_bytes, so that every content can be kept for a second call",
    );
    let most = claim_check
        .max_bytes
        .saturating_mul(claim_check.max_in_flight as u64);
    problems.unless(
        most <= MOST_IN_FLIGHT_BYTES,
        "claim_check.max_in_flight",
        claim_check.max_in_flight,
        format!("times claim_check.max_bytes it is {most} bytes of memory; keep it below {MOST_IN_FLIGHT_BYTES}"),
    );
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::{Config, ContentStoreKind, Secret};

    fn problems(change: impl FnOnce(&mut Config)) -> Vec<String> {
        let mut config = Config::defaults().unwrap();
        change(&mut config);
        let problems = config.validate().err().unwrap_or_default();
        let keys = problems.into_iter().map(|problem| problem.key);
        keys.filter(|key| key.starts_with("claim_check")).collect()
    }

    fn bucket(config: &mut Config) {
        config.claim_check.store = ContentStoreKind::S3;
        config.claim_check.s3.bucket = Some("contents".into());
        config.claim_check.s3.access_key_id = Some("A".into());
        config.claim_check.s3.secret_access_key = Some(Secret::new("s"));
    }

    #[test]
    fn a_store_needs_its_settings() {
        assert!(problems(|_| {}).is_empty());
        let folder = |path: Option<&Path>| {
            problems(|config| {
                config.claim_check.store = ContentStoreKind::Folder;
                config.claim_check.folder = path.map(Path::to_owned);
            })
        };
        assert_eq!(folder(None), ["claim_check.folder"]);
        assert_eq!(folder(Some(Path::new("here"))), ["claim_check.folder"]);
        assert!(folder(Some(Path::new("/var/contents"))).is_empty());
        let nothing = problems(|config| config.claim_check.store = ContentStoreKind::S3);
        assert_eq!(
            nothing,
            ["claim_check.s3.bucket", "claim_check.s3.access_key_id"]
        );
        assert!(problems(bucket).is_empty());
    }

    #[test]
    fn of_credentials_that_are_half_given_the_other_half_is_named() {
        let half = |change: fn(&mut Config)| {
            problems(|config| {
                bucket(config);
                change(config);
            })
        };
        assert_eq!(
            half(|config| config.claim_check.s3.secret_access_key = None),
            ["claim_check.s3.secret_access_key_file"]
        );
        assert_eq!(
            half(|config| config.claim_check.s3.access_key_id = None),
            ["claim_check.s3.access_key_id"]
        );
    }

    #[test]
    fn contents_travel_in_the_open_only_on_loopback_or_when_allowed() {
        let endpoint = |endpoint: &str, allow_http| {
            problems(|config| {
                bucket(config);
                config.claim_check.s3.endpoint = Some(endpoint.into());
                config.claim_check.s3.allow_http = allow_http;
            })
        };
        for fits in [
            "http://127.0.0.1:9000",
            "http://[::1]:9000",
            "http://localhost",
            "https://s3.example.com",
        ] {
            assert!(endpoint(fits, false).is_empty(), "{fits}");
        }
        assert!(endpoint("http://s3.example.com", true).is_empty());
        for unfit in [
            "http://s3.example.com",
            "ftp://127.0.0.1",
            "https://key:secret@s3",
            "https://s3/?x=1",
            "s3",
        ] {
            assert_eq!(
                endpoint(unfit, false),
                ["claim_check.s3.endpoint"],
                "{unfit}"
            );
        }
    }

    #[test]
    fn memory_is_bounded() {
        let bounds = |max_bytes, max_in_flight| {
            problems(|config| {
                config.claim_check.max_bytes = max_bytes;
                config.claim_check.max_in_flight = max_in_flight;
            })
        };
        assert_eq!(bounds(0, 1), ["claim_check.max_bytes"]);
        assert_eq!(bounds(1, 0), ["claim_check.max_in_flight"]);
        assert_eq!(bounds(1 << 24, 257), ["claim_check.max_in_flight"]);
        assert_eq!(bounds((1 << 24) + 1, 1), ["claim_check.cache_bytes"]);
    }
}
