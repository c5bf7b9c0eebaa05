//! The cursor: from which id the next read starts.
//!
//! # The problem
//! Ids are drawn before a transaction commits, so a row may become visible below ids that were read already. A cursor
//! that goes on after the last id skips it (reference/cases.md, R1); one that reads from the start each time scans all
//! dead rows behind a long transaction (R8); and a late row that is found only some time later lets its successors in
//! the chat overtake it (design §6, the order promised).
//!
//! # The rule
//! A read is one statement with one snapshot `S`, ordered by id, limited. If it finds rows it also draws a transaction
//! id, the *mark* `N`, in the same statement and so after `S` was taken. Let `high` be the highest id read so far.
//!
//! * Read `k` may have passed over rows of each transaction that was assigned before `S(k)` and had not ended in it.
//!   Those are the ones that `S(k)` lists, and some at or above its `xmax`, which is only one past the highest *ended*
//!   transaction; all of the latter are below `N(k)`. Each of them that is not tracked yet is tracked with
//!   `restart = high` as it was before read `k`.
//! * The next read starts, judged in its own snapshot, at the least of the position and the restarts of the tracked
//!   transactions that have ended, and skips the rows in flight.
//! * A read that was cut by its limit leaves the position at the last id that it returned, another one never lowers it.
//!
//! # Why nothing is skipped
//! `tidings.publish` has the transaction's id assigned before it draws the row's. *A restart is below all ids of its
//! transaction*: x was not tracked before read `k`, so x is above the mark of the last read before it that found rows
//! (below the mark it would have ended or been tracked by then). Hence x was assigned, and drew its ids, after that
//! read's snapshot, in which all ids up to `high` were seen. *A row r of x at or below the position that was never
//! returned is of a transaction that the last snapshot does not see as ended*: else take the first read where this
//! fails. It saw r, since x has ended in its snapshot, but started after r. Before it the statement held, so x had not
//! ended in the snapshot before, and r was below the position: x was tracked, and the read started at its restart or
//! below, which is below r. So when the last transaction has ended and a read is not cut, nothing is left.
//!
//! # Why the order holds
//! Let a precede b by the promise. Then a's id is lower, and every snapshot that sees b sees a. The read that first
//! returns b either has returned a before, or starts below a by the same argument, and reads in id order.

use std::collections::BTreeMap;

use crate::{InFlight, Snapshot};

/// The default of the most transactions that are tracked one by one. It costs about 50 bytes each and lets through
/// all that run on a server with a thousand connections.
pub const DEFAULT_MAX_TRACKED: usize = 4_096;

/// What the next read statement does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadPlan {
    /// Read rows with an id greater than this, or than a lower restart.
    pub position: i64,
    /// Transactions whose end lowers the start of this read; ascending.
    pub xids: Vec<u64>,
    /// For each of `xids`, the id after which to start once it has ended.
    pub restarts: Vec<i64>,
    /// Ids to leave out, ascending: the rows in flight that the read could meet.
    pub skip: Vec<i64>,
}

/// What a read came back with.
#[derive(Debug, Clone, Copy)]
pub struct ReadResult<'a> {
    /// The statement's snapshot.
    pub snapshot: &'a Snapshot,
    /// The rows it returned, if any.
    pub rows: Option<RowsRead>,
}

/// The rows of a read that returned some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsRead {
    /// The id of the last, highest row.
    pub last_id: i64,
    /// The transaction id that the statement drew after its snapshot was taken.
    pub mark: u64,
    /// Whether a limit may have cut the read.
    pub truncated: bool,
}

/// The cursor of one shard on one session. It starts at the table's start and is thrown away with the session.
#[derive(Debug)]
pub struct Cursor {
    position: i64,
    high: i64,
    tracked: BTreeMap<u64, i64>,
    max_tracked: usize,
    overflow: Option<Overflow>,
}

/// Transactions that were too many to track: until all have ended, each read starts at the least of their restarts.
#[derive(Debug, Clone, Copy)]
struct Overflow {
    restart: i64,
    highest_xid: u64,
}

