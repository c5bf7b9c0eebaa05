//! `tidings bench limit`, and `tidings drill limit`, which runs it with each thing that may go wrong.
//!
//! Reading order: `plan` (what is run), `scenarios` (the drill's plans), `run`, `rig` (the processes), `clocks`, `feed`, `chaos`, then what is
//! made of it: `calls` (what the platform saw), `waits` (what the dispatchers logged), `figures`, `bounds`.

mod bounds;
mod calls;
mod chaos;
mod clocks;
mod feed;
mod figures;
mod options;
mod plan;
mod rig;
mod run;
mod scenarios;
mod spans;
mod waits;

use std::path::{Path, PathBuf};

use anyhow::bail;
use tidings_stack::{Stack, StackOptions, StackSource};

use crate::exit::Exit;
use crate::out;
pub(crate) use options::{LimitBenchOptions, LimitDrillOptions};
use plan::Plan;

pub(crate) async fn run(options: LimitBenchOptions) -> anyhow::Result<Exit> {
    let json = options.json;
    let stack = start_stack().await?;
    let folder = folder(&stack, options.folder.as_deref())?;
    let kept = measured(&stack, &folder, options.plan(), json).await?;
    stack.stop().await?;
    Ok(if kept { Exit::Done } else { Exit::Failed })
}

/// The scenarios of the drill, or those that are named, one after another.
pub(crate) async fn drill(options: LimitDrillOptions) -> anyhow::Result<Exit> {
    let plans = scenarios::all();
    if options.list {
        plans.iter().for_each(|plan| out::line(plan.name));
        return Ok(Exit::Done);
    }
    let unknown = |name: &&String| plans.iter().all(|plan| plan.name != name.as_str());
    if let Some(name) = options.only.iter().find(unknown) {
        bail!("--only {name}: no such scenario; `tidings drill limit --list` names them");
    }
    let wanted =
        |plan: &Plan| options.only.is_empty() || options.only.iter().any(|name| name == plan.name);
    let stack = start_stack().await?;
    let folder = folder(&stack, options.folder.as_deref())?;
    let mut kept = true;
    for plan in plans.into_iter().filter(wanted) {
        let name = plan.name;
        match measured(&stack, &folder, plan, true).await {
            Ok(this) => kept &= this,
            // One that could not be run must not keep the others from being run.
            Err(error) => {
                kept = false;
                let error = format!("{error:#}");
                out::line(
                    serde_json::json!({"bench": "limit", "scenario": name, "ok": false, "error": error}),
                );
            }
        }
    }
    stack.stop().await?;
    Ok(if kept { Exit::Done } else { Exit::Failed })
}

async fn start_stack() -> anyhow::Result<Stack> {
    Ok(StackSource::from_env()?
        .start(StackOptions::default())
        .await?)
}

/// Where settings and logs lie: with the stack, and gone with it, unless a folder is given.
fn folder(stack: &Stack, given: Option<&Path>) -> anyhow::Result<PathBuf> {
    Ok(match (given, stack.folder()) {
        (Some(given), _) => std::path::absolute(given)?,
        (None, Some(stacks)) => stacks.join("bench"),
        (None, None) => std::env::temp_dir(),
    })
}

/// Runs one plan and prints what was seen. True when every promise was kept.
async fn measured(stack: &Stack, folder: &Path, plan: Plan, json: bool) -> anyhow::Result<bool> {
    let line = run::run(stack, folder.to_owned(), plan).await?;
    if json {
        out::line(&line.json);
    } else {
        out::line(line.table());
    }
    Ok(line.kept)
}
