use std::collections::{BTreeMap, BTreeSet};

use tidings_delivery::PartitionId;

/// The newest watermark of each assigned partition, and which of them Kafka may not have.
///
/// librdkafka (2.12) tells nobody when an asynchronous commit is refused, as it is in the middle of a rebalance; its
/// statistics tell what it holds for committed, so that is compared, and the newest watermark is sent again. An older
/// one never is: Kafka would take it, and the group would go back.
#[derive(Debug, Default)]
pub(super) struct Commits {
    newest: BTreeMap<PartitionId, i64>,
    unsent: BTreeSet<PartitionId>,
}

impl Commits {
    /// The watermark of a partition moved.
    pub(super) fn moved(&mut self, id: PartitionId, offset: i64) {
        self.newest.insert(id, offset);
        self.unsent.insert(id);
    }

    /// Takes what is to be sent.
    pub(super) fn take_unsent(&mut self) -> Vec<(PartitionId, i64)> {
        let unsent = std::mem::take(&mut self.unsent);
        let newest = |id| self.newest.get(&id).map(|offset| (id, *offset));
        unsent.into_iter().filter_map(newest).collect()
    }

    /// What was sent for a partition was refused.
    pub(super) fn refused(&mut self, id: PartitionId) {
        if self.newest.contains_key(&id) {
            self.unsent.insert(id);
        }
    }

    /// The client holds `committed` for a partition's committed offset; a negative number is "none".
    pub(super) fn compare(&mut self, id: PartitionId, committed: i64) {
        if self
            .newest
            .get(&id)
            .is_some_and(|newest| committed < *newest)
        {
            self.unsent.insert(id);
        }
    }

    /// A partition is not assigned any more.
    pub(super) fn forget(&mut self, id: PartitionId) {
        self.newest.remove(&id);
        self.unsent.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: PartitionId = PartitionId {
        lane: 0,
        partition: 3,
    };

    #[test]
    fn what_was_refused_in_silence_is_sent_again_and_only_the_newest() {
        let mut commits = Commits::default();
        commits.moved(ID, 87);
        assert_eq!(commits.take_unsent(), [(ID, 87)]);
        commits.moved(ID, 92);
        assert_eq!(commits.take_unsent(), [(ID, 92)]);
        commits.compare(ID, 80);
        assert_eq!(commits.take_unsent(), [(ID, 92)], "never 87 again");
        commits.compare(ID, 92);
        assert_eq!(commits.take_unsent(), []);
    }

    #[test]
    fn nothing_is_sent_for_a_partition_that_has_gone() {
        let mut commits = Commits::default();
        commits.moved(ID, 5);
        commits.forget(ID);
        commits.refused(ID);
        commits.compare(ID, -1_001);
        assert_eq!(commits.take_unsent(), []);
    }
}
