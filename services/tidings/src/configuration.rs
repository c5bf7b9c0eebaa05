//! `tidings config print|check`.

use clap::{Args, Subcommand};
use serde_json::json;
use tidings_edge::config::{Config, ConfigProblem, Setting};

use crate::cli::ConfigOptions;
use crate::exit::Exit;
use crate::out::line;

#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every key with its effective value and where that comes from; secrets are never shown
    ///
    ///   tidings config print --config tidings.toml
    ///   tidings config print --defaults          what holds without a file
    ///   tidings config print --json | jq -r 'select(.origin != "default") | .key'
    #[command(verbatim_doc_comment)]
    Print(PrintOptions),
    /// Check the configuration: every unknown key, value that does not fit and unreadable secret, each with the remedy
    ///
    /// Ends with 4 if there is a problem. Nothing is connected to; `tidings doctor` looks at the deployment as well.
    Check(CheckOptions),
}

#[derive(Args)]
pub(crate) struct PrintOptions {
    #[command(flatten)]
    config: ConfigOptions,
    /// The embedded defaults alone
    #[arg(long, conflicts_with = "config")]
    defaults: bool,
    /// Print one JSON object a key
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

pub(crate) fn run(command: ConfigCommand) -> Exit {
    match command {
        ConfigCommand::Print(options) => print(&options),
        ConfigCommand::Check(options) => check(&options),
    }
}

fn print(options: &PrintOptions) -> Exit {
    let settings = match options.defaults {
        true => Ok(Config::default_settings()),
        false => Config::settings(options.config.config.as_deref()),
    };
    match settings {
        Ok(settings) => {
            for setting in &settings {
                print_setting(setting, options.json);
            }
            Exit::Done
        }
        Err(problems) => refuse(&problems, options.json),
    }
}

fn print_setting(setting: &Setting, json: bool) {
    let (key, value, origin) = (&setting.key, &setting.value, setting.origin.to_string());
    if json {
        line(json!({"key": key, "value": value, "origin": origin}));
    } else {
        line(format_args!("{key} = {value}  # {origin}"));
    }
}

fn check(options: &CheckOptions) -> Exit {
    let problems = Config::examine(options.config.config.as_deref()).problems;
    if !problems.is_empty() {
        return refuse(&problems, options.json);
    }
    if !options.json {
        line("configuration: fits");
    }
    Exit::Done
}

fn refuse(problems: &[ConfigProblem], json: bool) -> Exit {
    for ConfigProblem { key, value, remedy } in problems {
        if json {
            line(json!({"key": key, "value": value, "remedy": remedy}));
        } else {
            line(format_args!("{key} = {value}: {remedy}"));
        }
    }
    Exit::Refused
}
