//! Postgres ends sessions under everybody, again and again (reference/faults.md, row 13).

use std::time::Duration;

use tidings_drill::{Profile, Role};
use tidings_judge::evidence::Faults;
use tidings_stack::Stack;
use tidings_tests::connect;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::load::Load;
use crate::world::{World, health};

const ORDERS: u32 = 400;
const BEFORE_THE_FAULT: u64 = 30;

/// Five a second for six seconds.
const PAUSE: Duration = Duration::from_millis(200);
const KILLS: u32 = 30;

#[tokio::test(flavor = "multi_thread")]
async fn backends_killed_five_a_second_take_nothing_else_with_them() {
    let world = World::new(Stack::shared().await.unwrap(), Profile::drill()).await;
    let mut roles = [
        world.relay().await,
        world.dispatcher(1).await,
        world.dispatcher(2).await,
    ];
    let load = Load::start(&world, ORDERS);
    load.reaches(BEFORE_THE_FAULT).await;
    let before = world.calls();
    kill_backends(&world).await;
    let meanwhile = world.calls() - before;
    load.ends().await;
    let report = world.assert_kept(Faults::default()).await;
    assert_eq!(report.counts.duplicated, 0, "nothing was sent twice");
    assert!(meanwhile > 0, "nothing was sent meanwhile");
    for role in &mut roles {
        role.check_running().unwrap();
    }
    let [_, workers @ ..] = &roles;
    for worker in workers {
        assert_unfenced(worker).await;
    }
}

/// Those of the relay, of the workers and of the upstream service, at random.
async fn kill_backends(world: &World) {
    let place = world.deployment.place();
    let killer = connect(&place.state_url).await;
    let seed = Uuid::new_v4();
    println!("backends seed {seed}");
    let mut pace = tokio::time::interval(PAUSE);
    let mut killed = 0;
    for round in 0..KILLS {
        pace.tick().await;
        killed += kill_one(&killer, &place.prefix, &format!("{seed} {round}")).await;
    }
    assert_eq!(killed, u64::from(KILLS), "there was nobody to kill");
}

/// The deployment's databases begin with its name.
async fn kill_one(killer: &Client, name: &str, draw: &str) -> u64 {
    let statement = "select pg_terminate_backend(pid) from pg_stat_activity
        where starts_with(datname, $1) and application_name like 'tidings-%'
        order by md5(pid::text || $2) limit 1";
    let killed = killer.query(statement, &[&name, &draw]).await.unwrap();
    killed.len() as u64
}

/// A lost session costs a statement, not the claims of others.
async fn assert_unfenced(worker: &Role) {
    let health = health(worker).await;
    assert_eq!(health["fenced"].as_u64(), Some(0), "{health}");
}
