//! The deferred chats and their messages, with the semantics of the dispatcher's statements (the core's `Effect::Defer` and
//! its neighbours tell them).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tidings_delivery::{CloseAnswer, DeferredChat, Due, PartitionId};

/// A deferred chat's key.
pub(crate) type Deferred = (PartitionId, Arc<str>);

/// The marker of a deferred chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marker {
    /// `None` until an operator lets go.
    pub(crate) due_at: Option<u64>,
    pub(crate) give_up: Option<Arc<str>>,
    /// An operator touched it: its word is repeated until the marker is gone.
    pub(crate) touched: bool,
}

/// A deferred message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeferredRow {
    pub(crate) chat: Arc<str>,
    pub(crate) message: usize,
}

/// What a statement writes behind a chat.
#[derive(Debug, Clone)]
pub(crate) struct DeferAsk {
    pub(crate) partition: PartitionId,
    pub(crate) epoch: i64,
    pub(crate) chat: Arc<str>,
    pub(crate) message: usize,
    pub(crate) offset: usize,
    pub(crate) due: Due,
    pub(crate) moves_due: bool,
}

/// What rows a load asks for.
#[derive(Debug, Clone)]
pub(crate) struct LoadAsk {
    pub(crate) partition: PartitionId,
    pub(crate) epoch: i64,
    pub(crate) chat: Arc<str>,
    pub(crate) after: Option<i64>,
    pub(crate) below: i64,
    pub(crate) limit: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Deferrals {
    pub(crate) markers: BTreeMap<Deferred, Marker>,
    pub(crate) rows: BTreeMap<(PartitionId, usize), DeferredRow>,
    /// Chats that an operator gave up at some time.
    pub(crate) given_up: BTreeSet<Deferred>,
}

impl Deferrals {
    pub(crate) fn row_of(&self, partition: PartitionId, message: usize) -> Option<usize> {
        let mut rows = self.rows.iter();
        rows.find(|((id, _), row)| *id == partition && row.message == message)
            .map(|((_, offset), _)| *offset)
    }

    pub(crate) fn rows_of(&self, key: &Deferred) -> impl Iterator<Item = (usize, &DeferredRow)> {
        let of_chat = self.rows.iter().filter({
            let key = key.clone();
            move |((id, _), row)| *id == key.0 && row.chat == key.1
        });
        of_chat.map(|((_, offset), row)| (*offset, row))
    }

    /// Returns whether it was there already.
    pub(super) fn write(&mut self, now: u64, ask: &DeferAsk) -> bool {
        let there = self.row_of(ask.partition, ask.message);
        let offset = there.map_or(ask.offset, |offset| offset.min(ask.offset));
        if let Some(earlier) = there {
            self.rows.remove(&(ask.partition, earlier));
        }
        let row = DeferredRow {
            chat: Arc::clone(&ask.chat),
            message: ask.message,
        };
        self.rows.insert((ask.partition, offset), row);
        let due_at = due_at(now, ask.due);
        let key = (ask.partition, Arc::clone(&ask.chat));
        let marker = self.markers.entry(key).or_insert(Marker {
            due_at,
            give_up: None,
            touched: false,
        });
        if ask.moves_due {
            marker.due_at = due_at;
        }
        there.is_some()
    }

    pub(super) fn load(&self, ask: &LoadAsk) -> (Vec<(usize, usize)>, bool) {
        let key = (ask.partition, Arc::clone(&ask.chat));
        let wanted = |offset: usize| {
            let offset = offset as i64;
            ask.after.is_none_or(|after| after < offset) && offset < ask.below
        };
        let rows = self.rows_of(&key);
        let mut found: Vec<(usize, usize)> = rows
            .filter(|(offset, _)| wanted(*offset))
            .map(|(offset, row)| (offset, row.message))
            .collect();
        let more = found.len() > ask.limit;
        found.truncate(ask.limit);
        (found, more)
    }

    /// Returns the message whose row went.
    pub(super) fn remove_row(&mut self, partition: PartitionId, offset: usize) -> Option<usize> {
        let row = self.rows.remove(&(partition, offset))?;
        Some(row.message)
    }

    pub(super) fn close(&mut self, key: &Deferred) -> CloseAnswer {
        if self.rows_of(key).next().is_some() {
            return CloseAnswer::RowsRemain;
        }
        self.markers.remove(key);
        CloseAnswer::Gone
    }

    pub(super) fn of_partition(&self, now: u64, id: PartitionId) -> Vec<DeferredChat> {
        let markers = self.markers.iter().filter(|((of, _), _)| *of == id);
        markers
            .map(|((_, chat), marker)| told(now, chat, marker))
            .collect()
    }
}

/// A marker as a worker is told of it.
pub(crate) fn told(now: u64, chat: &Arc<str>, marker: &Marker) -> DeferredChat {
    DeferredChat {
        chat: Arc::clone(chat),
        due: marker.due_at.map_or(Due::Held, |at| {
            Due::In(Duration::from_micros(at.saturating_sub(now)))
        }),
        give_up: marker.give_up.clone(),
    }
}

fn due_at(now: u64, due: Due) -> Option<u64> {
    match due {
        Due::In(wait) => Some(now + wait.as_micros() as u64),
        Due::Held => None,
    }
}