impl Default for Cursor {
    fn default() -> Self {
        Self::new()
    }
}

impl Cursor {
    /// A cursor at the start of the table, tracking [`DEFAULT_MAX_TRACKED`] transactions.
    #[must_use]
    pub fn new() -> Self {
        Self::with_max_tracked(DEFAULT_MAX_TRACKED)
    }

    /// A cursor at the start of the table that tracks at most `max_tracked` transactions. Beyond that it is as right,
    /// and reads again what the surplus may have passed over until it has ended.
    #[must_use]
    pub fn with_max_tracked(max_tracked: usize) -> Self {
        Self {
            position: 0,
            high: 0,
            tracked: BTreeMap::new(),
            max_tracked,
            overflow: None,
        }
    }

    /// What the next read does. `safety_due` makes it a safety pass, from the table's start.
    #[must_use]
    pub fn plan(&self, in_flight: &InFlight, safety_due: bool) -> ReadPlan {
        let known = self.overflow.map_or(self.position, |overflow| {
            self.position.min(overflow.restart)
        });
        let position = if safety_due { 0 } else { known };
        let lowering = self
            .tracked
            .iter()
            .filter(|(_, restart)| **restart < position);
        let (xids, restarts): (Vec<u64>, Vec<i64>) = lowering.unzip();
        let least = restarts.iter().copied().min().unwrap_or(position);
        ReadPlan {
            position,
            xids,
            restarts,
            skip: in_flight.after(least),
        }
    }

    /// Takes in what the planned read came back with.
    pub fn absorb(&mut self, result: ReadResult<'_>) {
        self.forget_ended(result.snapshot);
        self.track_unended(result.snapshot, result.rows.map(|rows| rows.mark));
        let Some(rows) = result.rows else { return };
        self.high = self.high.max(rows.last_id);
        self.position = if rows.truncated {
            rows.last_id
        } else {
            self.position.max(rows.last_id)
        };
    }

    /// How many transactions are tracked one by one.
    #[must_use]
    pub fn tracked(&self) -> usize {
        self.tracked.len()
    }

    /// The id up to which everything visible was read.
    #[must_use]
    pub fn position(&self) -> i64 {
        self.position
    }

    fn forget_ended(&mut self, snapshot: &Snapshot) {
        self.tracked.retain(|xid, _| !snapshot.ended(*xid));
        if self
            .overflow
            .is_some_and(|overflow| overflow.highest_xid < snapshot.xmin())
        {
            self.overflow = None;
        }
    }

    fn track_unended(&mut self, snapshot: &Snapshot, mark: Option<u64>) {
        for xid in snapshot.in_progress() {
            self.track(*xid);
        }
        let unlisted = snapshot.xmax()..mark.unwrap_or(0);
        let tracked_one_by_one = unlisted.clone().take(self.max_tracked);
        let beyond = unlisted.clone().nth(self.max_tracked);
        for xid in tracked_one_by_one {
            self.track(xid);
        }
        if beyond.is_some() {
            self.overflow_with(unlisted.end.saturating_sub(1));
        }
    }

    fn track(&mut self, xid: u64) {
        if self.tracked.contains_key(&xid) {
            return;
        }
        if self.tracked.len() < self.max_tracked {
            self.tracked.insert(xid, self.high);
        } else {
            self.overflow_with(xid);
        }
    }

