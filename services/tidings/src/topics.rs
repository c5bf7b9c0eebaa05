//! `tidings topics apply|check`.

use clap::{Args, Subcommand};
use serde_json::json;
use tidings_edge::config::Config;
use tidings_edge::kafka::{self, TopicChange, TopicProblem, TopicsError};

use crate::cli::ConfigOptions;
use crate::exit::Exit;
use crate::out::line;

#[derive(Subcommand)]
pub(crate) enum TopicsCommand {
    /// Create the topics that are missing; refuse what would move keys
    ///
    /// Topics that exist are never changed: another partition count would move keys to other partitions and break the
    /// order of chats, and settings may have been chosen by somebody. If one does not fit, nothing is created, each is
    /// told with its remedy, and the exit code is 4.
    Apply(ApplyOptions),
    /// Compare the topics with the configuration; ends with 4 if one is missing or does not fit
    Check(CheckOptions),
}

#[derive(Args)]
pub(crate) struct ApplyOptions {
    #[command(flatten)]
    config: ConfigOptions,
    /// Only tell what would be created
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object a topic that is created, or a problem
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct CheckOptions {
    #[command(flatten)]
    config: ConfigOptions,
    /// Print one JSON object a problem
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(command: TopicsCommand) -> anyhow::Result<Exit> {
    match command {
        TopicsCommand::Apply(options) => apply(&options).await,
        TopicsCommand::Check(options) => check(&options).await,
    }
}

async fn apply(options: &ApplyOptions) -> anyhow::Result<Exit> {
    let config = Config::load(options.config.config.as_deref())?;
    let changed = match options.dry_run {
        true => kafka::plan(&config).await,
        false => kafka::apply(&config).await,
    };
    let changes = match changed {
        Ok(changes) => changes,
        Err(TopicsError::Unfit(problems)) => return Ok(refuse(&problems, options.json)),
        Err(error) => return Err(error.into()),
    };
    if changes.is_empty() && !options.json {
        line("topics: up to date");
    }
    for change in &changes {
        tell(change, options);
    }
    Ok(Exit::Done)
}

fn tell(change: &TopicChange, options: &ApplyOptions) {
    let TopicChange::Created { name, partitions } = change;
    let (word, words) = match options.dry_run {
        true => ("would_create", "would be created"),
        false => ("created", "created"),
    };
    if options.json {
        line(json!({"topic": name, "change": word, "partitions": partitions}));
    } else {
        line(format_args!(
            "{name}: {words} with {partitions} partition(s)"
        ));
    }
}

async fn check(options: &CheckOptions) -> anyhow::Result<Exit> {
    let config = Config::load(options.config.config.as_deref())?;
    match kafka::check(&config).await {
        Ok(()) => {
            if !options.json {
                line("topics: as configured");
            }
            Ok(Exit::Done)
        }
        Err(TopicsError::Unfit(problems)) => Ok(refuse(&problems, options.json)),
        Err(error) => Err(error.into()),
    }
}

fn refuse(problems: &[TopicProblem], json: bool) -> Exit {
    for problem in problems {
        if json {
            let TopicProblem {
                topic,
                what,
                found,
                expected,
                remedy,
            } = problem;
            line(
                json!({"topic": topic, "what": what, "found": found, "expected": expected, "remedy": remedy}),
            );
        } else {
            line(format_args!("{problem}"));
        }
    }
    Exit::Refused
}
