//! The task that keeps long penalties in the state database, in the order in which the limiter wants it.

use std::sync::Weak;
use std::time::{Duration, Instant};

use tidings_ratelimit::{Event, Target};
use tokio::sync::mpsc;
use tracing::warn;
use uuid::Uuid;

use super::backoff::Backoff;
use super::penalties::PenaltyStore;
use super::shared::Shared;
use crate::config::LimitsConfig;
use crate::postgres::PostgresError;

/// Something to do in the table of long penalties.
#[derive(Debug)]
pub(super) enum KeeperCommand {
    /// Keep one.
    Keep {
        /// Its id.
        id: Uuid,
        /// What is held.
        target: Target,
        /// How long, from when it was said.
        wait: Duration,
        /// When it ends; `None` beyond what a clock can hold.
        until: Option<Instant>,
    },
    /// An operator ended penalties.
    Forget(Target),
    /// Tell the limiter what is kept.
    Read,
}

/// Carries commands out, each until it succeeds, until the channel ends.
pub(super) async fn run(
    store: PenaltyStore,
    mut commands: mpsc::Receiver<KeeperCommand>,
    shared: Weak<Shared>,
    limits: LimitsConfig,
) {
    while let Some(command) = commands.recv().await {
        let mut backoff = Backoff::new(limits.backoff_min, limits.backoff_max);
        while let Err(error) = carry_out(&store, &command, &shared).await {
            warn!(
                error = &error as &dyn std::error::Error,
                "long penalties: tried again"
            );
            tokio::time::sleep(backoff.next()).await;
            // Nobody is left who wants to know.
            if matches!(command, KeeperCommand::Read) && commands.is_closed() {
                break;
            }
        }
    }
}

async fn carry_out(
    store: &PenaltyStore,
    command: &KeeperCommand,
    shared: &Weak<Shared>,
) -> Result<(), PostgresError> {
    match command {
        KeeperCommand::Keep {
            id,
            target,
            wait,
            until,
        } => {
            let remaining = until.map_or(*wait, |until| {
                until.saturating_duration_since(Instant::now())
            });
            if remaining.is_zero() {
                return Ok(());
            }
            store.keep(*id, target, remaining).await
        }
        KeeperCommand::Forget(target) => store.forget(target).await.map(|_| ()),
        KeeperCommand::Read => {
            let kept = store.read().await?;
            if let Some(shared) = shared.upgrade() {
                shared.tell(Event::Kept(kept));
            }
            Ok(())
        }
    }
}
