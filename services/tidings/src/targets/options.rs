//! The arguments of `tidings targets`.

use clap::{Args, Subcommand};

use crate::cli::ConfigOptions;

#[derive(Subcommand)]
pub(crate) enum TargetsCommand {
    /// Dead and moved targets, those that changed last first: since when, why, and when a message probes them
    ///
    ///   tidings targets list --account telegram:main
    ///   tidings targets list --json | jq 'select(.kind == "migrated") | {chat_id, new_chat_id}'
    #[command(verbatim_doc_comment)]
    List(ListOptions),
    /// Forget that a target is dead or has moved: the next message is sent there again
    ///
    /// Every worker knows within 2 s. Messages that were settled as undeliverable stay so.
    ///
    ///   tidings targets clear telegram:main --chat 4711 --reason 'they unblocked us'
    ///   tidings targets clear telegram:main --chat -1001 --thread 7 --reason 'topic reopened'
    ///   tidings targets clear telegram:main --all --reason 'wrong token, ticket 12'
    #[command(verbatim_doc_comment)]
    Clear(ClearOptions),
}

#[derive(Args)]
pub(crate) struct ListOptions {
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    /// Only those of this account, as platform:alias
    #[arg(long)]
    pub(super) account: Option<String>,
    /// The most to print
    #[arg(long, default_value_t = 1_000)]
    pub(super) limit: u32,
    /// Print one JSON object a line
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args)]
pub(crate) struct ClearOptions {
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    /// The account, as platform:alias
    pub(super) account: String,
    /// The chat's id
    #[arg(long, allow_hyphen_values = true, required_unless_present = "all")]
    pub(super) chat: Option<String>,
    /// Only this thread of it
    #[arg(long, requires = "chat")]
    pub(super) thread: Option<String>,
    /// All targets of the account
    #[arg(long, conflicts_with_all = ["chat", "thread"])]
    pub(super) all: bool,
    /// Why; kept with the target
    #[arg(long)]
    pub(super) reason: String,
    /// Who wants it; kept with the target
    #[arg(long, env = "USER")]
    pub(super) operator: String,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// Platform and alias of an account's name; `None` for what is no account's name.
pub(super) fn account(name: &str) -> Option<(&str, &str)> {
    let (platform, alias) = name.split_once(':')?;
    (!platform.is_empty() && !alias.is_empty()).then_some((platform, alias))
}
