//! PostgreSQL: a private cluster from the system's programs.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::time::Instant;

use tokio_postgres::NoTls;

use super::{NotYet, PartLog, first, run_tool};
use crate::error::StackError;
use crate::part::Part;
use crate::process::{Launch, OwnProcess, User, postgres_user};
use crate::programs;

pub(crate) struct Postgres {
    programs: PathBuf,
    folder: PathBuf,
    user: Option<User>,
}

impl Postgres {
    /// The user that owns everything.
    pub(crate) const SUPERUSER: &str = "tidings";
    /// The database that every cluster has.
    pub(crate) const MAINTENANCE: &str = "postgres";
    /// The database that a stack's address names.
    pub(crate) const DEFAULT: &str = "tidings";

    /// With its files in `folder`, which exists.
    pub(crate) fn new(folder: PathBuf) -> Result<Self, StackError> {
        let programs = programs::postgres_folder()?;
        let user =
            postgres_user().map_err(StackError::process(Part::Postgres, "find a user for"))?;
        if let Some(user) = user {
            check_way_to(&folder, user)?;
            chown(&folder, Some(user.uid), Some(user.gid))
                .map_err(StackError::file("hand over", &folder))?;
        }
        Ok(Self {
            programs,
            folder,
            user,
        })
    }

    /// The connection string of a database.
    pub(crate) fn url(port: u16, database: &str) -> String {
        format!(
            "postgresql://{}@127.0.0.1:{port}/{database}",
            Self::SUPERUSER
        )
    }

    pub(super) async fn prepare(&self, log: &PartLog, deadline: Instant) -> Result<(), StackError> {
        if self.data().exists() {
            return Ok(());
        }
        // Into another folder first: what a killed initdb has left is never taken for a cluster.
        let unfinished = self.folder.join("unfinished");
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(StackError::file("remove", &unfinished))?;
        }
        let arguments = [
            "--no-sync",
            "--auth=trust",
            "--username",
            Self::SUPERUSER,
            "--encoding=UTF8",
            "--locale=C",
            "--pgdata",
        ];
        let arguments = arguments
            .map(OsString::from)
            .into_iter()
            .chain([unfinished.clone().into()])
            .collect();
        run_tool(
            Part::Postgres,
            self.launch_program("initdb", arguments),
            log,
            deadline,
        )
        .await?;
        fs::rename(&unfinished, self.data()).map_err(StackError::file("rename", &unfinished))
    }

    pub(super) fn launch(&self, ports: &[u16]) -> Launch {
        let settings = [
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={}", first(ports)),
            // The path of a socket may have 107 bytes only, and a folder here may be deep.
            "unix_socket_directories=".to_owned(),
            "max_connections=300".to_owned(),
            // In a file of the cluster, not in /dev/shm, where a kill would leave it.
            "dynamic_shared_memory_type=mmap".to_owned(),
            "log_line_prefix=%m [%p] %a ".to_owned(),
        ];
        let mut arguments: Vec<OsString> = vec!["-D".into(), self.data().into()];
        arguments.extend(
            settings
                .into_iter()
                .flat_map(|setting| ["-c".into(), setting.into()]),
        );
        self.launch_program("postgres", arguments)
    }

    /// The server's own file says whose port it is; then a question of ours.
    pub(super) async fn look(&self, ports: &[u16], process: &OwnProcess) -> Result<(), NotYet> {
        let status = fs::read_to_string(self.data().join("postmaster.pid"))?;
        if !is_ready(&status, process.identity().pid) {
            return Err("it has not said that it is ready".into());
        }
        let (client, connection) =
            tokio_postgres::connect(&Self::url(first(ports), Self::MAINTENANCE), NoTls).await?;
        let connection = tokio::spawn(connection);
        client.simple_query("SELECT 1").await?;
        drop(client);
        Ok(connection.await??)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn launch_program(&self, program: &str, arguments: Vec<OsString>) -> Launch {
        Launch {
            program: self.programs.join(program),
            arguments,
            environment: vec![("LC_ALL", "C".into())],
            working_folder: self.folder.clone(),
            user: self.user,
            // "Immediate" shutdown: as a crash, but its shared memory is freed.
            death_signal: libc::SIGQUIT,
        }
    }
}

/// `postmaster.pid`, as pg_ctl reads it: the process on line 1, the state on line 8.
fn is_ready(status: &str, pid: u32) -> bool {
    let mut lines = status.lines();
    let of_ours = lines
        .next()
        .is_some_and(|line| line.trim() == pid.to_string());
    of_ours && lines.nth(6).is_some_and(|line| line.trim() == "ready")
}

/// Refuses a folder that `user` cannot reach, where initdb would only say "permission denied".
fn check_way_to(folder: &Path, user: User) -> Result<(), StackError> {
    for above in folder.ancestors().skip(1) {
        let metadata = fs::metadata(above).map_err(StackError::file("look at", above))?;
        let needed = match (metadata.uid() == user.uid, metadata.gid() == user.gid) {
            (true, _) => 0o100,
            (false, true) => 0o010,
            (false, false) => 0o001,
        };
        if metadata.mode() & needed == 0 {
            return Err(StackError::FolderClosed {
                folder: above.to_owned(),
                user: "postgres".to_owned(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn readiness_is_that_of_our_process() {
        let status = "4711\n/data\n1700000000\n5432\n\n127.0.0.1\n 123 4\nready   \n";
        assert!(is_ready(status, 4711));
        assert!(!is_ready(status, 4712));
        assert!(!is_ready(&status.replace("ready", "starting"), 4711));
        assert!(!is_ready("", 4711));
    }

    #[test]
    fn a_closed_folder_on_the_way_is_named() {
        let closed = std::env::temp_dir().join(format!(
            "stack-closed-{}-{}",
            std::process::id(),
            rand::random::<u32>()
        ));
        fs::create_dir(&closed).unwrap();
        let nobody = User {
            uid: u32::MAX - 1,
            gid: u32::MAX - 1,
        };
        fs::set_permissions(&closed, Permissions::from_mode(0o711)).unwrap();
        assert!(check_way_to(&closed.join("postgres"), nobody).is_ok());
        fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
        let problem = check_way_to(&closed.join("postgres"), nobody).unwrap_err();
        assert!(matches!(problem, StackError::FolderClosed { folder, .. } if folder == closed));
        fs::remove_dir(closed).unwrap();
    }
}
