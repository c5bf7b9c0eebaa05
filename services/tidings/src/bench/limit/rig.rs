//! The processes of a run.

use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use tidings_drill::{
    Deployment, DeploymentOptions, DrillAccount, LimitTopic, Profile, Role, RoleKind,
};
use tidings_stack::Stack;

use super::calls::Kind;
use super::clocks::ShiftedClocks;
use super::feed::{Publisher, alias};
use super::options::Chaos;
use super::plan::{PARTITIONS, Plan};
use super::waits;

/// Lanes of a platform (design §4).
const LANES: u64 = 3;

/// How long the group may take until every partition has its worker.
const SETTLED: Duration = Duration::from_secs(60);

/// How long all of many workers may take to start on a busy machine.
const READY: Duration = Duration::from_secs(120);

const STOP: Duration = Duration::from_secs(15);

/// Messages that show that every partition is worked on.
const WARM_UP: u64 = 60;

/// The longest that they may take.
const WARM: Duration = Duration::from_secs(90);

/// Then the account is idle, the group has settled, and what a worker does once is done.
const IDLE: Duration = Duration::from_secs(3);

pub(super) struct Rig<'a> {
    pub(super) stack: &'a Stack,
    pub(super) deployment: Arc<Deployment>,
    pub(super) topic: LimitTopic,
    pub(super) workers: Vec<Role>,
    relay: Role,
}

impl<'a> Rig<'a> {
    /// Everything started, and warm: every partition is worked on, and the accounts have been idle for a moment.
    pub(super) async fn start(
        stack: &'a Stack,
        folder: PathBuf,
        plan: &Plan,
    ) -> anyhow::Result<Self> {
        let deployment = Deployment::prepare(stack, options(folder, plan)?).await?;
        let topic = LimitTopic::new(deployment.config()?)?;
        let relay = deployment.run(RoleKind::Relay, 1).await?;
        let workers = workers(&deployment, plan)?;
        let mut rig = Self {
            stack,
            topic,
            relay,
            workers,
            deployment: Arc::new(deployment),
        };
        for worker in &mut rig.workers {
            worker.start().await?;
        }
        rig.ready().await?;
        rig.settled().await?;
        rig.warm_up().await?;
        Ok(rig)
    }

    /// What was accepted before anything is measured.
    pub(super) fn warmed_up(&self) -> u64 {
        WARM_UP
    }

    /// Waits until every worker is.
    pub(super) async fn ready(&mut self) -> anyhow::Result<()> {
        for worker in &mut self.workers {
            worker.ready(READY).await?;
        }
        Ok(())
    }

    /// Waits until every partition has its worker, and every worker a partition.
    async fn settled(&self) -> anyhow::Result<()> {
        let until = Instant::now() + SETTLED;
        loop {
            let mut partitions = Vec::new();
            for worker in &self.workers {
                let health = worker.health().await.unwrap_or_default();
                partitions.push(health["partitions"].as_u64().unwrap_or(0));
            }
            if partitions.iter().sum::<u64>() == LANES * PARTITIONS && !partitions.contains(&0) {
                return Ok(());
            }
            if Instant::now() >= until {
                bail!("the group has not settled within {SETTLED:?}: {partitions:?} partitions");
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn warm_up(&self) -> anyhow::Result<()> {
        let publisher = Publisher::connect(&self.deployment).await?;
        let chats = (0..WARM_UP).map(|number| i64::try_from(number).unwrap_or(0));
        publisher.publish(Kind::Normal, 0, chats).await?;
        self.accepted(WARM_UP).await?;
        tokio::time::sleep(IDLE).await;
        Ok(())
    }

    /// Single messages, each to another chat of the idle first account.
    pub(super) async fn lone(&self, count: u32, pause: Duration) -> anyhow::Result<()> {
        let publisher = Publisher::connect(&self.deployment).await?;
        for number in 0..count {
            publisher
                .publish(Kind::Lone, 0, iter::once(number.into()))
                .await?;
            tokio::time::sleep(pause).await;
        }
        self.accepted(WARM_UP + u64::from(count)).await
    }

    /// Waits until the first account has had so many calls accepted.
    pub(super) async fn accepted(&self, count: u64) -> anyhow::Result<()> {
        let until = Instant::now() + WARM;
        loop {
            let stats = self.deployment.simulator().account_stats(None);
            let accepted = stats.get(&alias(0)).map_or(0, |stats| stats.accepted);
            if accepted >= count {
                return Ok(());
            }
            if Instant::now() >= until {
                bail!(
                    "{accepted} of {count} messages arrived within {WARM:?}; the workers' logs are in {}",
                    self.folder().display()
                );
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until a group gets messages: at first its window counts as full, as the account's (design §9).
    pub(super) async fn group_began(&self) -> anyhow::Result<()> {
        let until = Instant::now() + WARM;
        loop {
            let entries = self.deployment.simulator().log_from(0);
            let mut chats = entries.iter().filter_map(|entry| entry.chat_id.as_deref());
            if chats.any(|chat| Kind::of(chat) == Some(Kind::Group)) {
                return Ok(());
            }
            if Instant::now() >= until {
                bail!("no message reached the group within {WARM:?}");
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    pub(super) fn logs(&self) -> Vec<&Path> {
        self.workers.iter().map(Role::log).collect()
    }

    fn folder(&self) -> &Path {
        let file = self.deployment.config_file();
        file.parent().unwrap_or(file)
    }

    /// Ends everything but the stack.
    pub(super) async fn stop(mut self) -> anyhow::Result<()> {
        for worker in &mut self.workers {
            // What they hold is of no worth any more, and some may wait for a penalty's end.
            worker.kill()?;
        }
        self.relay.stop(STOP).await?;
        let deployment = Arc::into_inner(self.deployment).context("the feed still runs")?;
        deployment.stop().await?;
        Ok(())
    }
}

fn options(folder: PathBuf, plan: &Plan) -> anyhow::Result<DeploymentOptions> {
    let mut options = DeploymentOptions::new(std::env::current_exe()?, folder);
    options.folder = options.folder.join(&options.name);
    options.profile = Profile {
        partitions: u32::try_from(PARTITIONS)?,
        more: waits::LOG.into(),
        ..Profile::drill()
    };
    let account = |index| DrillAccount {
        platform_limits: plan.platform_limits(),
        ..DrillAccount::new(alias(index), plan.proposal())
    };
    options.accounts = (0..plan.accounts).map(account).collect();
    Ok(options)
}

fn workers(deployment: &Deployment, plan: &Plan) -> anyhow::Result<Vec<Role>> {
    let role = |number| {
        let worker = deployment.role(RoleKind::Dispatcher, number);
        // Many accounts fill this machine, and the simulator stands for a platform, which has processors of its own.
        if plan.accounts > 1 {
            worker.giving_way()
        } else {
            worker
        }
    };
    let mut workers: Vec<Role> = (1..=plan.workers).map(role).collect();
    if plan.chaos == Some(Chaos::Clock) {
        let file = deployment.config_file();
        let clocks = ShiftedClocks::prepare(file.parent().unwrap_or(file))?;
        workers = workers
            .into_iter()
            .zip(
                [Some("+1h"), Some("-1h")]
                    .into_iter()
                    .chain(iter::repeat(None)),
            )
            .map(|(worker, offset)| match offset {
                Some(offset) => worker.with_environment(clocks.off_by(offset)),
                None => worker,
            })
            .collect();
    }
    Ok(workers)
}
