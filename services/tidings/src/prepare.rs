//! What must be there before the roles run.

use tidings_edge::config::Config;
use tidings_edge::{kafka, postgres};

use crate::cli::{ConfigOptions, MigrateOptions};
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

pub(crate) async fn apply_topics(options: ConfigOptions) -> anyhow::Result<Exit> {
    let config = Config::load(options.config.as_deref())?;
    let changes = match kafka::apply(&config).await {
        Ok(changes) => changes,
        Err(unfit @ kafka::TopicsError::Unfit(_)) => return Ok(refuse(&unfit)),
        Err(error) => return Err(error.into()),
    };
    if changes.is_empty() {
        println!("topics: up to date");
    }
    for change in changes {
        match change {
            kafka::TopicChange::Created { name, partitions } => {
                println!("{name}: created with {partitions} partition(s)");
            }
        }
    }
    Ok(Exit::Done)
}

pub(crate) async fn check_topics(options: ConfigOptions) -> anyhow::Result<Exit> {
    let config = Config::load(options.config.as_deref())?;
    match kafka::check(&config).await {
        Ok(()) => {
            println!("topics: as configured");
            Ok(Exit::Done)
        }
        Err(unfit @ kafka::TopicsError::Unfit(_)) => Ok(refuse(&unfit)),
        Err(error) => Err(error.into()),
    }
}

fn refuse(unfit: &kafka::TopicsError) -> Exit {
    println!("{unfit}");
    Exit::Refused
}
