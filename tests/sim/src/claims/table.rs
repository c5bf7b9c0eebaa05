//! The rows, with the semantics of the dispatcher's statements (`services/dispatcher/src/claims/sql.rs`).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tidings_delivery::{Answer, ClaimOutcome, Grant, PartitionId, Settlement};

use crate::dispatcher::WorkerRef;
use crate::times::LEASE;

use super::{Deferrals, StatementRef};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Claimed,
    Started,
    Settled(Settlement),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) state: State,
    pub(crate) fence: i64,
    pub(crate) owner: WorkerRef,
    pub(crate) lease_until: u64,
    tried: Tried,
}

/// What is known of the attempts so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tried {
    pub(crate) attempts: u32,
    pub(crate) first_failed_at_micros: Option<i64>,
}

impl Tried {
    fn merge(&mut self, other: Self) {
        self.attempts = self.attempts.max(other.attempts);
        let first = self.first_failed_at_micros;
        self.first_failed_at_micros = first.or(other.first_failed_at_micros);
    }
}

#[derive(Debug, Clone)]
pub(crate) struct ClaimAsk {
    pub(crate) message: usize,
    pub(crate) partition: PartitionId,
    pub(crate) epoch: i64,
    pub(crate) renew: Option<i64>,
    pub(crate) tried: Tried,
}

/// A row before and after a statement changed it, for the invariants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) before: Option<Row>,
    pub(crate) after: Row,
}

#[derive(Debug, Default)]
pub(crate) struct Claims {
    pub(crate) rows: BTreeMap<usize, Row>,
    pub(crate) epochs: BTreeMap<PartitionId, i64>,
    pub(crate) deferrals: Deferrals,
    /// Statements that hold a partition's epoch row FOR SHARE.
    shares: BTreeMap<PartitionId, usize>,
    /// Bumps that wait for those.
    waiting: BTreeMap<PartitionId, VecDeque<(StatementRef, u64)>>,
    pub(crate) down_until: u64,
    /// Restarts so far: what began before one is never finished.
    pub(crate) restarts: u64,
}

impl Claims {
    /// Reads the epoch FOR SHARE: whether it is current, and then locked until `unshare`.
    pub(crate) fn share(&mut self, partition: PartitionId, epoch: i64) -> bool {
        let current = self.epochs.get(&partition) == Some(&epoch);
        if current {
            *self.shares.entry(partition).or_default() += 1;
        }
        current
    }

    /// Lets the epoch go; returns the bumps that waited for it.
    pub(crate) fn unshare(&mut self, partition: PartitionId) -> Vec<(StatementRef, u64)> {
        let shares = self.shares.entry(partition).or_default();
        *shares = shares.saturating_sub(1);
        if *shares > 0 {
            return Vec::new();
        }
        let waiting = self.waiting.remove(&partition);
        waiting.map(Vec::from).unwrap_or_default()
    }

    pub(crate) fn is_shared(&self, partition: PartitionId) -> bool {
        self.shares
            .get(&partition)
            .is_some_and(|shares| *shares > 0)
    }

    pub(crate) fn wait_for_shares(&mut self, partition: PartitionId, bump: (StatementRef, u64)) {
        self.waiting.entry(partition).or_default().push_back(bump);
    }

    pub(crate) fn bump(&mut self, partition: PartitionId) -> i64 {
        let epoch = self.epochs.entry(partition).or_default();
        *epoch += 1;
        *epoch
    }

    /// Everything that runs is aborted, every lock freed. Returns the bumps that waited.
    pub(crate) fn restart(&mut self, until: u64) -> Vec<StatementRef> {
        self.down_until = until;
        self.restarts += 1;
        self.shares.clear();
        let waiting = std::mem::take(&mut self.waiting);
        let bumps = waiting.into_values().flatten();
        bumps.map(|(reference, _)| reference).collect()
    }

