//! The arguments of `tidings limits`.

use std::time::Duration;

use clap::{Args, Subcommand};
use tidings_edge::config::{LimitsProposal, WindowLimit};
use tidings_edge::rate_limit::Target;

use crate::cli::ConfigOptions;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LimitsOptions {
    #[command(subcommand)]
    pub(super) command: Option<LimitsCommand>,
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    /// Only this account, as platform:alias
    #[arg(long)]
    pub(super) account: Option<String>,
    /// Have a running dispatcher write down what it knows, if the topic's records were deleted
    #[arg(long)]
    pub(super) ask: bool,
    /// Print one JSON object a line: each account, then each hold of a platform's whole address
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum LimitsCommand {
    /// Give an account other limits, while everything runs
    ///
    /// All that is given holds at once, together with the platform's exact limits (unless --no-exact). What was sent before
    /// counts under the new limits, so that nothing bursts.
    ///
    ///   tidings limits set telegram:main --preset telegram-source --reason 'stay well below'
    ///   tidings limits set telegram:main --window 20/1s --chat 1/2s --reason 'ticket 4711'
    ///   tidings limits set whatsapp:shop --rate 80 --burst 80 --reason 'tier raised'
    #[command(verbatim_doc_comment)]
    Set(SetOptions),
    /// Hold an account, one of its chats, or all accounts of its platform, as a 429 does
    ///
    ///   tidings limits penalise telegram:main --chat 4711 --for 10m --reason 'they asked us to pause'
    #[command(verbatim_doc_comment)]
    Penalise(PenaliseOptions),
    /// End holds: a chat's; an account's with all its chats'; with --address those of the platform's whole address
    ///
    ///   tidings limits reset telegram:main --reason 'support lifted it'
    #[command(verbatim_doc_comment)]
    Reset(ResetOptions),
}

#[derive(Args)]
pub(crate) struct SetOptions {
    #[command(flatten)]
    pub(super) who: Who,
    /// The account, as platform:alias
    pub(super) account: String,
    /// Leave the platform's exact limits out: only for a simulator
    #[arg(long)]
    no_exact: bool,
    /// Add a preset: telegram-source, discord-source, slack-source or whatsapp-source
    #[arg(long)]
    preset: Option<String>,
    /// Add a window over all messages of the account, such as 30/1s (repeatable)
    #[arg(long)]
    window: Vec<WindowLimit>,
    /// Add a window over the messages of each chat (repeatable)
    #[arg(long)]
    chat: Vec<WindowLimit>,
    /// Add a window over the messages of each group, a negative chat id (repeatable)
    #[arg(long)]
    group: Vec<WindowLimit>,
    /// Add a token bucket over the account, in messages a second
    #[arg(long)]
    rate: Option<f64>,
    /// The bucket's capacity; without it: the rate, rounded up
    #[arg(long, requires = "rate")]
    burst: Option<u32>,
    /// Tokens that a message takes from the bucket
    #[arg(long, requires = "rate")]
    cost: Option<u32>,
    /// Add a least time between two messages of a chat, such as 50ms
    #[arg(long, value_parser = humantime::parse_duration)]
    chat_delay: Option<Duration>,
    /// The share of each limit that is used, instead of 1.0 (windows) and 0.75 (token buckets)
    #[arg(long)]
    headroom: Option<f64>,
}

impl SetOptions {
    pub(super) fn proposal(&self) -> LimitsProposal {
        LimitsProposal {
            exact: self.no_exact.then_some(false),
            preset: self.preset.clone(),
            account: self.window.clone(),
            chat: self.chat.clone(),
            group: self.group.clone(),
            rate: self.rate,
            burst: self.burst,
            cost: self.cost,
            chat_delay: self.chat_delay,
            headroom: self.headroom,
        }
    }
}

#[derive(Args)]
pub(crate) struct PenaliseOptions {
    #[command(flatten)]
    pub(super) who: Who,
    #[command(flatten)]
    pub(super) what: What,
    /// How long, such as 90s, 10m or 2h; more than 60 s are kept in the state database too
    #[arg(long = "for", value_parser = humantime::parse_duration)]
    pub(super) wait: Duration,
}

#[derive(Args)]
pub(crate) struct ResetOptions {
    #[command(flatten)]
    pub(super) who: Who,
    #[command(flatten)]
    pub(super) what: What,
}

#[derive(Args)]
pub(crate) struct What {
    /// The account, as platform:alias
    pub(super) account: String,
    /// Only this chat of it
    #[arg(long, conflicts_with = "address", allow_hyphen_values = true)]
    chat: Option<String>,
    /// The address that we call its platform from, and so every account of the platform
    #[arg(long)]
    address: bool,
}

impl What {
    pub(super) fn target(&self) -> Target {
        let scope = self.account.clone();
        match &self.chat {
            Some(chat) => Target::Chat {
                scope,
                chat: chat.clone(),
            },
            None if self.address => Target::Address {
                platform: platform(&scope).to_owned(),
            },
            None => Target::Account { scope },
        }
    }
}

/// The platform of an account's name.
pub(super) fn platform(account: &str) -> &str {
    account
        .split_once(':')
        .map_or(account, |(platform, _)| platform)
}

#[derive(Args)]
pub(crate) struct Who {
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    /// Why; kept in the log
    #[arg(long)]
    pub(super) reason: String,
    /// Who wants it; kept in the log
    #[arg(long, env = "USER")]
    pub(super) operator: String,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}
