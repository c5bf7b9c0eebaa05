use std::collections::VecDeque;

/// The contiguous low watermark of one partition: the commit passes an offset only when everything before it is done.
/// Offsets may have gaps (compaction, control records), so positions are counted by arrival.
#[derive(Debug, Default)]
pub(crate) struct Watermark {
    first: u64,
    outstanding: VecDeque<(i64, bool)>,
    last_arrived: Option<i64>,
}

impl Watermark {
    /// Takes a record in and returns its position; `None` when the offset was taken in before.
    pub(crate) fn arrive(&mut self, offset: i64) -> Option<u64> {
        if self.last_arrived.is_some_and(|last| offset <= last) {
            return None;
        }
        self.last_arrived = Some(offset);
        self.outstanding.push_back((offset, false));
        Some(self.first + self.outstanding.len() as u64 - 1)
    }

    /// Marks a position done. Returns the next offset to read when the watermark moved.
    pub(crate) fn finish(&mut self, position: u64) -> Option<i64> {
        let index = usize::try_from(position.checked_sub(self.first)?).ok()?;
        self.outstanding.get_mut(index)?.1 = true;
        let mut passed = None;
        while let Some((offset, true)) = self.outstanding.front().copied() {
            self.outstanding.pop_front();
            self.first += 1;
            passed = Some(offset + 1);
        }
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::Watermark;

    #[test]
    fn commit_waits_for_the_oldest_and_jumps_over_gaps() {
        let mut mark = Watermark::default();
        let a = mark.arrive(5).unwrap();
        let b = mark.arrive(9).unwrap();
        let c = mark.arrive(10).unwrap();
        assert_eq!(mark.finish(c), None);
        assert_eq!(mark.finish(b), None);
        assert_eq!(mark.finish(a), Some(11));
    }

    #[test]
    fn an_offset_is_taken_in_once() {
        let mut mark = Watermark::default();
        let a = mark.arrive(5).unwrap();
        assert_eq!(mark.arrive(5), None);
        assert_eq!(mark.arrive(4), None);
        assert_eq!(mark.finish(a), Some(6));
        assert_eq!(mark.finish(a), None);
    }
}