    pub(crate) fn claim(
        &mut self,
        now: u64,
        owner: WorkerRef,
        ask: &ClaimAsk,
    ) -> (ClaimOutcome, Option<Taken>) {
        let before = self.rows.get(&ask.message).copied();
        let outcome = match ask.renew {
            Some(fence) => self.renew(now, owner, fence, ask),
            None => self.take(now, owner, ask),
        };
        let after = self.rows.get(&ask.message).copied();
        let taken = match (&outcome, after) {
            (ClaimOutcome::Granted(_), Some(after)) => Some(Taken { before, after }),
            (_, _) => None,
        };
        (outcome, taken)
    }

    /// Extends what is held and takes `started` back. The fence moves: a renewal that was given up as unanswered and is
    /// carried out later must not take back a `started` that was committed since.
    fn renew(&mut self, now: u64, owner: WorkerRef, fence: i64, ask: &ClaimAsk) -> ClaimOutcome {
        match self.rows.get_mut(&ask.message) {
            Some(Row {
                state: State::Settled(end),
                ..
            }) => ClaimOutcome::Settled(*end),
            Some(row) if row.fence == fence && row.owner == owner => {
                row.state = State::Claimed;
                row.fence += 1;
                row.lease_until = now + LEASE;
                row.tried.merge(ask.tried);
                ClaimOutcome::Granted(grant(row, false))
            }
            Some(_) | None => ClaimOutcome::Fenced,
        }
    }

    fn take(&mut self, now: u64, owner: WorkerRef, ask: &ClaimAsk) -> ClaimOutcome {
        let row = self.rows.entry(ask.message).or_insert(Row {
            state: State::Claimed,
            fence: 0,
            owner,
            lease_until: 0,
            tried: Tried::default(),
        });
        match row.state {
            State::Settled(end) => ClaimOutcome::Settled(end),
            State::Claimed | State::Started if row.lease_until > now => ClaimOutcome::Busy {
                wait: Duration::from_micros((row.lease_until - now).max(5_000)),
            },
            State::Claimed | State::Started => {
                row.fence += 1;
                row.owner = owner;
                row.lease_until = now + LEASE;
                ClaimOutcome::Granted(grant(row, row.state == State::Started))
            }
        }
    }

    pub(crate) fn start(
        &mut self,
        now: u64,
        owner: WorkerRef,
        message: usize,
        fence: i64,
    ) -> Answer {
        let row = self.held(owner, message, fence);
        match row.filter(|row| row.state == State::Claimed && row.lease_until > now) {
            Some(row) => {
                row.state = State::Started;
                Answer::Done
            }
            None => Answer::Fenced,
        }
    }

    /// `Delivered` is a fact, from any fence; the others need their fence, or a lease that ran out.
    pub(crate) fn settle(
        &mut self,
        now: u64,
        message: usize,
        fence: i64,
        end: Settlement,
    ) -> Answer {
        let Some(row) = self.rows.get_mut(&message) else {
            return Answer::Done;
        };
        let free = row.fence == fence || row.lease_until <= now;
        match row.state {
            State::Settled(_) => Answer::Done,
            State::Claimed | State::Started if end == Settlement::Delivered || free => {
                row.state = State::Settled(end);
                Answer::Done
            }
            State::Claimed | State::Started => Answer::Fenced,
        }
    }

    pub(crate) fn release(
        &mut self,
        now: u64,
        owner: WorkerRef,
        message: usize,
        fence: i64,
        tried: Tried,
    ) {
        let row = self.held(owner, message, fence);
        if let Some(row) = row.filter(|row| !matches!(row.state, State::Settled(_))) {
            row.state = State::Claimed;
            row.lease_until = now;
            row.tried.merge(tried);
        }
    }

    fn held(&mut self, owner: WorkerRef, message: usize, fence: i64) -> Option<&mut Row> {
        let row = self.rows.get_mut(&message)?;
        (row.fence == fence && row.owner == owner).then_some(row)
    }

    pub(crate) fn settlement(&self, message: usize) -> Option<Settlement> {
        match self.rows.get(&message)?.state {
            State::Settled(end) => Some(end),
            State::Claimed | State::Started => None,
        }
    }
}

fn grant(row: &Row, started_before: bool) -> Grant {
    Grant {
        fence: row.fence,
        attempts: row.tried.attempts,
        first_failed_at_micros: row.tried.first_failed_at_micros,
        started_before,
    }
}
