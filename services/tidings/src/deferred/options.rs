//! The arguments of `tidings deferred`.

use clap::{Args, Subcommand};

use super::store::Filter;
use crate::cli::ConfigOptions;

#[derive(Subcommand)]
pub(crate) enum DeferredCommand {
    /// The deferred chats: how many messages wait, until when, and why
    ///
    ///   tidings deferred list --account telegram:main
    ///   tidings deferred list --json | jq 'select(.state == "held")'
    #[command(verbatim_doc_comment)]
    List(ListOptions),
    /// The messages of deferred chats in their order, with attempts so far; not what they say
    ///
    ///   tidings deferred show --chat 4711
    #[command(verbatim_doc_comment)]
    Show(ShowOptions),
    /// Try deferred chats now, held ones too; in order, under the shared limits
    ///
    /// A worker sees it within dispatcher.deferred_poll. A message that fails again waits again.
    ///
    ///   tidings deferred retry-now --chat 4711 --reason 'they unblocked us'
    ///   tidings deferred retry-now --account telegram:main --reason 'platform is back'
    #[command(verbatim_doc_comment)]
    RetryNow(ChangeOptions),
    /// Give up what deferred chats have: every message that waits becomes a dead letter, in order, without a call
    ///
    /// What arrives after that goes the usual way. Dead letters keep the record byte for byte, with the reason. A message
    /// that is being sent at this moment may still be delivered.
    ///
    ///   tidings deferred dead-letter --chat 4711 --reason 'ticket 4711: wrong chat'
    #[command(verbatim_doc_comment)]
    DeadLetter(ChangeOptions),
}

#[derive(Args)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    /// Print one JSON object a line
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args)]
pub(crate) struct Which {
    /// Only what came from this topic (a chat waits in each lane apart)
    #[arg(long)]
    topic: Option<String>,
    /// Only chats of this platform
    #[arg(long)]
    platform: Option<String>,
    /// Only chats of this account, as platform:alias
    #[arg(long)]
    account: Option<String>,
    /// Only this chat: its id on the platform, or platform:alias:id
    #[arg(long, allow_hyphen_values = true)]
    chat: Option<String>,
}

impl Which {
    pub(super) fn filter(&self) -> Filter {
        Filter {
            topic: self.topic.clone(),
            platform: self.platform.clone(),
            account: self.account.clone(),
            chat: self.chat.clone(),
        }
    }
}

#[derive(Args)]
pub(crate) struct ListOptions {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) which: Which,
    /// The most chats that are printed, those due first
    #[arg(long, default_value_t = 1_000)]
    pub(super) limit: u32,
}

#[derive(Args)]
pub(crate) struct ShowOptions {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) which: Which,
    /// The most messages that are printed
    #[arg(long, default_value_t = 100)]
    pub(super) limit: u32,
}

#[derive(Args)]
pub(crate) struct ChangeOptions {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) which: Which,
    /// All deferred chats; without it give at least one of --topic, --platform, --account, --chat
    #[arg(long, conflicts_with_all = ["topic", "platform", "account", "chat"],
          required_unless_present_any = ["topic", "platform", "account", "chat"])]
    all: bool,
    /// Why; kept with the deferral, and in the dead letters
    #[arg(long)]
    pub(super) reason: String,
    /// Who wants it; kept likewise
    #[arg(long, env = "USER")]
    pub(super) operator: String,
    /// Only print which chats it would be
    #[arg(long)]
    pub(super) dry_run: bool,
}
