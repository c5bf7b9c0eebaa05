//! The store of contents that are too large for a message: it is there, and can be read from here.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::{Finding, words};
use crate::config::{ClaimCheckConfig, ContentStoreKind, S3Config};
use crate::content::{ContentStore, NotReadable};

pub(super) const CHECK: &str = "claim check";
const STORE: &str = "claim_check.store";
const FOLDER: &str = "claim_check.folder";
const ENDPOINT: &str = "claim_check.s3.endpoint";

#[derive(Debug)]
enum Facts {
    /// None is configured; the key that names one all the same.
    None { unused: Option<&'static str> },
    Folder {
        path: PathBuf,
        /// Its names can be read.
        listed: io::Result<()>,
        /// Files can be made in it.
        writable: bool,
    },
    Bucket {
        place: String,
        read: Result<(), NotReadable>,
    },
    /// There is no client for it, and why.
    Unusable(String),
}

/// The key to look at when the store does not answer.
pub(super) fn key(config: &ClaimCheckConfig) -> &'static str {
    match config.store {
        ContentStoreKind::None => STORE,
        ContentStoreKind::Folder => FOLDER,
        ContentStoreKind::S3 => ENDPOINT,
    }
}

pub(super) async fn check(config: &ClaimCheckConfig) -> Vec<Finding> {
    vec![judge(&gather(config).await, config)]
}

async fn gather(config: &ClaimCheckConfig) -> Facts {
    match (config.store, &config.folder) {
        (ContentStoreKind::None, _) => Facts::None {
            unused: unused(config),
        },
        (ContentStoreKind::Folder, Some(path)) => folder(path.clone()).await,
        (ContentStoreKind::Folder, None) | (ContentStoreKind::S3, _) => bucket(config).await,
    }
}

fn unused(config: &ClaimCheckConfig) -> Option<&'static str> {
    match (&config.folder, &config.s3.bucket) {
        (Some(_), _) => Some(FOLDER),
        (None, Some(_)) => Some("claim_check.s3.bucket"),
        (None, None) => None,
    }
}

/// Off the runtime's threads: a mount that hangs must not hold up the other checks.
async fn folder(path: PathBuf) -> Facts {
    let looked = tokio::task::spawn_blocking(move || Facts::Folder {
        listed: listed(&path),
        writable: access(&path, Access::WRITE_OK | Access::EXEC_OK).is_ok(),
        path,
    });
    // A look does not panic, and is only cancelled with the runtime.
    looked
        .await
        .unwrap_or_else(|error| Facts::Unusable(words(&error)))
}

/// One name is enough.
fn listed(path: &Path) -> io::Result<()> {
    std::fs::read_dir(path)?.next().transpose()?;
    // Files in it are opened by their names.
    Ok(access(path, Access::READ_OK | Access::EXEC_OK)?)
}

async fn bucket(config: &ClaimCheckConfig) -> Facts {
    match ContentStore::open(config) {
        Ok(Some(store)) => Facts::Bucket {
            place: store.place().to_owned(),
            read: store.probe().await,
        },
        Ok(None) => Facts::None { unused: None },
        Err(error) => Facts::Unusable(words(&error)),
    }
}

fn judge(facts: &Facts, config: &ClaimCheckConfig) -> Finding {
    match facts {
        Facts::None { unused: None } => Finding::ok(
            CHECK,
            "no store: a message with a claim check becomes a dead letter",
        ),
        Facts::None { unused: Some(key) } => Finding::warning(
            CHECK,
            STORE,
            format!("none, although {key} is set"),
            format!("set {STORE} to \"folder\" or \"s3\", or remove {key}"),
        ),
        Facts::Folder {
            path,
            listed,
            writable,
        } => judge_folder(path, listed, *writable),
        Facts::Bucket {
            place,
            read: Ok(()),
        } => Finding::ok(CHECK, format!("{place} can be read; writing was not tried")),
        Facts::Bucket {
            place,
            read: Err(why),
        } => judge_bucket(place, why, &config.s3),
        Facts::Unusable(why) => Finding::problem(
            CHECK,
            key(config),
            why,
            "correct what [claim_check] says of the store",
        ),
    }
}

