//! Measurements on real parts. Each prints one JSON line and ends with 1 if a promise is broken.

pub(crate) mod limit;

use clap::Subcommand;

use crate::exit::Exit;
use limit::LimitBenchOptions;

#[derive(Subcommand)]
pub(crate) enum BenchCommand {
    /// Dispatchers that share accounts' limits: how much of them they use, and whether they keep them
    ///
    /// Starts a stack, a relay, dispatchers and a simulated platform that counts each call beyond its limits. First single
    /// messages on an idle account, then as much as the accounts can take.
    ///
    ///   tidings bench limit --workers 4 --accounts 1 --seconds 60
    ///   tidings bench limit --workers 4 --seconds 60 --chaos kill --json
    #[command(verbatim_doc_comment)]
    Limit(LimitBenchOptions),
}

pub(crate) async fn run(command: BenchCommand) -> anyhow::Result<Exit> {
    match command {
        BenchCommand::Limit(options) => limit::run(options).await,
    }
}
