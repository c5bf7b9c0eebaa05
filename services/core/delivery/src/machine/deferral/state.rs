//! What the machine knows of the deferred chats of its partitions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::machine::ChatKey;
use crate::{DeferredChat, Due, Moment, PartitionId};

/// One deferred chat.
#[derive(Debug)]
pub(in crate::machine) struct Deferral {
    /// When it goes on; `None` until an operator lets go.
    due: Option<Moment>,
    /// Nothing is asked of Postgres before this, though it is due.
    not_before: Moment,
    pub(in crate::machine) give_up: Option<Arc<str>>,
    pub(super) reason: Arc<str>,
    /// The greatest offset of the chat that came from Kafka in this assignment: rows up to it have no predecessor that
    /// has still to come.
    pub(super) seen: Option<i64>,
    /// Records that are being written behind.
    pub(super) deferring: BTreeSet<i64>,
    /// Of those the one whose write moves the marker.
    pub(super) moving: Option<i64>,
    /// Rows that are in memory, until they are removed.
    pub(super) loaded: BTreeSet<i64>,
    /// Whether there may be rows that are not in memory.
    pub(super) more: bool,
    pub(super) errand: Errand,
    /// Stands in the queue of those that want to be loaded.
    wants: bool,
    /// Its entry in the timers.
    wakes_at: Option<Moment>,
}

/// What is asked of Postgres about a chat as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::machine) enum Errand {
    None,
    /// Rows are being read.
    Loading {
        /// What was in memory has been dropped since: what comes would leave a gap.
        stale: bool,
        /// A row was written since: there may be more than the answer says.
        written: bool,
    },
    /// The marker is being removed. What arrives waits for the answer.
    Closing,
}

impl Deferral {
    fn new(due: Option<Moment>, reason: Arc<str>) -> Self {
        Self {
            due,
            not_before: Moment::default(),
            give_up: None,
            reason,
            seen: None,
            deferring: BTreeSet::new(),
            moving: None,
            loaded: BTreeSet::new(),
            more: true,
            errand: Errand::None,
            wants: false,
            wakes_at: None,
        }
    }

    pub(super) fn is_due(&self, now: Moment) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// Whether something may be asked of Postgres about it as a whole.
    pub(super) fn may_go_on(&self, now: Moment) -> bool {
        self.errand == Errand::None && self.is_due(now) && self.not_before <= now
    }

    pub(super) fn due_from(&self, now: Moment) -> Due {
        let wait = self.due.map(|due| now.until(due).min(LONGEST));
        wait.map_or(Due::Held, Due::In)
    }

    /// Something of it was written: there are rows to load, and maybe more than a load that runs will say.
    pub(super) fn wrote(&mut self) {
        self.more = true;
        self.not_before = Moment::default();
        if let Errand::Loading { written, .. } = &mut self.errand {
            *written = true;
        }
    }

    /// What is in memory is dropped: a load that runs continues nothing.
    pub(super) fn restart(&mut self) {
        self.more = true;
        if let Errand::Loading { stale, .. } = &mut self.errand {
            *stale = true;
        }
    }

    pub(super) fn saw(&mut self, offset: i64) {
        self.seen = self.seen.max(Some(offset));
    }
}

/// All of them, and what is under way about them.
#[derive(Debug, Default)]
pub(in crate::machine) struct Deferrals {
    chats: BTreeMap<ChatKey, Deferral>,
    timers: BTreeSet<(Moment, ChatKey)>,
    wanting: VecDeque<ChatKey>,
    /// Loads on their way, with the epoch they were asked under and the rows that they may bring.
    loads: BTreeMap<(ChatKey, i64), usize>,
    /// Rows that the loads on their way may bring.
    reserved: usize,
}

impl Deferrals {
    pub(in crate::machine) fn len(&self) -> usize {
        self.chats.len()
    }

    pub(in crate::machine) fn reserved(&self) -> usize {
        self.reserved
    }

    pub(in crate::machine) fn contains(&self, key: &ChatKey) -> bool {
        self.chats.contains_key(key)
    }

    pub(in crate::machine) fn get(&self, key: &ChatKey) -> Option<&Deferral> {
        self.chats.get(key)
    }

    pub(in crate::machine) fn get_mut(&mut self, key: &ChatKey) -> Option<&mut Deferral> {
        self.chats.get_mut(key)
    }

