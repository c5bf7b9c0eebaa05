use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use tidings_simulator::Simulator;
use tidings_simulator::limits::{Enforce, Limits};

use crate::cli::{Enforcement, SimulatorOptions};
use crate::exit::Exit;
use crate::roles::asked_to_stop;

pub(crate) async fn run(options: SimulatorOptions) -> anyhow::Result<Exit> {
    let mut simulator = tidings_simulator::SimulatorOptions::new(options.listen);
    simulator.log_file = options.log_file;
    let mut given = given_limits(&options.limits)?;
    for account in &options.accounts {
        let (alias, token) = account
            .split_once('=')
            .context("--account is alias=token, for example main=100001:local-simulator-only")?;
        let limits = given.remove(alias);
        let limits = limits.unwrap_or_else(|| telegrams(options.enforce));
        simulator = simulator.token(token, alias).limits(alias, limits);
    }
    if let Some(alias) = given.keys().next() {
        bail!("--limits {alias}=…: name an account that --account gives");
    }
    let shutdown = asked_to_stop()?;
    let simulator = Simulator::start(simulator).await?;
    println!("simulated platform  {}", simulator.base_url());
    shutdown.await;
    simulator.stop().await?;
    Ok(Exit::Done)
}

fn given_limits(arguments: &[String]) -> anyhow::Result<BTreeMap<&str, Limits>> {
    arguments.iter().map(|argument| given(argument)).collect()
}

fn given(argument: &str) -> anyhow::Result<(&str, Limits)> {
    let (alias, json) = argument
        .split_once('=')
        .context(r#"--limits is alias=JSON, for example main={"chat":null}"#)?;
    let limits = Limits::from_json(json.as_bytes())
        .with_context(|| format!("--limits {alias}=… is not valid"))?;
    Ok((alias, limits))
}

fn telegrams(enforcement: Enforcement) -> Limits {
    let enforce = match enforcement {
        Enforcement::Off => Enforce::Off,
        Enforcement::Count => Enforce::Count,
        Enforcement::Answer => Enforce::Answer,
    };
    Limits {
        enforce,
        ..Limits::default()
    }
}
