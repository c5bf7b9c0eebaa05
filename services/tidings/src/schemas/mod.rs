//! `tidings schemas list|show|check|register`.

mod check;
mod list;
mod register;
mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tidings_edge::config::Config;
use tidings_edge::schemas::{SchemasError, catalogue_of};
use tidings_envelope::Catalogue;

use crate::cli::ConfigOptions;
use crate::exit::Exit;

#[derive(Subcommand)]
pub(crate) enum SchemasCommand {
    /// The event types: versions, owner, policy, subject, and their ids if the registry answers
    List(SchemasOptions),
    /// The composed schema of one version, as it is registered, and data that it takes
    ///
    ///   tidings schemas show order.confirmed 2
    #[command(verbatim_doc_comment)]
    Show(ShowOptions),
    /// Prove that every version reads and writes all that is registered or in its history/; ends with 4 if not
    ///
    /// Names too: events in the past tense, commands (kind = "command" in type.toml) with an imperative. The registry is
    /// asked unless --offline; earlier editions of a v<N>.avsc lie in <event type>/history/v<N>.<edition>.avsc.
    ///
    ///   tidings schemas check --folder ./schemas --offline
    #[command(verbatim_doc_comment)]
    Check(CheckOptions),
    /// Check, then register every version and have the registry keep it FULL_TRANSITIVE; ends with 4 if the check refuses
    Register(SchemasOptions),
}

#[derive(Args)]
pub(crate) struct SchemasOptions {
    #[command(flatten)]
    config: ConfigOptions,
    /// A folder of event types, instead of schemas.folder or the built-in ones
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct ShowOptions {
    #[command(flatten)]
    common: SchemasOptions,
    /// The event type
    event_type: String,
    /// Its version; without it the newest
    version: Option<i32>,
}

#[derive(Args)]
pub(crate) struct CheckOptions {
    #[command(flatten)]
    common: SchemasOptions,
    /// Do not ask the registry: only names and history/
    #[arg(long)]
    offline: bool,
}

pub(crate) async fn run(command: SchemasCommand) -> anyhow::Result<Exit> {
    match command {
        SchemasCommand::List(options) => list::run(&options).await,
        SchemasCommand::Show(options) => show::run(&options),
        SchemasCommand::Check(options) => check::run(&options).await,
        SchemasCommand::Register(options) => register::run(&options).await,
    }
}

/// What the options name.
struct Chosen {
    config: Config,
    /// `None`: the built-in event types.
    folder: Option<PathBuf>,
    catalogue: Result<Catalogue, SchemasError>,
}

impl Chosen {
    fn of(options: &SchemasOptions) -> anyhow::Result<Self> {
        let config = Config::load(options.config.config.as_deref())?;
        let folder = options
            .folder
            .clone()
            .or_else(|| config.schemas.folder.clone());
        let catalogue = catalogue_of(folder.as_deref());
        Ok(Self {
            config,
            folder,
            catalogue,
        })
    }
}
