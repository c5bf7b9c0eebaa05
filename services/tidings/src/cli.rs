use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use uuid::Uuid;

use crate::bench::BenchCommand;
use crate::bench::limit::LimitDrillOptions;
use crate::capacity::CapacityOptions;
use crate::claim_check::ClaimCheckCommand;
use crate::completions::CompletionsOptions;
use crate::configuration::ConfigCommand;
use crate::deferred::DeferredCommand;
use crate::doctor::DoctorOptions;
use crate::limits::LimitsOptions;
use crate::schemas::SchemasCommand;
use crate::targets::TargetsCommand;
use crate::topics::TopicsCommand;

/// Carries events from upstream databases to people's chats: in order per chat, without loss, once.
///
/// An upstream service writes an event with `tidings.publish(...)` in its own transaction; `relay` brings it to Kafka,
/// `dispatcher` brings it to the chat. `up` and `demo` run all of that on this machine.
///
///   tidings demo                                  the whole way under load, with a crash, judged
///   tidings up --folder /tmp/tidings-up           everything on this machine, until Ctrl-C
///   tidings doctor --config tidings.toml          what is wrong with a deployment, and the remedy
///   tidings trace 0198…                           the way of one message
///
/// Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing matched, 4 refused, 5 interrupted.
#[derive(Parser)]
#[command(name = "tidings", version, verbatim_doc_comment)]
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
    ///
    /// Several divide the outbox' shards among them. Runs until SIGTERM or Ctrl-C, then waits for what it produced. The
    /// databases and topics must be there:
    ///
    ///   tidings migrate --config tidings.toml
    ///   tidings topics apply --config tidings.toml
    ///   tidings relay --config tidings.toml
    #[command(verbatim_doc_comment)]
    Relay(RoleOptions),
    /// Bring messages from Kafka to chats
    ///
    /// Several divide the lanes' partitions among them. Runs until SIGTERM or Ctrl-C; give it drain_deadline +
    /// call_deadline + 20 s before it is killed. At SIGHUP it reads its configuration again: changed bounds of calls in
    /// flight (max_in_flight_calls_per_account, an account's max_in_flight_calls) and the accounts' credentials take effect,
    /// the rest is named in the log.
    ///
    ///   TIDINGS_HTTP__LISTEN=127.0.0.1:9100 tidings dispatcher --config tidings.toml
    #[command(verbatim_doc_comment)]
    Dispatcher(RoleOptions),
    /// Run the simulator of the platforms
    Simulator(SimulatorOptions),
    /// Prepare the databases: the outbox upstream, and Tidings' own tables
    ///
    /// Safe to repeat, and to run while roles do. Run it as a user who may create schemas:
    ///
    ///   TIDINGS_UPSTREAM__DATABASE=postgres://owner@shop-db/shop tidings migrate --config tidings.toml
    #[command(verbatim_doc_comment)]
    Migrate(MigrateOptions),
    /// Kafka's topics
    #[command(subcommand)]
    Topics(TopicsCommand),
    /// The configuration: what holds, where it is from, what does not fit
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Look at a whole deployment and say what is wrong and what to do about it
    ///
    /// Configuration, databases, registry, brokers, topics, clocks, files of secrets; all side by side, changing nothing.
    /// Ends with 4 if there is a problem, with 0 if there are warnings at most.
    ///
    ///   tidings doctor --config tidings.toml
    ///   tidings doctor --json | jq 'select(.health == "problem")'
    #[command(verbatim_doc_comment)]
    Doctor(DoctorOptions),
    /// Print a completion script for a shell
    ///
    ///   tidings completions bash > /etc/bash_completion.d/tidings
    ///   tidings completions zsh > "${fpath[1]}/_tidings"
    ///   tidings completions fish > ~/.config/fish/completions/tidings.fish
    #[command(verbatim_doc_comment)]
    Completions(CompletionsOptions),
    /// The event types and their schemas: what there is, and whether a change may be registered
    #[command(subcommand)]
    Schemas(SchemasCommand),
    /// Contents that are too large for a message
    #[command(subcommand)]
    ClaimCheck(ClaimCheckCommand),
    /// Show each account's limits as the rate-limit topic has them, and change them
    ///
    /// Limits in force, what is used and free, which workers wait, and what is held until when. Needs Kafka alone; a change
    /// also needs the state database.
    ///
    ///   tidings limits --config tidings.toml
    ///   tidings limits --json | jq 'select(.free == 0)'
    ///   tidings limits set telegram:main --window 20/1s --reason 'ticket 4711'
    #[command(verbatim_doc_comment)]
    Limits(Box<LimitsOptions>),
    /// The chats whose messages wait in the state database, and what to do about them
    ///
    /// A chat is deferred when its next message has to wait long (a retry, a platform's hint, a hold), or when too much of
    /// it waits. Other chats go on; its messages keep their order and go on when it is due.
    ///
    ///   tidings deferred list --config tidings.toml
    ///   tidings deferred retry-now --chat 4711 --reason 'they unblocked us'
    #[command(subcommand, verbatim_doc_comment)]
    Deferred(DeferredCommand),
    /// The chats and threads that are known to be dead or to have moved, and how to forget that
    ///
    /// Messages to a dead target (the bot is blocked, kicked, without rights) end as undeliverable without a call; those to a
    /// chat that moved go to its new id. All workers share what one of them learnt.
    ///
    ///   tidings targets list --config tidings.toml
    ///   tidings targets clear telegram:main --chat 4711 --reason 'they unblocked us'
    #[command(subcommand, verbatim_doc_comment)]
    Targets(TargetsCommand),
    /// How many dispatchers the load asks for, why not more, and how near the lanes are to losing what nobody read
    ///
    /// Measures what arrives, and tells each input with where it is from. More consumers than the platforms, the lanes'
    /// partitions or the database's connections allow bring nothing, so these cap the number. Ends with 1 when a lane's
    /// oldest unread record is older than half of what the lane keeps.
    ///
    ///   tidings capacity --config tidings.toml --dispatcher 127.0.0.1:9100
    ///   tidings capacity --arrival-per-second 500 --processing-seconds 0.2 --json | jq .required_consumers
    #[command(verbatim_doc_comment)]
    Capacity(CapacityOptions),
    /// Commit orders' events as an upstream service does, with a ledger for the judge
    Load(LoadOptions),
    /// Measurements on real parts
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Faults on real parts under load, judged
    #[command(subcommand)]
    Drill(DrillCommand),
    /// Compare what was committed with what people received (runs tidings-judge; see its --help)
    #[command(disable_help_flag = true)]
    Judge(JudgeOptions),
    /// Show the way of one message as a waterfall, from Jaeger
    Trace(TraceOptions),
}

