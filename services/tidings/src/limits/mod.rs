//! `tidings limits`: what every worker knows of each account's limits, and what an operator may change about them.

mod change;
mod log;
mod options;
mod show;
mod words;

use std::time::Duration;

use tidings_edge::config::Config;
use tidings_edge::rate_limit::{LimitLog, View};

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

/// Each account as the log has it; `None` if there is nothing to be seen of any.
///
/// # Errors
/// The topic does not fit, or was not read to its end within `kafka.admin_timeout`.
pub(crate) async fn in_force(config: &Config) -> anyhow::Result<Option<View>> {
    let started = LimitLog::look(config).await;
    let Ok(log) = log::Log::read(started, config, Duration::ZERO).await? else {
        return Ok(None);
    };
    let view = log.limits.view();
    log.close().await;
    Ok(Some(view))
}
