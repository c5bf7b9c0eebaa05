//! `tidings`: one binary, a subcommand a role.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod bench;
mod capacity;
mod claim_check;
mod cli;
mod completions;
mod configuration;
mod deferred;
mod demo;
mod doctor;
mod drills;
mod exit;
mod judge;
mod limits;
mod load;
mod out;
mod prepare;
mod reload;
mod roles;
mod schemas;
mod simulator;
mod targets;
mod topics;
mod trace;
mod up;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use exit::Exit;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    match run_or_be_interrupted(cli.command).await {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("tidings: {error:#}");
            Exit::Failed.into()
        }
    }
}

/// What runs until it is stopped stops by itself, in order, and that is its end; anything else is interrupted.
async fn run_or_be_interrupted(command: Command) -> anyhow::Result<Exit> {
    let stops_by_itself = matches!(
        command,
        Command::Up(_) | Command::Relay(_) | Command::Dispatcher(_) | Command::Simulator(_)
    );
    if stops_by_itself {
        return run(command).await;
    }
    let interrupted = roles::asked_to_stop()?;
    tokio::select! {
        ended = run(command) => ended,
        () = interrupted => {
            eprintln!("tidings: interrupted");
            // At once: a question to a broker may be out, on a thread that the runtime would wait for.
            std::process::exit(exit::INTERRUPTED.into())
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
        Command::Topics(command) => topics::run(command).await,
        Command::Config(command) => Ok(configuration::run(command)),
        Command::Doctor(options) => doctor::run(options).await,
        Command::Completions(options) => Ok(completions::run(&options)),
        Command::Bench(command) => bench::run(command).await,
        Command::Drill(drill) => drills::run(drill).await,
        Command::Schemas(command) => schemas::run(command).await,
        Command::ClaimCheck(command) => claim_check::run(command).await,
        Command::Limits(options) => limits::run(*options).await,
        Command::Deferred(command) => deferred::run(command).await,
        Command::Capacity(options) => capacity::run(options).await,
        Command::Targets(command) => targets::run(command).await,
        Command::Load(options) => load::run(options).await,
        Command::Judge(options) => judge::run(options).await,
        Command::Trace(options) => trace::run(options).await,
    }
}
