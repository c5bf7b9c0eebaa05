//! A worker's side: what it asks for, and what it may start.

mod ask;
mod clock;
mod duties;
mod effect;
mod event;
mod grants;
mod holds;
mod leave;
mod leeway;
mod operations;
mod options;
mod records;
mod search;
#[cfg(test)]
mod tests;
mod view;
mod wants;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

pub use effect::{ClosedWhy, Effect, Mode, Start, StoppedWhy, VoidWhy};
pub use event::{AppendId, Event, KeptPenalty, Operation, PermitId, Validity};
pub use options::Options;
pub use view::{Counts, View};

use crate::random::Random;
use crate::record::{Body, Record};
use crate::{Class, Machine, Moment, ScopeLimits};
use clock::LogClock;
use duties::Duties;
use holds::LocalHolds;
use leeway::Leeway;
use operations::Pending;
use search::Search;
use wants::{Outstanding, Queue, Want};

/// A worker's limiter.
#[derive(Debug)]
pub struct Limiter {
    options: Options,
    random: Random,
    mode: Mode,
    machine: Machine,
    clock: LogClock,
    leeway: Leeway,
    search: Search,
    duties: Duties,
    holds: LocalHolds,
    pending: Vec<Pending>,
    proposals: BTreeMap<Arc<str>, ScopeLimits>,
    wants: BTreeMap<PermitId, Want>,
    queues: BTreeMap<(Arc<str>, Class), Queue>,
    outstanding: BTreeMap<u64, Outstanding>,
    granted: BTreeSet<PermitId>,
    /// Logs that were before this one, or whose records strayed into it.
    strays: BTreeSet<Uuid>,
    next_seq: u64,
    next_append: u64,
    next_order: u64,
    counts: Counts,
}

impl Limiter {
    /// A limiter that waits for [`Event::Opened`].
    pub fn new(options: Options) -> Self {
        let mut random = Random::new(options.seed ^ options.incarnation.as_u64_pair().1);
        Self {
            mode: Mode::Searching,
            machine: Machine::supporting(options.machine_version),
            clock: LogClock::default(),
            leeway: Leeway::default(),
            search: Search::default(),
            duties: Duties::new(&options, &mut random),
            holds: LocalHolds::default(),
            pending: Vec::new(),
            proposals: BTreeMap::new(),
            wants: BTreeMap::new(),
            queues: BTreeMap::new(),
            outstanding: BTreeMap::new(),
            granted: BTreeSet::new(),
            strays: BTreeSet::new(),
            next_seq: 0,
            next_append: 0,
            next_order: 0,
            counts: Counts::default(),
            random,
            options,
        }
    }

    /// Takes one event, and pushes what to do. Permits are asked for in [`Event::Timer`] alone: hand over everything
    /// that is ready before it, and it goes in one record.
    pub fn handle(&mut self, event: Event, now: Moment, effects: &mut Vec<Effect>) {
        match event {
            Event::Opened { first, end } => self.opened(first, end, effects),
            Event::Record {
                offset,
                append_time_millis,
                value,
            } => self.record(offset, append_time_millis, &value, now, effects),
            Event::ReachedEnd { end } => self.reached_end(end, now, effects),
            Event::Lost { reason } => self.close(ClosedWhy::Lost(reason), now, effects),
            Event::NotAppended(id) => self.not_appended(id, now),
            Event::Want {
                permit,
                scope,
                chat,
                class,
            } => self.want(permit, &scope, &chat, class, now, effects),
            Event::Cancel(permit) => self.cancel(permit),
            Event::Scope { scope, limits } => {
                self.proposals.insert(Arc::from(scope), limits);
                self.duties.propose_at(now);
            }
            Event::Throttled {
                target,
                wait,
                reason,
            } => self.throttled(target, wait, reason, now, effects),
            Event::Kept(penalties) => self.kept(penalties, now),
            Event::Operate(operation) => self.operate(operation, now, effects),
            Event::Timer => self.timer(now, effects),
        }
    }

    /// When [`Event::Timer`] is due next; a moment that has passed means at once, after what else is ready.
    pub fn next_timer(&self) -> Option<Moment> {
        let mut next = self
            .search
            .next_timer()
            .filter(|_| self.mode == Mode::Searching);
        if self.mode == Mode::Live {
            let asks = self.queues.values().filter_map(Queue::due).min();
            let answers = self
                .outstanding
                .values()
                .map(|asked| asked.sent.after(self.options.ask_timeout))
                .min();
            let pending = self.pending.iter().map(Pending::due).min();
            let duties = self.duties.next_timer(&self.machine);
            next = [next, asks, answers, pending, duties]
                .into_iter()
                .flatten()
                .min();
        }
        next
    }

    /// Whether permits can be granted, and if not, why.
    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    /// Whether everything in the log was looked through, and neither its beginning nor a snapshot was found: then the
    /// first offset that the broker still has. 0 means that nobody ever used the log, more that its records were deleted.
    pub fn lacks_beginning(&self) -> Option<i64> {
        match self.mode {
            Mode::Searching => self.search.lacks_beginning(),
            Mode::Replaying | Mode::Live | Mode::Closed(_) | Mode::Stopped(_) => None,
        }
    }

    /// For metrics.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The replica, to look at.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// What people see.
    pub fn view(&self, now: Moment) -> View {
        let time = self.clock.estimate(now);
        View {
            log_id: self.machine.log_id(),
            machine_version: self.machine.version(),
            time,
            scopes: self.machine.view(time),
            holds: self.machine.holds(time),
        }
    }

    fn timer(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        self.search_timer(now, effects);
        if self.mode != Mode::Live {
            return;
        }
        self.give_up_unanswered(now);
        self.restate(now, effects);
        self.ask(now, effects);
        self.perform_duties(now, effects);
    }

    fn append(&mut self, body: Body, effects: &mut Vec<Effect>) -> AppendId {
        self.append_to(self.machine.log_id(), body, effects)
    }

    fn append_to(&mut self, log_id: Uuid, body: Body, effects: &mut Vec<Effect>) -> AppendId {
        let record = Record { log_id, body };
        let id = AppendId(self.next_append);
        self.next_append += 1;
        effects.push(Effect::Append {
            id,
            key: record.key().to_owned(),
            value: record.encode(),
        });
        id
    }

    /// An id of our own making; the core draws none from outside.
    fn new_id(&mut self) -> Uuid {
        let mut bytes = [0; 16];
        let (high, low) = bytes.split_at_mut(8);
        high.copy_from_slice(&self.random.next_u64().to_be_bytes());
        low.copy_from_slice(&self.random.next_u64().to_be_bytes());
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }
}
