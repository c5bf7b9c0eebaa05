//! What is true in the world, whatever its parts believe: messages, their transactions, and the attempts made.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidings_delivery::RetryName;

use crate::dispatcher::WorkerRef;

/// A row that upstream inserted. Its index in the ledger is its outbox id less one.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) chat: usize,
    pub(crate) lane: u16,
    pub(crate) park: bool,
    pub(crate) retry: RetryName,
    pub(crate) expires_at_micros: Option<i64>,
    /// Whether a relay can make a record of it.
    pub(crate) encodable: bool,
    pub(crate) xid: u64,
    /// Steps of the world: of the insert, and of the commit.
    pub(crate) inserted: u64,
    pub(crate) committed: Option<u64>,
    pub(crate) in_kafka: bool,
    /// Moved to `outbox_rejected`.
    pub(crate) rejected: bool,
    pub(crate) attempts: Vec<usize>,
    pub(crate) posted: bool,
    /// A claim found `started`, committed by an earlier owner and not taken back.
    pub(crate) found_started: bool,
}

impl Message {
    /// The number of the account that sends it.
    pub(crate) fn account(&self) -> usize {
        self.chat % 2
    }

    /// The chat key that the machine knows it by.
    pub(crate) fn chat_key(&self) -> Arc<str> {
        Arc::from(format!("sim:a{}:{}", self.account(), self.chat))
    }
}

/// What the worker that called was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// Nothing yet.
    Nothing,
    /// It was accepted.
    Accepted,
    /// It certainly was not.
    Refused,
    /// Bytes went out, no usable answer came.
    Unknown,
}

/// One call of the platform.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) message: usize,
    pub(crate) caller: WorkerRef,
    pub(crate) fence: i64,
    pub(crate) call: u32,
    pub(crate) departed_at: Option<u64>,
    pub(crate) accepted: bool,
    pub(crate) told: Told,
    /// The verdict's name, once there is one.
    pub(crate) verdict: &'static str,
    /// Its `sent` is in the claims table.
    pub(crate) recorded: bool,
    /// Its worker died before `sent` was recorded.
    pub(crate) died: bool,
    /// The message was taken by another claim, or settled by another, before `sent` was recorded.
    pub(crate) fenced: bool,
}

impl Attempt {
    /// Design §7: "a process died, was fenced, or lost the answer after its last lease check and before `sent` was
    /// recorded".
    pub(crate) fn is_excused(&self) -> bool {
        self.died || self.fenced || self.told == Told::Unknown
    }
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) messages: Vec<Message>,
    pub(crate) attempts: Vec<Attempt>,
    lanes_of_chats: BTreeMap<(usize, u16), Vec<usize>>,
    step: u64,
}

impl Ledger {
    pub(crate) fn step(&mut self) -> u64 {
        self.step += 1;
        self.step
    }

    pub(crate) fn insert(&mut self, message: Message) -> usize {
        let index = self.messages.len();
        let lane = (message.chat, message.lane);
        self.lanes_of_chats.entry(lane).or_default().push(index);
        self.messages.push(message);
        index
    }

    pub(crate) fn attempt(&mut self, attempt: Attempt) -> usize {
        let index = self.attempts.len();
        self.messages[attempt.message].attempts.push(index);
        self.attempts.push(attempt);
        index
    }

    pub(crate) fn attempts_of(&self, message: usize) -> impl Iterator<Item = &Attempt> {
        let indices = &self.messages[message].attempts;
        indices.iter().map(|index| &self.attempts[*index])
    }

    /// Whoever holds `message` now, the attempts of `fence` and below have lost it, unless recorded.
    pub(crate) fn fence_off(&mut self, message: usize, fence: i64) {
        for index in &self.messages[message].attempts {
            let attempt = &mut self.attempts[*index];
            attempt.fenced |= attempt.fence <= fence && !attempt.recorded;
        }
    }

    /// Messages of the same chat and lane, ascending by id.
    pub(crate) fn lane_of_chat(&self, message: usize) -> &[usize] {
        let message = &self.messages[message];
        &self.lanes_of_chats[&(message.chat, message.lane)]
    }

    /// Design §6: "per chat and lane, a precedes b if both are of one transaction and a's id is lower, or a's
    /// transaction committed before b's row was inserted".
    pub(crate) fn precedes(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.messages[a], &self.messages[b]);
        let same_transaction = first.xid == second.xid && a < b;
        let committed_before = first.committed.is_some_and(|at| at < second.inserted);
        let same_lane = (first.chat, first.lane) == (second.chat, second.lane);
        same_lane && (same_transaction || committed_before)
    }

    /// What precedes `message` and can be sent.
    pub(crate) fn predecessors(&self, message: usize) -> impl Iterator<Item = usize> {
        let lower = self.lane_of_chat(message).iter().copied();
        lower
            .take_while(move |other| *other < message)
            .filter(move |other| self.messages[*other].encodable && self.precedes(*other, message))
    }
}
