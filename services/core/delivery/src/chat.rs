use std::collections::VecDeque;

use crate::SlotId;

/// The messages of one chat in one lane partition, oldest first. Only the head moves.
#[derive(Debug, Default)]
pub(crate) struct Chat {
    pub(crate) queue: VecDeque<SlotId>,
    /// Past its share: the partition is paused for it until it is at half of it.
    pub(crate) over: bool,
}

impl Chat {
    pub(crate) fn head(&self) -> Option<SlotId> {
        self.queue.front().copied()
    }
}