fn judge_folder(path: &Path, listed: &io::Result<()>, writable: bool) -> Finding {
    let shown = path.display();
    let remedy = match listed.as_ref().map_err(io::Error::kind) {
        Ok(()) if writable => {
            return Finding::ok(CHECK, format!("folder {shown} can be read and written"));
        }
        Ok(()) => {
            return Finding::warning(
                CHECK,
                FOLDER,
                format!("{shown} can be read, and not written by this user"),
                "nothing where only dispatchers run; where contents are stored, let this user write there",
            );
        }
        Err(io::ErrorKind::NotFound) => "make the folder, or mount it here",
        Err(io::ErrorKind::NotADirectory) => "name a folder",
        Err(io::ErrorKind::PermissionDenied) => {
            "let the role's user list the folder and read its files"
        }
        Err(_) => "check the disk or the mount",
    };
    let why = listed.as_ref().err().map(ToString::to_string);
    Finding::problem(
        CHECK,
        FOLDER,
        format!("{shown}: {}", why.unwrap_or_default()),
        remedy,
    )
}

fn judge_bucket(place: &str, why: &NotReadable, s3: &S3Config) -> Finding {
    let (key, remedy) = match why {
        NotReadable::NoBucket => (
            "claim_check.s3.bucket",
            "make the bucket, or correct its name and claim_check.s3.endpoint",
        ),
        NotReadable::UnknownKey => (
            "claim_check.s3.access_key_id",
            "name a key that the store knows, and give its secret",
        ),
        NotReadable::WrongSecret => (
            secret_key(s3),
            "put the secret that belongs to claim_check.s3.access_key_id there",
        ),
        NotReadable::NoRight { .. } => (
            "claim_check.s3.access_key_id",
            "correct claim_check.s3.bucket, or let the key get the bucket's objects and list the bucket (s3:GetObject, s3:ListBucket), and put objects where contents are stored (s3:PutObject)",
        ),
        NotReadable::Clock => ("claim_check.s3", "set this machine's clock (NTP)"),
        NotReadable::OtherRegion => (
            "claim_check.s3.region",
            "name the region that the bucket is in",
        ),
        NotReadable::NotS3 => (ENDPOINT, "name the base of the store's S3 API"),
        NotReadable::Silent { .. } => (
            ENDPOINT,
            "check that the store runs, and that the address is right and reached from here",
        ),
    };
    Finding::problem(CHECK, key, format!("{place}: {why}"), remedy)
}

/// The one of the two keys that is set.
fn secret_key(s3: &S3Config) -> &'static str {
    match s3.secret_access_key_env {
        Some(_) => "claim_check.s3.secret_access_key_env",
        None => "claim_check.s3.secret_access_key_file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::doctor::Health;

    fn judged(facts: &Facts) -> Finding {
        judge(facts, &Config::defaults().unwrap().claim_check)
    }

    fn folder(listed: io::Result<()>, writable: bool) -> Finding {
        judged(&Facts::Folder {
            path: "/var/contents".into(),
            listed,
            writable,
        })
    }

    #[test]
    fn a_folder_must_be_read_and_may_be_written() {
        assert_eq!(folder(Ok(()), true).health, Health::Ok);
        assert_eq!(folder(Ok(()), false).health, Health::Warning);
        for (kind, remedy) in [
            (io::ErrorKind::NotFound, "make the folder"),
            (io::ErrorKind::NotADirectory, "name a folder"),
            (io::ErrorKind::PermissionDenied, "let the role's user"),
            (io::ErrorKind::StaleNetworkFileHandle, "mount"),
        ] {
            let finding = folder(Err(kind.into()), false);
            assert_eq!(finding.health, Health::Problem);
            assert_eq!(finding.key, FOLDER);
            assert!(finding.found.contains("/var/contents"));
            assert!(
                finding.remedy.contains(remedy),
                "{kind}: {}",
                finding.remedy
            );
        }
    }

    #[test]
    fn each_refusal_of_a_bucket_names_the_key_to_correct() {
        for (why, key) in [
            (NotReadable::NoBucket, "bucket"),
            (NotReadable::UnknownKey, "access_key_id"),
            (NotReadable::WrongSecret, "secret_access_key_file"),
            (NotReadable::OtherRegion, "region"),
            (NotReadable::NotS3, "endpoint"),
        ] {
            let finding = judged(&Facts::Bucket {
                place: "bucket b".into(),
                read: Err(why),
            });
            assert_eq!(finding.health, Health::Problem);
            assert_eq!(finding.key, format!("claim_check.s3.{key}"));
        }
    }

    #[test]
    fn a_store_that_is_set_and_not_chosen_is_a_warning() {
        let unused = judged(&Facts::None {
            unused: Some(FOLDER),
        });
        assert_eq!(unused.health, Health::Warning);
        assert_eq!(judged(&Facts::None { unused: None }).health, Health::Ok);
    }
}
