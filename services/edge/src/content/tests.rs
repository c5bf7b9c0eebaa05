use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::config::{Config, ContentStoreKind};

/// A folder of one test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidings-content-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn store(&self) -> ContentStore {
        let mut config = Config::defaults().unwrap().claim_check;
        config.store = ContentStoreKind::Folder;
        config.folder = Some(self.0.clone());
        ContentStore::open(&config).unwrap().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn expected<'a>(storage_key: &'a str, bytes: &[u8], sha256: &'a str) -> Expected<'a> {
    Expected {
        storage_key,
        size_bytes: bytes.len() as u64,
        sha256,
    }
}

#[tokio::test]
async fn what_is_put_is_fetched_and_a_key_never_changes_its_content() {
    let folder = Folder::new();
    let store = folder.store();
    let sha256 = sha256_hex(b"terms");
    for stored in [Stored::New, Stored::AlreadyThere] {
        let put = store
            .put("a b/ü%20.txt", "text/plain", b"terms".to_vec())
            .await;
        assert_eq!(put.unwrap(), stored);
    }
    let fetched = store
        .fetch(expected("a b/ü%20.txt", b"terms", &sha256))
        .await;
    assert_eq!(fetched.unwrap(), b"terms");
    let taken = store
        .put("a b/ü%20.txt", "text/plain", b"other".to_vec())
        .await;
    assert!(
        matches!(taken, Err(ContentError::Taken { .. })),
        "{taken:?}"
    );
}

#[tokio::test]
async fn other_bytes_than_claimed_are_refused_for_good() {
    let folder = Folder::new();
    let store = folder.store();
    store.put("k", "text/plain", b"abc".to_vec()).await.unwrap();
    let claimed = sha256_hex(b"abd");
    let error = store
        .fetch(expected("k", b"abd", &claimed))
        .await
        .unwrap_err();
    assert!(!error.may_pass());
    for part in ["\"k\"", &claimed, &sha256_hex(b"abc")] {
        assert!(error.reason().contains(part), "{}", error.reason());
    }
    let error = store
        .fetch(expected("k", b"abcd", &claimed))
        .await
        .unwrap_err();
    assert!(matches!(
        error,
        ContentError::Size {
            expected: 4,
            found: 3,
            ..
        }
    ));
}

#[tokio::test]
async fn what_is_missing_may_arrive() {
    let folder = Folder::new();
    let store = folder.store();
    let sha256 = sha256_hex(b"x");
    let error = store
        .fetch(expected("later/x", b"x", &sha256))
        .await
        .unwrap_err();
    assert!(matches!(error, ContentError::Missing { .. }) && error.may_pass());
    std::fs::create_dir(folder.0.join("later")).unwrap();
    std::fs::write(folder.0.join("later/x"), b"x").unwrap();
    assert!(
        store
            .fetch(expected("later/x", b"x", &sha256))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn no_key_leaves_the_folder() {
    let folder = Folder::new();
    let inner = Folder(folder.0.join("inner"));
    std::fs::create_dir(&inner.0).unwrap();
    std::fs::write(folder.0.join("secret"), b"s").unwrap();
    let store = inner.store();
    let sha256 = sha256_hex(b"s");
    for key in [
        "",
        "/",
        "../secret",
        "a/../../secret",
        "..",
        "a//b",
        "/secret",
        "secret/",
        "\0",
        "%2e%2e/secret",
    ] {
        let error = store.fetch(expected(key, b"s", &sha256)).await.unwrap_err();
        let refused = matches!(
            error,
            ContentError::Key { .. } | ContentError::Missing { .. }
        );
        assert!(refused, "{key:?}: {error:?}");
    }
}

#[test]
fn a_missing_folder_is_an_error_with_its_name() {
    let mut config = Config::defaults().unwrap().claim_check;
    assert!(ContentStore::open(&config).unwrap().is_none());
    config.store = ContentStoreKind::Folder;
    config.folder = Some("/no/such/folder".into());
    let error = ContentStore::open(&config).unwrap_err();
    assert!(error.to_string().contains("/no/such/folder"));
}
