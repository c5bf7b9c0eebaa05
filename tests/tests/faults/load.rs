//! Orders in the background of a fault.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tidings_load::{LoadOptions, Progress};
use tokio::task::JoinHandle;

use crate::world::{PATIENCE, World, until};

/// Few enough that each has messages behind others, many enough for every partition.
const CHATS: u32 = 60;

/// Events a second: a fault of some seconds needs some to fall into it, and the machine is for the roles.
const RATE_PER_SECOND: f64 = 60.0;

/// One at a time: two programs that begin on one database can wait for each other's locks.
pub struct Load {
    done: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Load {
    pub fn start(world: &World, orders: u32) -> Self {
        let mut options = LoadOptions::new(world.deployment.place().upstream_url.clone());
        options.orders = orders;
        options.chats = CHATS;
        options.workers = 4;
        options.rate_per_second = Some(RATE_PER_SECOND);
        println!("load seed {}", options.seed);
        let done = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&done);
        let task = tokio::spawn(async move {
            let progress = move |progress: Progress| seen.store(progress.orders, Ordering::Relaxed);
            tidings_load::run(options, progress).await.unwrap();
        });
        Self { done, task }
    }

    /// Waits for so many orders, and fails when the load ends before a fault can hit anything.
    pub async fn reaches(&self, orders: u64) {
        until("so many orders are committed", async || {
            self.done.load(Ordering::Relaxed) >= orders || self.task.is_finished()
        })
        .await;
        assert!(!self.task.is_finished(), "the load ended before the fault");
    }

    /// Waits until all is committed.
    pub async fn ends(self) {
        let ended = tokio::time::timeout(PATIENCE, self.task).await;
        ended.expect("the load ends in time").unwrap();
    }
}
