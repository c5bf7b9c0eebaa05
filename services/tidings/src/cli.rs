use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Carries events from upstream databases to people's chats: in order per chat, without loss, once.
///
/// An upstream service writes an event with `tidings.publish(...)` in its own transaction; `relay` brings it to Kafka,
/// `dispatcher` brings it to the chat. `up` and `demo` run all of that on this machine.
///
/// Exit codes: 0 done, 1 failed, 2 wrong usage, 4 refused.
#[derive(Parser)]
#[command(name = "tidings", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run everything on this machine: servers, a simulated platform, relay and dispatchers
    Up(UpOptions),
    /// Show the whole way under load, with a crash in the middle, and let the judge say what happened
    Demo(DemoOptions),
    /// Bring committed outbox rows to Kafka
    Relay(RoleOptions),
    /// Bring messages from Kafka to chats
    Dispatcher(RoleOptions),
    /// Run the simulator of the platforms
    Simulator(SimulatorOptions),
    /// Prepare the databases: the outbox upstream, and Tidings' own tables
    Migrate(MigrateOptions),
    /// Kafka's topics
    #[command(subcommand)]
    Topics(TopicsCommand),
    /// Commit orders' events as an upstream service does, with a ledger for the judge
    Load(LoadOptions),
    /// Compare what was committed with what people received (runs tidings-judge; see its --help)
    #[command(disable_help_flag = true)]
    Judge(JudgeOptions),
}

#[derive(Subcommand)]
pub(crate) enum TopicsCommand {
    /// Create the topics that are missing; refuses what would move keys
    Apply(ConfigOptions),
    /// Compare the topics with the configuration
    Check(ConfigOptions),
}

#[derive(Args)]
pub(crate) struct ConfigOptions {
    /// Configuration file (TOML). Without it: the defaults. TIDINGS_<SECTION>__<KEY> variables replace single keys
    #[arg(long, env = "TIDINGS_CONFIG")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct RoleOptions {
    #[command(flatten)]
    pub(crate) config: ConfigOptions,
    /// Write where the admin server listens to this file (JSON), once the role runs
    #[arg(long)]
    pub(crate) address_file: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct MigrateOptions {
    #[command(flatten)]
    pub(crate) config: ConfigOptions,
    /// Only Tidings' own database, when upstream's outbox is applied by its owner (schemas/outbox/*.sql)
    #[arg(long)]
    pub(crate) state_only: bool,
}

#[derive(Args)]
pub(crate) struct UpOptions {
    /// Keep data, settings and logs in this folder; without it they are thrown away at the end
    #[arg(long)]
    pub(crate) folder: Option<PathBuf>,
    /// Relays to run
    #[arg(long, default_value_t = 1)]
    pub(crate) relays: usize,
    /// Dispatchers to run
    #[arg(long, default_value_t = 2)]
    pub(crate) dispatchers: usize,
    /// Where the simulated platform listens
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) simulator: SocketAddr,
}

#[derive(Args)]
pub(crate) struct DemoOptions {
    /// Orders to confirm and ship
    #[arg(long, default_value_t = 3_000)]
    pub(crate) orders: u32,
    /// Chats that they go to
    #[arg(long, default_value_t = 500)]
    pub(crate) chats: u32,
    /// From this the plan of every order follows; printed
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Keep settings and logs in this folder
    #[arg(long)]
    pub(crate) folder: Option<PathBuf>,
    /// Print only the last line's JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct SimulatorOptions {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:8088")]
    pub(crate) listen: SocketAddr,
    /// A bot of the simulated Telegram, as alias=token (repeatable). The tokens are of no worth elsewhere
    #[arg(long = "account", default_value = "main=100001:local-simulator-only")]
    pub(crate) accounts: Vec<String>,
    /// Write the log of calls to this file as well (NDJSON); an existing one is read first
    #[arg(long)]
    pub(crate) log_file: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct LoadOptions {
    /// URL of the upstream database
    #[arg(long, env = "TIDINGS_UPSTREAM__DATABASE", hide_env_values = true)]
    pub(crate) database: String,
    /// Orders to confirm and ship
    #[arg(long, default_value_t = 3_000)]
    pub(crate) orders: u32,
    /// Chats that they go to
    #[arg(long, default_value_t = 500)]
    pub(crate) chats: u32,
    /// Transactions at once
    #[arg(long, default_value_t = 8)]
    pub(crate) workers: u32,
    /// Events a second; as fast as it goes without it
    #[arg(long)]
    pub(crate) rate: Option<f64>,
    /// From this the plan of every order follows; printed
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Print the report as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct JudgeOptions {
    /// Arguments of tidings-judge
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}
