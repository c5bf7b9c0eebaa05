//! A deployment of one test's own, prepared and without roles.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use tidings_drill::{Deployment, DeploymentOptions, Profile};
use tidings_edge::config::Config;
use tidings_stack::Stack;
use tidings_tests::binary;
use tokio::process::Command;
use uuid::Uuid;

use crate::diagnosis::Diagnosis;

pub struct World {
    pub deployment: Deployment,
    pub folder: PathBuf,
    /// The token's file of the only account.
    pub token_file: PathBuf,
}

impl World {
    pub async fn new() -> Self {
        let stack = Stack::shared().await.unwrap();
        let folder =
            std::env::temp_dir().join(format!("tidings-doctor-{}", Uuid::new_v4().simple()));
        let mut options = DeploymentOptions::new(binary(), folder.clone());
        options.profile = Profile::drill();
        let deployment = Deployment::prepare(stack, options).await.unwrap();
        let account = &deployment.config().unwrap().accounts["telegram:main"];
        let token_file = account.token_file.clone().unwrap();
        fs::set_permissions(&token_file, Permissions::from_mode(0o600)).unwrap();
        Self {
            deployment,
            folder,
            token_file,
        }
    }

    pub fn config(&self) -> Config {
        self.deployment.config().unwrap()
    }

    /// Asks the doctor, with variables over the deployment's configuration.
    pub async fn doctor(&self, variables: &[(&str, &str)]) -> Diagnosis {
        self.doctor_of(self.deployment.config_file().to_owned(), variables)
            .await
    }

    /// The same with further text in the configuration file.
    pub async fn doctor_with(&self, more: &str, variables: &[(&str, &str)]) -> Diagnosis {
        let text = fs::read_to_string(self.deployment.config_file()).unwrap();
        let file = self.folder.join("other.toml");
        fs::write(&file, format!("{text}\n{more}\n")).unwrap();
        self.doctor_of(file, variables).await
    }

    async fn doctor_of(&self, file: PathBuf, variables: &[(&str, &str)]) -> Diagnosis {
        let output = Command::new(binary())
            .args(["doctor", "--json", "--deadline", "60", "--config"])
            .arg(file)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .output()
            .await
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let findings = text.lines().map(|line| serde_json::from_str(line).unwrap());
        Diagnosis {
            code: output.status.code(),
            findings: findings.collect(),
            output: format!("{text}{errors}"),
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// A port of this machine where nobody listens.
pub async fn closed_port() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().port()
}