    fn overflow_with(&mut self, xid: u64) {
        let before = self.overflow.unwrap_or(Overflow {
            restart: self.high,
            highest_xid: xid,
        });
        self.overflow = Some(Overflow {
            restart: before.restart.min(self.high),
            highest_xid: before.highest_xid.max(xid),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cursor: &mut Cursor, snapshot: &str, rows: Option<(i64, u64, bool)>) {
        let snapshot = Snapshot::parse(snapshot).unwrap();
        let rows = rows.map(|(last_id, mark, truncated)| RowsRead {
            last_id,
            mark,
            truncated,
        });
        cursor.absorb(ReadResult {
            snapshot: &snapshot,
            rows,
        });
    }

    fn plan(cursor: &Cursor) -> (i64, Vec<(u64, i64)>) {
        let plan = cursor.plan(&InFlight::new(), false);
        (
            plan.position,
            plan.xids.into_iter().zip(plan.restarts).collect(),
        )
    }

    #[test]
    fn a_listed_transaction_restarts_where_the_read_that_first_saw_it_started() {
        let mut cursor = Cursor::new();
        read(&mut cursor, "100:100:", Some((10, 100, false)));
        read(&mut cursor, "101:105:101,103", Some((20, 105, false)));
        assert_eq!(plan(&cursor), (20, vec![(101, 10), (103, 10)]));
        read(&mut cursor, "103:110:103,107", Some((30, 110, false)));
        assert_eq!(plan(&cursor), (30, vec![(103, 10), (107, 20)]));
        read(&mut cursor, "111:111:", None);
        assert_eq!(plan(&cursor), (30, vec![]));
    }

    #[test]
    fn a_running_transaction_above_xmax_is_tracked_too() {
        let mut cursor = Cursor::new();
        read(&mut cursor, "100:100:", Some((10, 100, false)));
        read(&mut cursor, "101:101:", Some((20, 103, false)));
        assert_eq!(plan(&cursor), (20, vec![(101, 10), (102, 10)]));
    }

    #[test]
    fn reads_that_find_nothing_change_no_restart() {
        let mut cursor = Cursor::new();
        read(&mut cursor, "100:100:", Some((10, 100, false)));
        read(&mut cursor, "101:104:101", None);
        assert_eq!(plan(&cursor), (10, vec![]));
        read(&mut cursor, "101:108:101", Some((20, 109, false)));
        assert_eq!(plan(&cursor), (20, vec![(101, 10), (108, 10)]));
    }

    #[test]
    fn a_cut_read_steps_back_and_a_whole_one_never_does() {
        let mut cursor = Cursor::new();
        read(&mut cursor, "100:100:", Some((50, 100, false)));
        read(&mut cursor, "101:101:", Some((30, 101, true)));
        assert_eq!(cursor.position(), 30);
        read(&mut cursor, "102:102:", Some((40, 102, false)));
        assert_eq!(cursor.position(), 40);
        read(&mut cursor, "103:103:", Some((20, 103, false)));
        assert_eq!(cursor.position(), 40);
    }

    #[test]
    fn a_safety_pass_starts_at_the_start_and_skips_all_in_flight() {
        let mut cursor = Cursor::new();
        read(&mut cursor, "100:100:", Some((50, 100, false)));
        let mut in_flight = InFlight::new();
        for id in [3, 50] {
            in_flight.insert(id);
        }
        assert!(cursor.plan(&in_flight, false).skip.is_empty());
        let safety = cursor.plan(&in_flight, true);
        assert_eq!(
            (safety.position, safety.xids, safety.skip),
            (0, vec![], vec![3, 50])
        );
    }

    #[test]
    fn beyond_its_bound_it_starts_low_until_the_surplus_has_ended() {
        let mut cursor = Cursor::with_max_tracked(2);
        read(&mut cursor, "100:100:", Some((10, 100, false)));
        read(&mut cursor, "101:101:", Some((20, u64::MAX, false)));
        assert_eq!(cursor.tracked(), 2);
        assert_eq!(plan(&cursor), (10, vec![]));
        read(&mut cursor, "200:200:", None);
        assert_eq!(plan(&cursor).0, 10);

        let mut cursor = Cursor::with_max_tracked(1);
        read(&mut cursor, "100:100:", Some((10, 100, false)));
        read(&mut cursor, "101:104:101,103", Some((20, 104, false)));
        assert_eq!(plan(&cursor), (10, vec![]));
        read(&mut cursor, "103:109:103", Some((30, 110, false)));
        assert_eq!(plan(&cursor).0, 10);
        read(&mut cursor, "112:112:", None);
        assert_eq!(plan(&cursor), (30, vec![]));
    }
}