    pub(super) fn of_partition(&self, id: PartitionId) -> Vec<ChatKey> {
        let from: ChatKey = (id, Arc::from(""));
        let chats = self.chats.range(from..);
        chats
            .map(|(key, _)| key.clone())
            .take_while(|key| key.0 == id)
            .collect()
    }

    pub(super) fn begin(
        &mut self,
        key: &ChatKey,
        due: Option<Moment>,
        reason: Arc<str>,
    ) -> &mut Deferral {
        self.chats
            .entry(key.clone())
            .or_insert_with(|| Deferral::new(due, reason))
    }

    pub(super) fn take_over(&mut self, key: &ChatKey, found: &DeferredChat, now: Moment) {
        let due = moment_of(found.due, now);
        let deferral = self.begin(key, due, Arc::from("found deferred"));
        deferral.give_up.clone_from(&found.give_up);
        self.set_due(key, due);
    }

    pub(super) fn set_due(&mut self, key: &ChatKey, due: Option<Moment>) {
        if let Some(deferral) = self.chats.get_mut(key) {
            deferral.due = due;
            deferral.not_before = Moment::default();
        }
        self.set_timer(key);
    }

    /// Asks nothing of Postgres about it before `at`.
    pub(super) fn wait_until(&mut self, key: &ChatKey, at: Moment) {
        if let Some(deferral) = self.chats.get_mut(key) {
            deferral.not_before = at;
        }
        self.set_timer(key);
    }

    fn set_timer(&mut self, key: &ChatKey) {
        let Some(deferral) = self.chats.get_mut(key) else {
            return;
        };
        let at = deferral.due.map(|due| due.max(deferral.not_before));
        if let Some(earlier) = std::mem::replace(&mut deferral.wakes_at, at) {
            self.timers.remove(&(earlier, key.clone()));
        }
        if let Some(at) = at {
            self.timers.insert((at, key.clone()));
        }
    }

    pub(in crate::machine) fn next_timer(&self) -> Option<Moment> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// The next chat whose moment has come.
    pub(super) fn pop_timer(&mut self, now: Moment) -> Option<ChatKey> {
        if self.timers.first().is_none_or(|(at, _)| *at > now) {
            return None;
        }
        let (_, key) = self.timers.pop_first()?;
        if let Some(deferral) = self.chats.get_mut(&key) {
            deferral.wakes_at = None;
        }
        Some(key)
    }

    /// Puts it behind those that want to be loaded.
    pub(super) fn want_load(&mut self, key: &ChatKey) {
        if let Some(deferral) = self.chats.get_mut(key)
            && !std::mem::replace(&mut deferral.wants, true)
        {
            self.wanting.push_back(key.clone());
        }
    }

    pub(super) fn nobody_wants(&self) -> bool {
        self.wanting.is_empty()
    }

    pub(super) fn pop_wanting(&mut self) -> Option<ChatKey> {
        loop {
            let key = self.wanting.pop_front()?;
            if let Some(deferral) = self.chats.get_mut(&key)
                && std::mem::take(&mut deferral.wants)
            {
                return Some(key);
            }
        }
    }

    pub(super) fn loads(&self) -> usize {
        self.loads.len()
    }

    pub(super) fn load_begins(&mut self, key: &ChatKey, epoch: i64, rows: usize) {
        self.loads.insert((key.clone(), epoch), rows);
        self.reserved += rows;
        if let Some(deferral) = self.chats.get_mut(key) {
            deferral.errand = Errand::Loading {
                stale: false,
                written: false,
            };
        }
    }

    pub(super) fn load_ended(&mut self, key: &ChatKey, epoch: i64) {
        let rows = self.loads.remove(&(key.clone(), epoch));
        self.reserved -= rows.unwrap_or(0);
    }

    pub(super) fn remove(&mut self, key: &ChatKey) {
        if let Some(at) = self.chats.remove(key).and_then(|gone| gone.wakes_at) {
            self.timers.remove(&(at, key.clone()));
        }
    }

    /// A partition leaves. Its loads that are on their way are still answered.
    pub(in crate::machine) fn forget(&mut self, id: PartitionId) {
        for key in self.of_partition(id) {
            self.remove(&key);
        }
        self.wanting.retain(|key| key.0 != id);
    }
}

pub(super) fn moment_of(due: Due, now: Moment) -> Option<Moment> {
    match due {
        Due::In(wait) => Some(now.after(wait)),
        Due::Held => None,
    }
}

/// The longest wait that is written: a hint may name any number, and a database's intervals end somewhere.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 86_400);
