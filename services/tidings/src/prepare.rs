//! What must be there before the roles run.

use tidings_edge::config::Config;
use tidings_edge::postgres;

use crate::cli::MigrateOptions;
use crate::exit::Exit;

pub(crate) async fn migrate(options: MigrateOptions) -> anyhow::Result<Exit> {
    let config = Config::load(options.config.config.as_deref())?;
    let (mut state, _session) = postgres::connect(&config.state, "tidings-migrate").await?;
    let applied = postgres::migrate(&mut state).await?;
    match applied.len() {
        0 => println!("state database: up to date"),
        _ => println!("state database: applied {}", applied.join(", ")),
    }
    if !options.state_only {
        let (upstream, _session) = postgres::connect(&config.upstream, "tidings-migrate").await?;
        postgres::apply_outbox(&upstream).await?;
        println!("upstream database: the outbox is there");
    }
    Ok(Exit::Done)
}
