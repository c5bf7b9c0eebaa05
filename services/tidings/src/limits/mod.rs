//! `tidings limits`: what every worker knows of each account's limits, and what an operator may change about them.

mod change;
mod options;
mod show;
mod words;

use std::time::Duration;

use anyhow::Context as _;
use tidings_edge::config::Config;
use tidings_edge::rate_limit::{LimitLog, LimitLogError, Limits, Mode, Notice, Notices, View};

use crate::exit::Exit;
use options::LimitsCommand;
pub(crate) use options::LimitsOptions;

/// The longest that closing the clients is waited for.
const CLOSE: Duration = Duration::from_secs(5);

pub(crate) async fn run(options: LimitsOptions) -> anyhow::Result<Exit> {
    match &options.command {
        None => show::run(&options).await,
        Some(LimitsCommand::Set(set)) => change::set(set).await,
        Some(LimitsCommand::Penalise(penalise)) => change::penalise(penalise).await,
        Some(LimitsCommand::Reset(reset)) => change::reset(reset).await,
    }
}

/// Each account as the log has it; `None` if the log holds nothing yet.
///
/// # Errors
/// The topic does not fit, or was not read to its end within `kafka.admin_timeout`.
pub(crate) async fn in_force(config: &Config) -> anyhow::Result<Option<View>> {
    let started = LimitLog::look(config).await;
    let Some(log) = Log::read(started, config).await? else {
        return Ok(None);
    };
    let view = log.limits.view();
    log.close().await;
    Ok(Some(view))
}

/// A client of the log that is at its end.
struct Log {
    log: LimitLog,
    limits: Limits,
}

impl Log {
    /// Waits until the log was read, not longer than `kafka.admin_timeout`; `None` if there is nothing to read from.
    async fn read(
        started: Result<(LimitLog, Limits, Notices), LimitLogError>,
        config: &Config,
    ) -> anyhow::Result<Option<Self>> {
        let (log, limits, mut notices) = started?;
        let live = tokio::time::timeout(config.kafka.admin_timeout, live(&mut notices)).await;
        let read = Self { log, limits };
        match live {
            Ok(Ok(())) => Ok(Some(read)),
            Ok(Err(error)) => Err(error),
            Err(_) if matches!(read.limits.mode(), Mode::Searching) => {
                read.close().await;
                Ok(None)
            }
            Err(error) => Err(error).context(
                "the rate-limit topic could not be read to its end within kafka.admin_timeout",
            ),
        }
    }

    async fn close(self) {
        // The process ends soon anyway.
        let _ = self.log.stop(CLOSE).await;
    }
}

async fn live(notices: &mut Notices) -> anyhow::Result<()> {
    loop {
        match notices.recv().await {
            Notice::Mode(Mode::Live) => return Ok(()),
            Notice::Mode(Mode::Stopped(why)) => return Err(why.into()),
            Notice::Mode(Mode::Searching | Mode::Replaying | Mode::Closed(_))
            | Notice::Granted { .. }
            | Notice::Voided { .. }
            | Notice::Declined(_)
            | Notice::Waiting { .. } => {}
        }
    }
}
