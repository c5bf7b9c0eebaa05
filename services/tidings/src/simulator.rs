use anyhow::Context as _;
use tidings_simulator::Simulator;

use crate::cli::SimulatorOptions;
use crate::exit::Exit;
use crate::roles::asked_to_stop;

pub(crate) async fn run(options: SimulatorOptions) -> anyhow::Result<Exit> {
    let mut simulator = tidings_simulator::SimulatorOptions::new(options.listen);
    simulator.log_file = options.log_file;
    for account in &options.accounts {
        let (alias, token) = account
            .split_once('=')
            .context("--account is alias=token, for example main=100001:local-simulator-only")?;
        simulator = simulator.token(token, alias);
    }
    let shutdown = asked_to_stop()?;
    let simulator = Simulator::start(simulator).await?;
    println!("simulated platform  {}", simulator.base_url());
    shutdown.await;
    simulator.stop().await?;
    Ok(Exit::Done)
}
