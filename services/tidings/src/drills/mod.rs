//! Drills: faults on real parts under load, judged. Each prints one JSON line a round and ends with 1 if any breaks.

mod crashes;
mod fault;
mod rebalances;

use crate::cli::DrillCommand;
use crate::exit::Exit;

pub(crate) async fn run(drill: DrillCommand) -> anyhow::Result<Exit> {
    match drill {
        DrillCommand::Crashes(options) => crashes::run(options).await,
        DrillCommand::Rebalances(options) => rebalances::run(options).await,
        DrillCommand::Limit(options) => crate::bench::limit::drill(options).await,
    }
}
