//! `tidings targets`: the chats and threads that are known to be dead or to have moved, and what an operator may do about
//! them (design §8).

mod clear;
mod list;
mod options;

use tidings_edge::config::Config;
use tidings_edge::postgres;
use tidings_edge::targets::TargetStore;

use crate::cli::ConfigOptions;
use crate::exit::Exit;
pub(crate) use options::TargetsCommand;

/// Connections to the state database.
const CONNECTIONS: usize = 1;

pub(crate) async fn run(command: TargetsCommand) -> anyhow::Result<Exit> {
    match command {
        TargetsCommand::List(options) => list::run(&options).await,
        TargetsCommand::Clear(options) => clear::run(&options).await,
    }
}

fn open(options: &ConfigOptions) -> anyhow::Result<TargetStore> {
    let config = Config::load(options.config.as_deref())?;
    let pool = postgres::pool(&config.state, "tidings-targets", CONNECTIONS)?;
    Ok(TargetStore::new(pool))
}

fn refuse(problem: &str) -> Exit {
    eprintln!("refused: {problem}; nothing was changed");
    Exit::Refused
}
