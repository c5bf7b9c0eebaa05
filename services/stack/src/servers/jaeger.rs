//! Jaeger: takes spans by OTLP, keeps them in memory, answers the query API.

use std::fs;
use std::path::{Path, PathBuf};

use super::{NotYet, PartLog};
use crate::error::StackError;
use crate::part::Part;
use crate::process::Launch;
use crate::programs;

/// The query API's, OTLP's over HTTP, and both over gRPC.
pub(super) const PORTS: usize = 4;
/// The oldest are forgotten beyond it: about 500 MB of traces with ten spans each.
const MAX_TRACES: u32 = 50_000;
const SETTINGS: &str = include_str!("../../files/jaeger.yaml");
const SETTINGS_FILE: &str = "jaeger.yaml";

pub(crate) struct Jaeger {
    program: PathBuf,
    folder: PathBuf,
    http: reqwest::Client,
}

impl Jaeger {
    /// With its files in `folder`, which exists.
    pub(crate) fn new(folder: PathBuf, cache: Option<&Path>) -> Result<Self, StackError> {
        let program = programs::jaeger(cache)?;
        Ok(Self {
            program,
            folder,
            http: super::http_client(Part::Jaeger)?,
        })
    }

    /// The query API and the pages.
    pub(crate) fn query_url(ports: &[u16]) -> Option<String> {
        ports.first().map(|port| format!("http://127.0.0.1:{port}"))
    }

    /// What `OTEL_EXPORTER_OTLP_ENDPOINT` is set to, for the protocol http/protobuf.
    pub(crate) fn otlp_url(ports: &[u16]) -> Option<String> {
        ports.get(1).map(|port| format!("http://127.0.0.1:{port}"))
    }

    pub(super) fn prepare(&self, ports: &[u16]) -> Result<(), StackError> {
        let path = self.folder.join(SETTINGS_FILE);
        fs::write(&path, settings(ports)).map_err(StackError::file("write", path))
    }

    pub(super) fn launch(&self) -> Launch {
        Launch {
            program: self.program.clone(),
            arguments: vec!["--config".into(), SETTINGS_FILE.into()],
            environment: Vec::new(),
            working_folder: self.folder.clone(),
            user: None,
            death_signal: libc::SIGKILL,
        }
    }

    /// Its own log says that the ports are its own; then it must answer.
    pub(super) async fn look(&self, ports: &[u16], log: &PartLog) -> Result<(), NotYet> {
        if !log.says("Everything is ready")? {
            return Err("it has not said that it is ready".into());
        }
        let url = Self::query_url(ports).unwrap_or_default();
        self.http
            .get(format!("{url}/api/services"))
            .send()
            .await?
            .error_for_status()?;
        Ok(())
    }
}

fn settings(ports: &[u16]) -> String {
    let port = |index: usize| ports.get(index).copied().unwrap_or_default().to_string();
    SETTINGS
        .replace("@max_traces@", &MAX_TRACES.to_string())
        .replace("@query_port@", &port(0))
        .replace("@otlp_port@", &port(1))
        .replace("@query_grpc_port@", &port(2))
        .replace("@otlp_grpc_port@", &port(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_is_filled() {
        let settings = settings(&[1_001, 1_002, 1_003, 1_004]);
        assert!(!settings.contains('@'), "{settings}");
        for port in 1_001..=1_004 {
            assert_eq!(settings.matches(&format!(":{port}")).count(), 1);
        }
    }
}
