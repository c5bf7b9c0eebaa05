//! A snapshot of Postgres: which transactions it sees as ended.

/// The most transactions in progress that a snapshot may list: Postgres' own bound on `max_connections`, 262,143,
/// and as many prepared transactions.
const MAX_IN_PROGRESS: usize = 2 * 262_143;

/// A snapshot as `pg_current_snapshot()` shows it.
///
/// A trap that the cursor has to respect: `xmax` is one past the highest transaction that has *ended*, not the next
/// one to be assigned. Transactions at or above it may be running, with rows inserted, without being listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    xmin: u64,
    xmax: u64,
    in_progress: Vec<u64>,
}

/// Why a text is not a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// Not of the form `xmin:xmax:xip,…`.
    #[error("the snapshot is not of the form xmin:xmax:xip,...")]
    Shape,
    /// A part is not an unsigned 64-bit number.
    #[error("the snapshot holds something else than transaction ids")]
    Number,
    /// `xmin` above `xmax`, or a listed id outside of them, or the list out of order.
    #[error("the snapshot's transaction ids contradict each other")]
    Contradiction,
    /// More ids than Postgres can have in progress.
    #[error("the snapshot lists more than {MAX_IN_PROGRESS} transactions")]
    TooLong,
}

impl Snapshot {
    /// Reads the text of `pg_current_snapshot()`, `xmin:xmax:xip,xip,…`.
    pub fn parse(text: &str) -> Result<Self, SnapshotError> {
        let mut parts = text.split(':');
        let (Some(xmin), Some(xmax), Some(list), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(SnapshotError::Shape);
        };
        let ids = list.split(',').filter(|_| !list.is_empty());
        let in_progress: Vec<u64> = ids
            .take(MAX_IN_PROGRESS + 1)
            .map(number)
            .collect::<Result<_, _>>()?;
        Self::new(number(xmin)?, number(xmax)?, in_progress)
    }

    /// A snapshot of its parts; `in_progress` ascending, each id in `xmin..xmax`.
    pub fn new(xmin: u64, xmax: u64, in_progress: Vec<u64>) -> Result<Self, SnapshotError> {
        if in_progress.len() > MAX_IN_PROGRESS {
            return Err(SnapshotError::TooLong);
        }
        let ascending = in_progress.is_sorted_by(|a, b| a < b);
        let inside = in_progress.iter().all(|xid| (xmin..xmax).contains(xid));
        if xmin > xmax || !ascending || !inside {
            return Err(SnapshotError::Contradiction);
        }
        Ok(Self {
            xmin,
            xmax,
            in_progress,
        })
    }

    /// Whether transaction `xid` had ended, by commit or rollback, when the snapshot was taken.
    #[must_use]
    pub fn ended(&self, xid: u64) -> bool {
        xid < self.xmin || (xid < self.xmax && self.in_progress.binary_search(&xid).is_err())
    }

    /// Every transaction below it had ended.
    #[must_use]
    pub fn xmin(&self) -> u64 {
        self.xmin
    }

    /// No transaction at or above it had ended.
    #[must_use]
    pub fn xmax(&self) -> u64 {
        self.xmax
    }

    /// The transactions below `xmax` that were in progress, ascending.
    #[must_use]
    pub fn in_progress(&self) -> &[u64] {
        &self.in_progress
    }
}

fn number(text: &str) -> Result<u64, SnapshotError> {
    // `u64::from_str` would take a sign.
    if text.starts_with('+') {
        return Err(SnapshotError::Number);
    }
    text.parse().map_err(|_| SnapshotError::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_postgres_prints() {
        let snapshot = Snapshot::parse("10:20:10,14,15").unwrap();
        assert_eq!(
            (snapshot.xmin(), snapshot.xmax(), snapshot.in_progress()),
            (10, 20, &[10, 14, 15][..])
        );
        assert!(
            Snapshot::parse("795:795:")
                .unwrap()
                .in_progress()
                .is_empty()
        );
    }

    #[test]
    fn tells_ended_from_running_and_unassigned() {
        let snapshot = Snapshot::parse("10:20:10,14").unwrap();
        for ended in [1, 9, 11, 13, 19] {
            assert!(snapshot.ended(ended), "{ended}");
        }
        for not_ended in [10, 14, 20, 21, u64::MAX] {
            assert!(!snapshot.ended(not_ended), "{not_ended}");
        }
    }

    #[test]
    fn refuses_anything_else() {
        for (text, why) in [
            ("", SnapshotError::Shape),
            ("1:2", SnapshotError::Shape),
            ("1:2:3:4", SnapshotError::Shape),
            ("1:2:,", SnapshotError::Number),
            ("-1:2:", SnapshotError::Number),
            ("+1:2:", SnapshotError::Number),
            ("1:99999999999999999999:", SnapshotError::Number),
            ("1:5:a", SnapshotError::Number),
            ("5:4:", SnapshotError::Contradiction),
            ("1:5:5", SnapshotError::Contradiction),
            ("2:5:1", SnapshotError::Contradiction),
            ("1:5:3,2", SnapshotError::Contradiction),
            ("1:5:3,3", SnapshotError::Contradiction),
        ] {
            assert_eq!(Snapshot::parse(text), Err(why), "{text}");
        }
    }
}
