//! The shards of one relay: its fair share, taken and let go.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tidings_edge::config::Config;
use tidings_edge::telemetry::metric_names;
use tidings_outbox::share::{fair_share, surplus};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::feeder::Feeder;
use crate::membership::Surroundings;
use crate::shard::ShardTask;
use crate::worker::Shared;

/// The shards that this relay works on, and the feeder of rejected rows.
pub(crate) struct Shards {
    config: Arc<Config>,
    shared: Arc<Shared>,
    abandoned: Arc<AtomicUsize>,
    tasks: BTreeMap<u32, Running>,
    division: u32,
    feeding: watch::Sender<bool>,
    feeder: JoinHandle<()>,
}

/// A shard's task.
struct Running {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Shards {
    /// None yet.
    pub(crate) fn new(config: Arc<Config>, shared: Shared, abandoned: Arc<AtomicUsize>) -> Self {
        let (feeding, active) = watch::channel(false);
        let feeder = Feeder::new(
            Arc::clone(&config),
            shared.tuning.clone(),
            Arc::clone(&abandoned),
        );
        Self {
            config,
            shared: Arc::new(shared),
            abandoned,
            tasks: BTreeMap::new(),
            division: 0,
            feeding,
            feeder: tokio::spawn(feeder.run(active)),
        }
    }

    /// Lets go of what is beyond the fair share, takes what is free within it.
    pub(crate) async fn balance(&mut self, around: &Surroundings) {
        self.tasks.retain(|_, running| !running.task.is_finished());
        if self.division != around.shards {
            // Under another division the same row may be of another shard: nothing is kept.
            self.stop(&self.tasks.keys().copied().collect::<Vec<_>>())
                .await;
            self.division = around.shards;
        }
        let owned: Vec<u32> = self.tasks.keys().copied().collect();
        self.stop(&surplus(&owned, around.shards, around.members))
            .await;
        let share =
            usize::try_from(fair_share(around.shards, around.members)).unwrap_or(usize::MAX);
        let free = (0..around.shards)
            .filter(|shard| !around.taken.contains(shard) && !self.tasks.contains_key(shard));
        for shard in free
            .take(share.saturating_sub(self.tasks.len()))
            .collect::<Vec<_>>()
        {
            self.start(shard);
        }
        metrics::gauge!(metric_names::RELAY_SHARDS)
            .set(self.shared.health.owned_shards().len() as f64);
        let feeds = self.shared.health.owned_shards().contains(&0);
        self.feeding
            .send_if_modified(|feeding| std::mem::replace(feeding, feeds) != feeds);
    }

    fn start(&mut self, shard: u32) {
        let (stop, stopped) = watch::channel(false);
        let task = ShardTask {
            shard,
            shards: self.division,
            config: Arc::clone(&self.config),
            shared: Arc::clone(&self.shared),
            abandoned: Arc::clone(&self.abandoned),
        };
        self.tasks.insert(
            shard,
            Running {
                stop,
                task: tokio::spawn(task.run(stopped)),
            },
        );
    }

    /// Stops shards, all at once, and waits for them: at most the deadlines of draining and closing.
    async fn stop(&mut self, shards: &[u32]) {
        let stopping: Vec<Running> = shards
            .iter()
            .filter_map(|shard| self.tasks.remove(shard))
            .collect();
        for running in &stopping {
            running.stop.send_replace(true);
        }
        for running in stopping {
            if let Err(error) = running.task.await {
                tracing::error!(%error, "a shard's task died");
            }
        }
    }

    /// Lets go of everything.
    pub(crate) async fn stop_all(mut self) {
        self.stop(&self.tasks.keys().copied().collect::<Vec<_>>())
            .await;
        // A row that was being fed is fed again.
        self.feeder.abort();
    }
}
