//! Who may read the files that hold secrets.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::Finding;

pub(super) const CHECK: &str = "secret files";

/// The permission of everybody to read.
const WORLD_READABLE: u32 = 0o004;

/// A file that a key points at.
#[derive(Debug)]
pub(super) struct SecretFile {
    key: String,
    path: PathBuf,
    mode: u32,
}

/// Those that are not there are problems of the configuration.
pub(super) fn gather(files: &[(String, PathBuf)]) -> Vec<SecretFile> {
    let there = files.iter().filter_map(|(key, path)| {
        let mode = std::fs::metadata(path).ok()?.mode();
        Some(SecretFile {
            key: key.clone(),
            path: path.clone(),
            mode,
        })
    });
    there.collect()
}

/// Warnings, not problems: in a container with one user and Kubernetes' default mode 0644 nobody else is there to read.
pub(super) fn judge(files: &[SecretFile]) -> Vec<Finding> {
    let open = files.iter().filter(|file| file.mode & WORLD_READABLE != 0);
    let findings: Vec<Finding> = open
        .map(|file| {
            Finding::warning(
                CHECK,
                &file.key,
                format!(
                    "every user of this machine may read {}",
                    file.path.display()
                ),
                format!(
                    "chmod 600 {} and give it to the user of the role",
                    file.path.display()
                ),
            )
        })
        .collect();
    match findings.as_slice() {
        [] => vec![Finding::ok(
            CHECK,
            format!("{} file(s), none readable by everybody", files.len()),
        )],
        [..] => findings,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Health;

    fn judged(mode: u32) -> Finding {
        let file = SecretFile {
            key: "accounts.\"telegram:main\".token_file".into(),
            path: "/run/token".into(),
            mode,
        };
        judge(&[file]).remove(0)
    }

    #[test]
    fn a_file_that_everybody_may_read_is_named_with_the_remedy() {
        let finding = judged(0o100_644);
        assert_eq!(finding.health, Health::Warning);
        assert!(finding.key.contains("token_file"));
        assert!(finding.remedy.contains("chmod 600 /run/token"));
        for closed in [0o100_600, 0o100_640] {
            assert_eq!(judged(closed).health, Health::Ok);
        }
    }
}
