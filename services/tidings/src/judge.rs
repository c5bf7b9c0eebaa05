use std::path::PathBuf;
use std::process::Stdio;

use anyhow::Context as _;
use tokio::process::Command;

use crate::cli::JudgeOptions;
use crate::exit::Exit;

/// Hands over to the judge's own program: it shares no code with what it judges.
pub(crate) async fn run(options: JudgeOptions) -> anyhow::Result<Exit> {
    let status = command()?
        .args(options.arguments)
        .status()
        .await
        .context("tidings-judge can not be run")?;
    std::process::exit(status.code().unwrap_or(1));
}

/// The program beside this one.
pub(crate) fn command() -> anyhow::Result<Command> {
    let own = std::env::current_exe().context("the path of this program is not known")?;
    let judge: PathBuf = own.with_file_name("tidings-judge");
    anyhow::ensure!(
        judge.exists(),
        "{} is missing; build it with `cargo build -p tidings-judge`",
        judge.display()
    );
    let mut command = Command::new(judge);
    command.stdin(Stdio::null()).kill_on_drop(true);
    Ok(command)
}
