use std::path::PathBuf;
use std::process::Stdio;

use anyhow::Context as _;
use serde_json::Value;
use tidings_drill::Place;
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

/// What the judge said.
pub(crate) struct Verdict {
    /// The promise was kept.
    pub(crate) kept: bool,
    /// For people.
    pub(crate) table: String,
    /// The last line.
    pub(crate) json: Value,
}

/// Has a run of a deployment judged; `arguments` say what was done to it.
pub(crate) async fn verdict(
    place: &Place,
    run: &str,
    arguments: &[String],
) -> anyhow::Result<Verdict> {
    let judge = command()?
        .env("TIDINGS_JUDGE_UPSTREAM", &place.upstream_url)
        .env("TIDINGS_JUDGE_STATE", &place.state_url)
        .args(["--simulator", &place.simulator_url])
        .args(["--brokers", &place.brokers, "--prefix", &place.prefix])
        .args(["--group", &place.group, "--run", run])
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .context("tidings-judge can not be run")?;
    let judged = judge.wait_with_output().await?;
    let words = String::from_utf8_lossy(&judged.stdout);
    let words = words.trim_end();
    let (table, json) = words.rsplit_once('\n').unwrap_or(("", words));
    Ok(Verdict {
        kept: judged.status.success(),
        table: table.to_owned(),
        json: serde_json::from_str(json).context("tidings-judge's last line is no JSON")?,
    })
}

/// The program beside this one.
fn command() -> anyhow::Result<Command> {
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
