//! `tidings deferred`: the chats whose messages wait in the state database, and what an operator may do about them
//! (design §8).

mod change;
mod list;
mod options;
mod show;
mod store;
mod words;

use tidings_edge::config::Config;

use crate::exit::Exit;
pub(crate) use options::DeferredCommand;
use options::{Common, Which};
use store::Store;

pub(crate) async fn run(command: DeferredCommand) -> anyhow::Result<Exit> {
    match command {
        DeferredCommand::List(options) => list::run(&options).await,
        DeferredCommand::Show(options) => show::run(&options).await,
        DeferredCommand::RetryNow(options) => change::retry_now(&options).await,
        DeferredCommand::DeadLetter(options) => change::dead_letter(&options).await,
    }
}

async fn open(common: &Common, which: &Which) -> anyhow::Result<Store> {
    let config = Config::load(common.config.config.as_deref())?;
    Store::open(&config, which.filter()).await
}

fn nothing_matched() -> Exit {
    eprintln!(
        "no deferred chat matches; `tidings deferred list` shows all, and a chat that goes on again is not deferred any more"
    );
    Exit::NothingMatched
}
