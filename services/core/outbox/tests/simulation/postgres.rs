//! As much of Postgres as the cursor's argument rests on: transaction ids, snapshots, a sequence, visibility.

use std::collections::BTreeMap;

use tidings_outbox::Snapshot;

/// One row of the outbox. Times count the model's steps.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) chat: u64,
    pub(crate) xid: u64,
    pub(crate) inserted_at: u64,
    pub(crate) committed_at: Option<u64>,
    pub(crate) deleted: bool,
}

#[derive(Debug)]
pub(crate) struct Postgres {
    next_xid: u64,
    next_id: i64,
    highest_ended: u64,
    step: u64,
    running: BTreeMap<u64, Vec<i64>>,
    pub(crate) rows: BTreeMap<i64, Row>,
}

impl Postgres {
    pub(crate) fn new() -> Self {
        Self {
            next_xid: 100,
            next_id: 1,
            highest_ended: 99,
            step: 0,
            running: BTreeMap::new(),
            rows: BTreeMap::new(),
        }
    }

    /// A transaction gets its id: `pg_current_xact_id()`.
    pub(crate) fn assign(&mut self) -> u64 {
        let xid = self.next_xid;
        self.next_xid += 1;
        self.running.insert(xid, Vec::new());
        xid
    }

    /// A running transaction draws an id and inserts a row.
    pub(crate) fn insert(&mut self, xid: u64, chat: u64) {
        let id = self.next_id;
        self.next_id += 1;
        let inserted_at = self.tick();
        self.running.get_mut(&xid).unwrap().push(id);
        self.rows.insert(
            id,
            Row {
                chat,
                xid,
                inserted_at,
                committed_at: None,
                deleted: false,
            },
        );
    }

    pub(crate) fn commit(&mut self, xid: u64) {
        let now = self.tick();
        for id in self.end(xid) {
            self.rows.get_mut(&id).unwrap().committed_at = Some(now);
        }
    }

    pub(crate) fn roll_back(&mut self, xid: u64) {
        self.tick();
        for id in self.end(xid) {
            self.rows.remove(&id);
        }
    }

    /// As `GetSnapshotData` does it: `xmax` is one past the highest id that has *ended*, and what runs at or above it
    /// is not listed.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let xmax = self.highest_ended + 1;
        let listed: Vec<u64> = self.running.range(..xmax).map(|(xid, _)| *xid).collect();
        let xmin = listed.first().copied().unwrap_or(xmax);
        Snapshot::new(xmin, xmax, listed).unwrap()
    }

    /// The ids after `start` that a snapshot taken now sees, ascending.
    pub(crate) fn visible_after(&self, start: i64) -> impl Iterator<Item = (i64, &Row)> {
        let visible = |row: &Row| row.committed_at.is_some() && !row.deleted;
        self.rows
            .range(start + 1..)
            .filter(move |(_, row)| visible(row))
            .map(|(id, row)| (*id, row))
    }

    fn end(&mut self, xid: u64) -> Vec<i64> {
        self.highest_ended = self.highest_ended.max(xid);
        self.running.remove(&xid).unwrap()
    }

    fn tick(&mut self) -> u64 {
        self.step += 1;
        self.step
    }
}
