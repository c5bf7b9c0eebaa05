//! The registry of dead and migrated targets, as a worker uses it: what its calls tell goes in, what other workers and
//! operators change comes out within a poll.

mod seen;

use std::sync::Arc;
use std::time::Duration;

use tidings_delivery::{TargetKey, TargetState};
use tidings_edge::config::TargetsConfig;
use tidings_edge::postgres::PostgresError;
use tidings_edge::targets::{ProbeSchedule, TargetKind, TargetName, TargetRow, TargetStore};
use tokio::time::MissedTickBehavior;
use tracing::{info, warn};

use seen::Seen;

/// The most rows that one look reads; there is another at once while it is full.
const PAGE: i64 = 5_000;

/// Rows that the engine's loop takes at once.
const AT_ONCE: usize = 500;

/// The longest that one statement may take before it counts as failed.
const DEADLINE: Duration = Duration::from_secs(10);

/// Looks between two times of deleting what lives again.
const LOOKS_BETWEEN_SWEEPS: u32 = 3_600;

/// The words kept with a chat that moved.
const MOVED: &str = "the platform says that the chat has this id now";

/// The words kept with a target that a message reached.
const REACHED: &str = "a message was delivered there";

/// The registry, with when dead targets are probed and how often it is looked at.
#[derive(Clone)]
pub(crate) struct Registry {
    store: TargetStore,
    schedule: ProbeSchedule,
    poll: Duration,
    capacity: usize,
}

impl Registry {
    pub(crate) fn new(store: TargetStore, config: &TargetsConfig) -> Self {
        Self {
            store,
            schedule: ProbeSchedule {
                first: config.first_probe,
                longest: config.longest_probe_wait,
            },
            poll: config.poll,
            capacity: config.cache_entries,
        }
    }

    /// Keeps what a call told, in the background: lost, the next call tells it again.
    pub(crate) fn remember(&self, target: &TargetKey, state: TargetState) {
        let Some(name) = name(target) else {
            return;
        };
        let registry = self.clone();
        tokio::spawn(async move {
            let kept = tokio::time::timeout(DEADLINE, registry.keep(&name, &state)).await;
            let problem = match kept {
                Ok(Ok(())) => return,
                Ok(Err(error)) => format!("{:#}", Whole(&error)),
                Err(_) => format!("no answer within {DEADLINE:?}"),
            };
            warn!(%problem, account = %name.account, "a target's state was not kept; the next call tells it again");
        });
    }

    async fn keep(&self, name: &TargetName, state: &TargetState) -> Result<(), PostgresError> {
        match state {
            TargetState::Dead { probe, reason } => {
                let schedule = probe.map(|_| self.schedule);
                self.store.dead(name, reason, schedule).await
            }
            TargetState::Migrated { new_chat_id } => {
                self.store.migrated(name, new_chat_id, MOVED).await
            }
            TargetState::Alive => self.store.alive(name, REACHED).await.map(|_| ()),
        }
    }

    /// Looks for changes until `tell` says that nobody listens any more.
    pub(crate) async fn watch(self, tell: impl Fn(Vec<TargetRow>) -> bool) {
        let mut seen = Seen::default();
        let mut looks = tokio::time::interval(self.poll);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut away, mut count) = (false, 0_u32);
        loop {
            looks.tick().await;
            count = count.wrapping_add(1);
            match self.look(&mut seen, count, &tell).await {
                Ok(true) if away => {
                    away = false;
                    info!("the registry of targets is read again");
                }
                Ok(true) => {}
                Ok(false) => return,
                // Once: the state database being away has its own lines.
                Err(problem) if !away => {
                    away = true;
                    warn!(%problem, "the registry of targets can not be read; what is known holds on");
                }
                Err(_) => {}
            }
        }
    }

    async fn look(
        &self,
        seen: &mut Seen,
        count: u32,
        tell: &impl Fn(Vec<TargetRow>) -> bool,
    ) -> Result<bool, String> {
        if count.is_multiple_of(LOOKS_BETWEEN_SWEEPS) {
            bounded(self.store.forget_the_living()).await?;
        }
        let mut since = seen.since();
        loop {
            let most = match since {
                Some(_) => PAGE,
                None => i64::try_from(self.capacity).unwrap_or(i64::MAX),
            };
            let rows = bounded(self.store.changes(since, most)).await?;
            let last = rows.last().map(|row| row.changed_at);
            let full = since.is_some() && i64::try_from(rows.len()) == Ok(PAGE) && last > since;
            let fresh = seen.fresh(rows);
            for rows in fresh.chunks(AT_ONCE) {
                if !tell(rows.to_vec()) {
                    return Ok(false);
                }
            }
            if !full {
                return Ok(true);
            }
            since = last;
        }
    }
}

async fn bounded<T>(asked: impl Future<Output = Result<T, PostgresError>>) -> Result<T, String> {
    match tokio::time::timeout(DEADLINE, asked).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(Whole(&error).to_string()),
        Err(_) => Err(format!("no answer within {DEADLINE:?}")),
    }
}

/// An error with its causes, for a line of the log.
struct Whole<'a>(&'a dyn std::error::Error);

impl std::fmt::Display for Whole<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

/// A row as the machine knows it; its times end as long from now as they do for the database.
pub(crate) fn told(row: TargetRow) -> (TargetKey, TargetState) {
    let TargetName {
        platform,
        account,
        chat_id,
        thread_id,
    } = row.name;
    let target = TargetKey {
        chat: Arc::from(format!("{platform}:{account}:{chat_id}")),
        thread: (!thread_id.is_empty()).then(|| Arc::from(thread_id)),
    };
    let state = match row.kind {
        TargetKind::Dead { probe, .. } => TargetState::Dead {
            probe,
            reason: row.reason.into(),
        },
        TargetKind::Migrated { new_chat_id } => TargetState::Migrated {
            new_chat_id: new_chat_id.into(),
        },
        TargetKind::Alive => TargetState::Alive,
    };
    (target, state)
}

/// `None` for a chat key that is none.
fn name(target: &TargetKey) -> Option<TargetName> {
    let mut parts = target.chat.splitn(3, ':');
    let (platform, account, chat_id) = (parts.next()?, parts.next()?, parts.next()?);
    Some(TargetName {
        platform: platform.to_owned(),
        account: account.to_owned(),
        chat_id: chat_id.to_owned(),
        thread_id: target.thread.as_deref().unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_target_keeps_its_names_both_ways() {
        let target = TargetKey {
            chat: Arc::from("telegram:main:@a:b"),
            thread: Some(Arc::from("7")),
        };
        let name = name(&target).unwrap();
        assert_eq!(name.chat_id, "@a:b");
        let row = TargetRow {
            name,
            kind: TargetKind::Alive,
            reason: String::new(),
            since: SystemTime::UNIX_EPOCH,
            changed_at: SystemTime::UNIX_EPOCH,
        };
        assert_eq!(told(row), (target, TargetState::Alive));
    }
}
