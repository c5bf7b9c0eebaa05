use std::collections::{BTreeMap, BTreeSet};

use tidings_outbox::{ReadPlan, Snapshot};

use super::sessions::{Session, SessionId};

/// Transaction ids, snapshots, the sequence of ids, visible rows, advisory locks and the sessions that hold them.
#[derive(Debug)]
pub(crate) struct OutboxDatabase {
    next_xid: u64,
    highest_ended: u64,
    running: BTreeSet<u64>,
    pub(crate) rows: BTreeMap<i64, Row>,
    pub(crate) locks: BTreeMap<u32, SessionId>,
    pub(crate) sessions: BTreeMap<SessionId, Session>,
    pub(crate) last_session: u64,
}

/// A row that is not deleted.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) xid: u64,
    pub(crate) shard: u32,
    pub(crate) committed: bool,
}

impl OutboxDatabase {
    pub(crate) fn new() -> Self {
        Self {
            next_xid: 100,
            highest_ended: 99,
            running: BTreeSet::new(),
            rows: BTreeMap::new(),
            locks: BTreeMap::new(),
            sessions: BTreeMap::new(),
            last_session: 0,
        }
    }

    /// A transaction gets its id: `pg_current_xact_id()`.
    pub(crate) fn assign(&mut self) -> u64 {
        let xid = self.next_xid;
        self.next_xid += 1;
        self.running.insert(xid);
        xid
    }

    pub(crate) fn insert(&mut self, id: i64, xid: u64, shard: u32) {
        let row = Row {
            xid,
            shard,
            committed: false,
        };
        self.rows.insert(id, row);
    }

    pub(crate) fn commit(&mut self, xid: u64) {
        self.end(xid);
        for row in self.rows.values_mut().filter(|row| row.xid == xid) {
            row.committed = true;
        }
    }

    pub(crate) fn roll_back(&mut self, xid: u64) {
        self.end(xid);
        self.rows.retain(|_, row| row.xid != xid);
    }

    /// As `GetSnapshotData` does it: `xmax` is one past the highest id that has *ended*; what runs at or above it is
    /// not listed.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let xmax = self.highest_ended + 1;
        let listed: Vec<u64> = self.running.range(..xmax).copied().collect();
        let xmin = listed.first().copied().unwrap_or(xmax);
        Snapshot::new(xmin, xmax, listed).unwrap()
    }

    /// The relay's read statement, in one snapshot taken now: the ids that it returns.
    pub(crate) fn read(&self, plan: &ReadPlan, shard: u32, limit: usize) -> (Snapshot, Vec<i64>) {
        let snapshot = self.snapshot();
        let ended = plan
            .xids
            .iter()
            .zip(&plan.restarts)
            .filter(|(xid, _)| snapshot.ended(**xid));
        let start = ended
            .map(|(_, restart)| *restart)
            .fold(plan.position, i64::min);
        let ids = self
            .rows
            .range(start + 1..)
            .filter(|(id, row)| {
                row.committed && row.shard == shard && plan.skip.binary_search(id).is_err()
            })
            .map(|(id, _)| *id)
            .take(limit)
            .collect();
        (snapshot, ids)
    }

    fn end(&mut self, xid: u64) {
        self.highest_ended = self.highest_ended.max(xid);
        self.running.remove(&xid);
    }
}
