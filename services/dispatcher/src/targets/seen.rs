use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use tidings_edge::targets::{TargetName, TargetRow};

/// How far back each look goes: a change is seen only once it is committed, which may be after a later one is. Statements
/// about targets are single ones, so this is far more than they take.
const OVERLAP: Duration = Duration::from_secs(10);

/// What of the registry was told already.
#[derive(Default)]
pub(super) struct Seen {
    newest: Option<SystemTime>,
    /// The rows of the overlap, with their change.
    recent: HashMap<TargetName, SystemTime>,
}

impl Seen {
    /// From when on changes may be unknown; `None` while nothing is known.
    pub(super) fn since(&self) -> Option<SystemTime> {
        self.newest?.checked_sub(OVERLAP)
    }

    /// Those that were not told before.
    pub(super) fn fresh(&mut self, rows: Vec<TargetRow>) -> Vec<TargetRow> {
        let known = |row: &TargetRow| self.recent.get(&row.name) == Some(&row.changed_at);
        let fresh: Vec<TargetRow> = rows.into_iter().filter(|row| !known(row)).collect();
        self.newest = fresh
            .iter()
            .map(|row| row.changed_at)
            .chain(self.newest)
            .max();
        let since = self.since();
        let told = fresh.iter().map(|row| (row.name.clone(), row.changed_at));
        self.recent.extend(told);
        self.recent
            .retain(|_, changed_at| Some(*changed_at) >= since);
        fresh
    }
}

#[cfg(test)]
mod tests {
    use tidings_edge::targets::TargetKind;

    use super::*;

    fn row(chat_id: &str, seconds: u64) -> TargetRow {
        let changed_at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds);
        TargetRow {
            name: TargetName {
                platform: "telegram".into(),
                account: "main".into(),
                chat_id: chat_id.into(),
                thread_id: String::new(),
            },
            kind: TargetKind::Alive,
            reason: String::new(),
            since: changed_at,
            changed_at,
        }
    }

    #[test]
    fn a_change_is_told_once_and_one_that_was_committed_late_too() {
        let mut seen = Seen::default();
        assert_eq!(seen.since(), None);
        assert_eq!(seen.fresh(vec![row("a", 1), row("b", 20)]).len(), 2);
        assert_eq!(seen.since(), Some(row("b", 10).changed_at));
        let late = vec![row("c", 15), row("b", 20)];
        assert_eq!(seen.fresh(late), [row("c", 15)]);
        assert_eq!(seen.fresh(vec![row("c", 15), row("b", 20)]), []);
        assert_eq!(seen.fresh(vec![row("b", 21)]), [row("b", 21)]);
    }

    #[test]
    fn what_lies_before_the_overlap_is_forgotten() {
        let mut seen = Seen::default();
        for second in 0..1_000 {
            seen.fresh(vec![row(&second.to_string(), second)]);
        }
        assert!(seen.recent.len() <= 11, "{}", seen.recent.len());
    }
}
