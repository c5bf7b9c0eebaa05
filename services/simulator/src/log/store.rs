//! Entries in memory: numbered without gaps, found by number at once, and never moved as they grow in number.

use super::entry::{Entry, Outcome};

/// Entries in one piece of memory; a single vector of millions would stop every call while it is moved.
const SEGMENT_ENTRIES: usize = 4_096;
/// What an entry takes besides its texts, in bytes, for the bound on memory.
const ENTRY_OVERHEAD_BYTES: usize = std::mem::size_of::<Entry>();

/// The entries from `first_seq` on.
pub(super) struct Store {
    first_seq: u64,
    segments: Vec<Vec<Entry>>,
    bytes: usize,
}

impl Store {
    /// Empty; the first entry will be `first_seq`.
    pub(super) fn starting_at(first_seq: u64) -> Self {
        Self {
            first_seq,
            segments: Vec::new(),
            bytes: 0,
        }
    }

    /// The next entry's number.
    pub(super) fn next_seq(&self) -> u64 {
        self.first_seq + self.len() as u64
    }

    pub(super) fn len(&self) -> usize {
        let full = self.segments.len().saturating_sub(1) * SEGMENT_ENTRIES;
        full + self.segments.last().map_or(0, Vec::len)
    }

    /// Memory taken, in bytes, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends `entry`, whose number must be [`Store::next_seq`].
    pub(super) fn push(&mut self, entry: Entry) {
        debug_assert_eq!(entry.seq, self.next_seq());
        self.bytes += entry_bytes(&entry);
        match self.segments.last_mut() {
            Some(segment) if segment.len() < SEGMENT_ENTRIES => segment.push(entry),
            Some(_) | None => {
                let mut segment = Vec::with_capacity(SEGMENT_ENTRIES);
                segment.push(entry);
                self.segments.push(segment);
            }
        }
    }

    /// Fills in an entry's answer; `None` if the entry is not there, or has one already.
    pub(super) fn answer(&mut self, seq: u64, outcome: Outcome) -> Option<&Entry> {
        let index = usize::try_from(seq.checked_sub(self.first_seq)?).ok()?;
        let segment = self.segments.get_mut(index / SEGMENT_ENTRIES)?;
        let entry = segment.get_mut(index % SEGMENT_ENTRIES)?;
        if entry.answer.is_some() {
            return None;
        }
        entry.answer = Some(outcome);
        Some(entry)
    }

    /// Up to `limit` entries from `seq` on.
    pub(super) fn read(&self, seq: u64, limit: usize) -> Vec<Entry> {
        let start = usize::try_from(seq.saturating_sub(self.first_seq)).unwrap_or(usize::MAX);
        let segments = self.segments.iter().skip(start / SEGMENT_ENTRIES);
        segments
            .flatten()
            .skip(start % SEGMENT_ENTRIES)
            .take(limit)
            .cloned()
            .collect()
    }
}

/// About what `entry` takes, in bytes.
pub(super) fn entry_bytes(entry: &Entry) -> usize {
    let texts = [
        &entry.account,
        &entry.chat_id,
        &entry.thread_id,
        &entry.text,
        &entry.parse_mode,
        &entry.attempt,
    ];
    ENTRY_OVERHEAD_BYTES + texts.into_iter().flatten().map(String::len).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::entry::Arrival;

    #[test]
    fn entries_are_found_by_number_across_segments() {
        let mut store = Store::starting_at(11);
        let count = SEGMENT_ENTRIES as u64 * 2 + 3;
        for seq in 11..11 + count {
            assert_eq!(store.next_seq(), seq);
            store.push(Arrival::default().numbered(seq, None));
        }
        for seq in [
            11,
            12,
            10 + SEGMENT_ENTRIES as u64,
            11 + SEGMENT_ENTRIES as u64,
            10 + count,
        ] {
            assert_eq!(
                store.answer(seq, Outcome::Lost).map(|entry| entry.seq),
                Some(seq)
            );
            assert_eq!(store.read(seq, 1).first().map(|entry| entry.seq), Some(seq));
        }
        assert!(store.answer(10, Outcome::Lost).is_none());
        assert!(store.answer(11 + count, Outcome::Lost).is_none());
        assert_eq!(store.read(0, usize::MAX).len() as u64, count);
        assert!(store.read(u64::MAX, 5).is_empty());
    }
}
