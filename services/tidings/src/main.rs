//! `tidings`: one binary, a subcommand a role.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod cli;
mod demo;
mod drills;
mod exit;
mod judge;
mod load;
mod prepare;
mod roles;
mod simulator;
mod trace;
mod up;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command, TopicsCommand};
use exit::Exit;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli.command).await {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("tidings: {error:#}");
            Exit::Failed.into()
        }
    }
}

async fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Up(options) => up::run(options).await,
        Command::Demo(options) => demo::run(options).await,
        Command::Relay(options) => roles::relay(options).await,
        Command::Dispatcher(options) => roles::dispatcher(options).await,
        Command::Simulator(options) => simulator::run(options).await,
        Command::Migrate(options) => prepare::migrate(options).await,
        Command::Topics(TopicsCommand::Apply(options)) => prepare::apply_topics(options).await,
        Command::Topics(TopicsCommand::Check(options)) => prepare::check_topics(options).await,
        Command::Drill(drill) => drills::run(drill).await,
        Command::Load(options) => load::run(options).await,
        Command::Judge(options) => judge::run(options).await,
        Command::Trace(options) => trace::run(options).await,
    }
}
