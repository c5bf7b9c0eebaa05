//! All workers die at once and are started again (reference/faults.md, row 45).

use std::time::Instant;

use tidings_drill::Profile;
use tidings_judge::evidence::Faults;
use tidings_stack::Stack;

use crate::load::Load;
use crate::world::{World, until, until_busy};

const ORDERS: u32 = 250;
const BEFORE_THE_FAULT: u64 = 30;

#[tokio::test(flavor = "multi_thread")]
async fn all_workers_killed_at_once() {
    let world = World::new(Stack::shared().await.unwrap(), Profile::drill()).await;
    let _relay = world.relay().await;
    let mut workers = [world.dispatcher(1).await, world.dispatcher(2).await];
    let load = Load::start(&world, ORDERS);
    load.reaches(BEFORE_THE_FAULT).await;
    until_busy(&workers[0]).await;
    let mut faults = Faults::default();
    for worker in &mut workers {
        faults.killed.extend(worker.kill().unwrap());
    }
    let (killed, killed_at) = (world.calls(), Instant::now());
    for worker in &mut workers {
        worker.start().await.unwrap();
    }
    until("somebody sends again", async || world.calls() > killed).await;
    println!("sent again after {:?}", killed_at.elapsed());
    load.ends().await;
    world.assert_kept(faults).await;
}
