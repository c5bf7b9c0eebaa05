//! The arguments.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::plan::{Bounds, High, Plan};

#[derive(Args)]
pub(crate) struct LimitBenchOptions {
    /// Dispatchers, each a process
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    workers: u16,
    /// Accounts that they share
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=500))]
    accounts: u16,
    /// How long it is measured once the accounts are saturated
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(5..=3_600))]
    seconds: u64,
    /// Each account's limit, in messages a second; without it the platform's exact limits (Telegram: 30, and 1 in each chat)
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: Option<u32>,
    /// What happens meanwhile
    #[arg(long, value_enum)]
    chaos: Option<Chaos>,
    /// Keep settings and logs in this folder
    #[arg(long)]
    pub(super) folder: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

impl LimitBenchOptions {
    pub(super) fn plan(&self) -> Plan {
        Plan {
            workers: self.workers.into(),
            accounts: self.accounts.into(),
            seconds: self.seconds,
            rate: self.rate,
            chaos: self.chaos,
            lone: 60,
            high: High::Trickle,
            bounds: Bounds::default(),
            ..Plan::named("bench")
        }
    }
}

#[derive(Args)]
pub(crate) struct LimitDrillOptions {
    /// Only this scenario (repeatable)
    #[arg(long)]
    pub(super) only: Vec<String>,
    /// Keep settings and logs in this folder
    #[arg(long)]
    pub(super) folder: Option<PathBuf>,
    /// Print the scenarios' names and run none
    #[arg(long)]
    pub(super) list: bool,
}

/// What happens to the workers, the platform or the log while it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Chaos {
    /// Every three seconds one worker is killed with -9 and started again
    Kill,
    /// All workers are killed at once and started again, twice
    RestartAll,
    /// One call is answered 429 with retry_after 7, which holds its chat
    Penalty,
    /// The same, and the platform holds the whole account
    AccountPenalty,
    /// The platform holds the whole account for an hour; then all workers are killed and started again
    LongPenalty,
    /// One worker's clock is an hour ahead, another's an hour behind (needs libfaketime)
    Clock,
    /// The rate-limit topic's records are deleted
    Truncate,
    /// The rate-limit topic is deleted, and made again
    Delete,
    /// The broker is stopped for 20 s
    Broker,
}

impl Chaos {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::RestartAll => "restart-all",
            Self::Penalty => "penalty",
            Self::AccountPenalty => "account-penalty",
            Self::LongPenalty => "long-penalty",
            Self::Clock => "clock",
            Self::Truncate => "truncate",
            Self::Delete => "delete",
            Self::Broker => "broker",
        }
    }
}
