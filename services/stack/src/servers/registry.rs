//! Apicurio Registry, with its Confluent-compatible API.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{NotYet, PartLog, first, java};
use crate::error::StackError;
use crate::part::Part;
use crate::process::Launch;
use crate::programs;

const HEAP: &str = "-Xmx256m";
/// A file, so that ids survive a restart (design §5), written at each commit, so that they survive a kill: by default H2
/// writes half a second later.
const DATABASE_OPTIONS: &str = "WRITE_DELAY=0";

pub(crate) struct Registry {
    java: PathBuf,
    jar: PathBuf,
    folder: PathBuf,
    http: reqwest::Client,
}

impl Registry {
    /// With its files in `folder`, which exists.
    pub(crate) fn new(folder: PathBuf, cache: Option<&Path>) -> Result<Self, StackError> {
        Ok(Self {
            java: programs::java()?,
            jar: programs::registry_jar(cache)?,
            folder,
            http: super::http_client(Part::Registry)?,
        })
    }

    /// The Confluent-compatible API.
    pub(crate) fn url(ports: &[u16]) -> String {
        format!("http://127.0.0.1:{}/apis/ccompat/v7", first(ports))
    }

    /// The connection string of its database in `folder`.
    pub(crate) fn database(folder: &str) -> String {
        format!("jdbc:h2:file:{folder}/data;{DATABASE_OPTIONS}")
    }

    pub(super) fn launch(&self, ports: &[u16]) -> Launch {
        let flags: Vec<OsString> = vec!["-jar".into(), self.jar.clone().into()];
        let environment = vec![
            ("QUARKUS_HTTP_HOST", "127.0.0.1".into()),
            ("QUARKUS_HTTP_PORT", first(ports).to_string().into()),
            ("REGISTRY_DATASOURCE_URL", Self::database(".").into()),
        ];
        Launch {
            environment,
            ..java::launch(&self.java, &self.folder, HEAP, flags)
        }
    }

    /// Its own log says that the port is its own; then it must answer.
    pub(super) async fn look(&self, ports: &[u16], log: &PartLog) -> Result<(), NotYet> {
        if !log.says(&format!("Listening on: http://127.0.0.1:{}", first(ports)))? {
            return Err("it has not said that it listens".into());
        }
        self.http
            .get(format!("{}/subjects", Self::url(ports)))
            .send()
            .await?
            .error_for_status()?;
        Ok(())
    }
}
