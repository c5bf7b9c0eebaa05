//! `tidings limits`: what every worker knows of each account's limits, and what an operator may change about them.

mod change;
mod log;
mod options;
mod show;
mod words;

use crate::exit::Exit;
use options::LimitsCommand;
pub(crate) use options::LimitsOptions;

pub(crate) async fn run(options: LimitsOptions) -> anyhow::Result<Exit> {
    match &options.command {
        None => show::run(&options).await,
        Some(LimitsCommand::Set(set)) => change::set(set).await,
        Some(LimitsCommand::Penalise(penalise)) => change::penalise(penalise).await,
        Some(LimitsCommand::Reset(reset)) => change::reset(reset).await,
    }
}
