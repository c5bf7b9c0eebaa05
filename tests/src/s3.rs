//! A server that speaks S3's protocol over HTTP and checks signatures and rights (tests/python/s3).
#![allow(clippy::unwrap_used)] // a test that cannot begin fails here

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::languages::{Language, find, python, repository};
use serde_json::Value;

/// A running server; it ends with this.
pub struct S3 {
    endpoint: String,
    bucket: String,
    access_key_id: String,
    /// The secret of its only key.
    pub secret_access_key: String,
    server: Child,
}

impl S3 {
    /// A server with a bucket and a key for it; `None` where there is no Python to run it, which is then said.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start() -> Option<Self> {
        let toolchain = find(Language::Python)?;
        let folder = repository().join("tests/python/s3");
        let interpreter = python(&toolchain, &folder.join("requirements.txt")).unwrap();
        let mut server = Command::new(interpreter)
            .arg(folder.join("server.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut reader = BufReader::new(server.stdout.take().unwrap());
        reader.read_line(&mut said).unwrap();
        let said: Value = serde_json::from_str(&said).unwrap();
        let text = |field: &str| said[field].as_str().unwrap().to_owned();
        Some(Self {
            endpoint: text("endpoint"),
            bucket: text("bucket"),
            access_key_id: text("access_key_id"),
            secret_access_key: text("secret_access_key"),
            server,
        })
    }

    /// The configuration of a store in its bucket.
    #[must_use]
    pub fn settings(&self, secret_file: &Path) -> String {
        format!(
            "[claim_check]\nstore = \"s3\"\n\n[claim_check.s3]\nendpoint = \"{}\"\nbucket = \"{}\"\naccess_key_id = \"{}\"\nsecret_access_key_file = \"{}\"\n",
            self.endpoint,
            self.bucket,
            self.access_key_id,
            secret_file.display(),
        )
    }
}

impl Drop for S3 {
    /// It ends when its input does, so a killed test leaves none behind either.
    fn drop(&mut self) {
        drop(self.server.stdin.take());
        let _ = self.server.wait();
    }
}