#[derive(Args)]
pub(crate) struct ConfigOptions {
    /// Configuration file (TOML). Without it: the defaults. `TIDINGS_<SECTION>__<KEY>` variables replace single keys
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
    /// Send every message's spans to this collector (OTLP over HTTP) instead of the stack's Jaeger; one that is down costs
    /// nothing
    #[arg(long)]
    pub(crate) otlp: Option<String>,
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
    /// What an account's calls beyond the platform's limits get: nothing (off), a mark in the log (count), or also 429 (answer).
    /// For the accounts without --limits
    #[arg(long, value_enum, default_value_t = Enforcement::Answer)]
    pub(crate) enforce: Enforcement,
    /// The limits of one account, as alias=JSON (repeatable); fields left out are Telegram's: 30 a second, 1 a second in a chat,
    /// 20 a minute in a group. For example main={"account":{"count":1000,"period_ms":1000},"chat":null}
    #[arg(long)]
    pub(crate) limits: Vec<String>,
    /// Write the log of calls to this file as well (NDJSON); an existing one is read first
    #[arg(long)]
    pub(crate) log_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Enforcement {
    Off,
    Count,
    Answer,
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
pub(crate) struct TraceOptions {
    /// The message's id, as `tidings.publish` returned it
    pub(crate) message_id: Uuid,
    /// Jaeger's query API
    #[arg(long, env = "TIDINGS_JAEGER", default_value = "http://127.0.0.1:16686")]
    pub(crate) jaeger: String,
    /// Print one JSON object a span
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct JudgeOptions {
    /// Arguments of tidings-judge
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}

#[derive(Subcommand)]
pub(crate) enum DrillCommand {
    /// Kill, freeze and terminate relays and dispatchers at random moments; one JSON line a round, then their sum
    Crashes(CrashesOptions),
    /// Let workers come and go while the load goes on; one JSON line with the throughput's share
    Rebalances(RebalancesOptions),
    /// The shared limit with each thing that may go wrong; one JSON line a scenario
    Limit(LimitDrillOptions),
}

#[derive(Args)]
pub(crate) struct RebalancesOptions {
    /// How long
    #[arg(long, default_value_t = 180)]
    pub(crate) seconds: u64,
    /// Seconds between two changes of the group
    #[arg(long, default_value_t = 3)]
    pub(crate) every: u64,
    /// The dispatchers' group protocol
    #[arg(long, value_enum, default_value_t = DrillProtocol::Classic)]
    pub(crate) protocol: DrillProtocol,
}

#[derive(Args)]
pub(crate) struct CrashesOptions {
    /// Faults in all; ten of them under one load are judged together
    #[arg(long, default_value_t = 50)]
    pub(crate) faults: usize,
    /// What follows an unknown outcome, for every event type
    #[arg(long, value_enum, default_value_t = DrillPolicy::Resend)]
    pub(crate) policy: DrillPolicy,
    /// The dispatchers' group protocol
    #[arg(long, value_enum, default_value_t = DrillProtocol::Classic)]
    pub(crate) protocol: DrillProtocol,
    /// From this follow all faults and the load; printed
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DrillPolicy {
    /// At least once
    Resend,
    /// At most once
    Park,
}

impl DrillPolicy {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Resend => "resend",
            Self::Park => "park",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DrillProtocol {
    /// Cooperative-sticky
    Classic,
    /// KIP-848
    Consumer,
}

impl DrillProtocol {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Consumer => "consumer",
        }
    }
}
