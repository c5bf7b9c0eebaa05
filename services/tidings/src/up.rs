//! `tidings up`: everything on this machine, until Ctrl-C.

use std::time::Duration;

use tidings_drill::{Deployment, DeploymentOptions, Role, RoleKind};
use tidings_stack::{Stack, StackOptions, StackSource};

use crate::cli::UpOptions;
use crate::exit::Exit;
use crate::roles::asked_to_stop;

/// How often it is looked whether a role has ended.
const LOOK: Duration = Duration::from_millis(500);

/// The longest that a role's end is waited for.
const STOP_DEADLINE: Duration = Duration::from_secs(15);

pub(crate) async fn run(options: UpOptions) -> anyhow::Result<Exit> {
    let shutdown = asked_to_stop()?;
    println!("starting PostgreSQL, Kafka, the schema registry and Jaeger …");
    let keep = options.folder.is_some();
    let stack = StackSource::from_env()?
        .start(StackOptions {
            folder: options.folder.as_ref().map(|folder| folder.join("stack")),
            keep,
            ..StackOptions::default().with_jaeger_if_there()
        })
        .await?;
    let roles_folder = match &options.folder {
        Some(folder) => folder.join("roles"),
        None => stack
            .folder()
            .map_or_else(std::env::temp_dir, |folder| folder.join("roles")),
    };
    let mut deployment = DeploymentOptions::new(std::env::current_exe()?, roles_folder);
    deployment.name = "tidings".into();
    deployment.simulator = options.simulator;
    let deployment = Deployment::prepare(&stack, deployment).await?;
    let mut roles = start_roles(&deployment, &options).await?;
    print_places(&deployment, &roles);
    let ended = tokio::select! {
        () = shutdown => Ok(Exit::Done),
        failure = first_failure(&mut roles) => Err(failure.into()),
    };
    println!("stopping …");
    stop(roles, deployment, stack).await?;
    ended
}

async fn start_roles(deployment: &Deployment, options: &UpOptions) -> anyhow::Result<Vec<Role>> {
    println!(
        "starting {} relay(s) and {} dispatcher(s) …",
        options.relays, options.dispatchers
    );
    let mut roles: Vec<Role> = (1..=options.relays)
        .map(|number| deployment.role(RoleKind::Relay, number))
        .chain(
            (1..=options.dispatchers).map(|number| deployment.role(RoleKind::Dispatcher, number)),
        )
        .collect();
    for role in &mut roles {
        role.start().await?;
    }
    for role in &mut roles {
        role.ready(Duration::from_secs(30)).await?;
    }
    Ok(roles)
}

fn print_places(deployment: &Deployment, roles: &[Role]) {
    let place = deployment.place();
    println!();
    for (what, address) in [
        ("upstream database", &place.upstream_url),
        ("state database", &place.state_url),
        ("kafka", &place.brokers),
        ("schema registry", &place.registry_url),
        ("simulated platform", &place.simulator_url),
    ] {
        println!("{what:<20}{address}");
    }
    match &place.jaeger_url {
        Some(url) => println!("{:<20}{url}", "jaeger"),
        None => println!("{:<20}not built: `make setup` builds it", "jaeger"),
    }
    for role in roles {
        println!(
            "{:<20}http://{}/health",
            role.name(),
            role.admin().unwrap_or_default()
        );
    }
    println!(
        "{:<20}{}",
        "configuration",
        deployment.config_file().display()
    );
    println!(
        "\npublish an event:\n  psql {} -c \"select tidings.publish('notification.requested', 1, '{{\\\"text\\\":\\\"hello\\\"}}', 'greeting', '1', '{{\\\"platform\\\":\\\"telegram\\\",\\\"chat_id\\\":\\\"42\\\"}}')\"",
        place.upstream_url
    );
    println!(
        "see what the platform got:\n  curl {}/sim/log",
        place.simulator_url
    );
    if let Some(url) = &place.jaeger_url {
        println!(
            "follow a message:\n  tidings trace --jaeger {url} <the id that publish returned>"
        );
    }
    println!("\nCtrl-C stops everything.");
}

async fn first_failure(roles: &mut [Role]) -> tidings_drill::DrillError {
    loop {
        for role in roles.iter_mut() {
            if let Err(failure) = role.check_running() {
                return failure;
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn stop(mut roles: Vec<Role>, deployment: Deployment, stack: Stack) -> anyhow::Result<()> {
    for role in &mut roles {
        role.stop(STOP_DEADLINE).await?;
    }
    deployment.stop().await?;
    stack.stop().await?;
    Ok(())
}
