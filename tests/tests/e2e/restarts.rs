//! The servers restart under load; the roles recover by themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tidings_drill::Profile;
use tidings_load::LoadOptions;
use tidings_stack::{Part, Stack, StackOptions};

use crate::world::{World, no_faults};

const ORDERS: u32 = 1_500;

#[tokio::test(flavor = "multi_thread")]
async fn kafka_and_postgres_restart_under_load() {
    let stack = Stack::start(StackOptions::default()).await.unwrap();
    let world = World::with(&stack, Profile::drill()).await;
    let mut roles = vec![
        world.relay().await,
        world.dispatcher(1).await,
        world.dispatcher(2).await,
    ];
    let mut options = LoadOptions::new(world.deployment.place().upstream_url.clone());
    options.orders = ORDERS;
    options.chats = 100;
    options.rate_per_second = Some(300.0);
    println!("load seed {}", options.seed);
    let done = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&done);
    let load = tokio::spawn(tidings_load::run(options, move |progress| {
        seen.store(progress.orders, Ordering::Relaxed);
    }));
    for (part, orders) in [(Part::Kafka, ORDERS / 4), (Part::Postgres, ORDERS / 2)] {
        while done.load(Ordering::Relaxed) < u64::from(orders) && !load.is_finished() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        stack.restart(part).await.unwrap();
    }
    load.await.unwrap().unwrap();
    let report = world.judge(no_faults()).await;
    world.assert_kept(&report);
    for role in &mut roles {
        role.check_running().unwrap();
    }
    drop(roles);
    stack.stop().await.unwrap();
}
