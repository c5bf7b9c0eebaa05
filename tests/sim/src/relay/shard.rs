//! One shard's task, as the relay's worker does it: at most one read and one write are on their way.

use std::collections::VecDeque;
use std::time::Duration;

use tidings_outbox::{Cursor, InFlight, Pace, ReadResult, RowsRead, SafetyPass};

use super::{ProducerId, RelayNews, ShardRef};
use crate::happening::Happening;
use crate::outbox::{OutboxStatement, OutboxStep, SessionId};
use crate::times::{
    DELETE_INTERVAL, DRAIN_DEADLINE, IDLE_SESSION_TIMEOUT, MILLI, POLL_MAX, POLL_MIN,
    PRODUCE_DEADLINE, RELAY_BACKOFF_MAX, RELAY_BACKOFF_MIN, SAFETY_PASS_MIN,
};
use crate::trace::note;
use crate::world::World;

/// A shard that a relay wants to work on.
#[derive(Debug)]
pub(crate) struct ShardTask {
    pub(crate) attempt: u64,
    failures: u32,
    stopping: bool,
    work: Option<Work>,
}

/// A shard that is worked on: one session, one producer, one cursor, thrown away together.
#[derive(Debug)]
struct Work {
    session: SessionId,
    producer: ProducerId,
    cursor: Cursor,
    in_flight: InFlight,
    pace: Pace,
    safety: SafetyPass,
    /// Read, not yet produced.
    pending: VecDeque<i64>,
    unacknowledged: usize,
    /// Acknowledged, not yet deleted.
    acknowledged: Vec<i64>,
    refused: Vec<i64>,
    reading: bool,
    writing: bool,
    next_read_at: u64,
    next_write_at: u64,
    progress_at: u64,
    statement_at: u64,
    wakes_at: Option<u64>,
}

impl ShardTask {
    pub(crate) fn new(attempt: u64) -> Self {
        Self {
            attempt,
            failures: 0,
            stopping: false,
            work: None,
        }
    }
}

impl World {
    fn task(&mut self, at: ShardRef) -> Option<&mut ShardTask> {
        self.relays[at.relay].shards.get_mut(&at.shard)
    }

    fn work(&mut self, at: ShardRef) -> Option<&mut Work> {
        self.task(at)?.work.as_mut()
    }

    pub(crate) fn session_of(&self, relay: usize, shard: u32) -> Option<SessionId> {
        let task = self.relays[relay].shards.get(&shard)?;
        Some(task.work.as_ref()?.session)
    }

    pub(super) fn shard_news(&mut self, at: ShardRef, news: RelayNews) {
        match news {
            RelayNews::Try => self.try_shard(at),
            RelayNews::NotOurs => drop(self.relays[at.relay].shards.remove(&at.shard)),
            RelayNews::Acquired(session) => self.own(at, session),
            RelayNews::Read { .. } => self.absorb(at, news),
            RelayNews::Left(ids) => self.left(at, &ids),
            RelayNews::Acknowledged {
                producer,
                partition,
            } => self.acknowledged(at, producer, partition),
            RelayNews::ProducerFailed(producer) => {
                if self.work(at).is_some_and(|work| work.producer == producer) {
                    self.counts.add("producers dropped after a failure");
                    self.fail(at);
                }
            }
            RelayNews::SessionBroken(session) => {
                if self.work(at).is_some_and(|work| work.session == session) {
                    self.fail(at);
                }
            }
            RelayNews::Wake => self.wake(at),
            RelayNews::Overdue => self.let_go(at),
        }
        self.go_round(at);
    }

    /// "Before anything is read" the broker is reached: during an outage rows stay in the table.
    fn try_shard(&mut self, at: ShardRef) {
        if self.kafka.is_down(self.now) {
            self.fail(at);
            return;
        }
        self.after(
            200,
            2 * MILLI,
            Happening::Outbox(OutboxStep::Acquire(at)),
        );
    }

    fn own(&mut self, at: ShardRef, session: SessionId) {
        let producer = self.new_producer(at);
        let now = self.now;
        let max_tracked = self.settings.max_tracked;
        let work = Work {
            session,
            producer,
            cursor: Cursor::with_max_tracked(max_tracked),
            in_flight: InFlight::new(),
            pace: Pace::new(Duration::from_micros(POLL_MIN), Duration::from_micros(POLL_MAX)),
            safety: SafetyPass::new(Duration::from_micros(SAFETY_PASS_MIN), Duration::from_micros(now)),
            pending: VecDeque::new(),
            unacknowledged: 0,
            acknowledged: Vec::new(),
            refused: Vec::new(),
            reading: false,
            writing: false,
            next_read_at: now,
            next_write_at: now,
            progress_at: now,
            statement_at: now,
            wakes_at: None,
        };
        if let Some(task) = self.task(at) {
            task.work = Some(work);
        }
        note!(self, "{at}: owns the shard");
    }

    fn absorb(&mut self, at: ShardRef, news: RelayNews) {
        let RelayNews::Read {
            snapshot,
            ids,
            mark,
            truncated,
            safety,
            took,
        } = news
        else {
            return;
        };
        let now = self.now;
        let Some(work) = self.work(at) else { return };
        work.reading = false;
        if safety {
            let took = Duration::from_micros(took);
            work.safety.passed(Duration::from_micros(now), took);
        }
        let rows = ids.last().map(|last_id| RowsRead {
            last_id: *last_id,
            mark,
            truncated,
        });
        work.cursor.absorb(ReadResult {
            snapshot: &snapshot,
            rows,
        });
        let pause = work.pace.after_read(rows.is_some()).as_micros() as u64;
        work.next_read_at = if truncated { now } else { now + pause };
        if ids.is_empty() {
            return;
        }
        for id in &ids {
            work.in_flight.insert(*id);
        }
        work.pending.extend(&ids);
        note!(self, "{at}: reads rows {ids:?}");
    }

    fn left(&mut self, at: ShardRef, ids: &[i64]) {
        let Some(work) = self.work(at) else { return };
        work.writing = false;
        for id in ids {
            work.in_flight.remove(*id);
        }
    }

    fn acknowledged(
        &mut self,
        at: ShardRef,
        producer: ProducerId,
        partition: tidings_delivery::PartitionId,
    ) {
        let ids = self.take_acknowledged(producer, partition);
        let now = self.now;
        let Some(work) = self.work(at) else { return };
        work.unacknowledged -= ids.len();
        work.progress_at = now;
        work.acknowledged.extend(ids);
    }

    fn wake(&mut self, at: ShardRef) {
        let now = self.now;
        let Some(work) = self.work(at) else { return };
        if work.wakes_at.is_some_and(|wakes_at| wakes_at <= now) {
            work.wakes_at = None;
        }
        if work.unacknowledged > 0 && work.progress_at + PRODUCE_DEADLINE <= now {
            self.counts.add("produce deadlines passed");
            self.fail(at);
        }
    }

    /// "On failure or the relay's own deadline: stop the shard, purge and drop the producer, re-read from the table."
    fn fail(&mut self, at: ShardRef) {
        note!(self, "{at}: fails, and is read again from the table");
        self.close_work(at.relay, at.shard, 50 * MILLI);
        self.last_attempt += 1;
        let attempt = self.last_attempt;
        let Some(task) = self.task(at) else { return };
        if task.stopping {
            self.relays[at.relay].shards.remove(&at.shard);
            return;
        }
        task.attempt = attempt;
        task.failures += 1;
        let pause = (RELAY_BACKOFF_MIN << task.failures.min(8)).min(RELAY_BACKOFF_MAX);
        self.tell_relay(pause / 2, pause, ShardRef { attempt, ..at }, RelayNews::Try);
    }

    /// The session ends within `end_in`; the producer is dropped with what it holds.
    pub(super) fn close_work(&mut self, relay: usize, shard: u32, end_in: u64) {
        let task = self.relays[relay].shards.get_mut(&shard);
        let Some(work) = task.and_then(|task| task.work.take()) else {
            return;
        };
        self.close_producer(work.producer);
        self.after(0, end_in, Happening::Outbox(OutboxStep::End(work.session)));
    }

    /// "What is produced is waited for; what is only read stays in the table."
    pub(super) fn stop_shard(&mut self, relay: usize, shard: u32) {
        let life = self.relays[relay].life;
        let Some(task) = self.relays[relay].shards.get_mut(&shard) else {
            return;
        };
        task.stopping = true;
        let attempt = task.attempt;
        if let Some(work) = &mut task.work {
            work.pending.clear();
        }
        self.counts.add("shards stopped in order");
        let at = ShardRef {
            relay,
            life,
            shard,
            attempt,
        };
        self.tell_relay(3 * DRAIN_DEADLINE, 3 * DRAIN_DEADLINE, at, RelayNews::Overdue);
        self.tell_relay(0, 0, at, RelayNews::Wake);
    }

    fn let_go(&mut self, at: ShardRef) {
        if self.task(at).is_some_and(|task| task.stopping) {
            self.close_work(at.relay, at.shard, 50 * MILLI);
            self.relays[at.relay].shards.remove(&at.shard);
            note!(self, "{at}: let go");
        }
    }

    /// Produces what was read, starts what is due, and notes when the next thing is.
    fn go_round(&mut self, at: ShardRef) {
        let attempt = self.task(at).map(|task| task.attempt);
        if attempt != Some(at.attempt) || self.work(at).is_none() {
            return;
        }
        self.produce(at);
        self.start_write(at);
        self.start_read(at);
        self.keep_alive(at);
        if self.is_drained(at) {
            self.let_go(at);
            return;
        }
        self.wake_later(at);
    }

    fn produce(&mut self, at: ShardRef) {
        let now = self.now;
        let Some(work) = self.work(at) else { return };
        let producer = work.producer;
        while let Some(id) = self.work(at).and_then(|work| work.pending.pop_front()) {
            let message = (id - 1) as usize;
            let encodable = self.ledger.messages[message].encodable;
            let Some(work) = self.work(at) else { return };
            if !encodable {
                work.refused.push(id);
                continue;
            }
            if work.unacknowledged == 0 {
                work.progress_at = now;
            }
            work.unacknowledged += 1;
            self.queue_record(producer, message);
        }
    }

    fn start_write(&mut self, at: ShardRef) {
        let now = self.now;
        let stopping = self.task(at).is_some_and(|task| task.stopping);
        let Some(work) = self.work(at) else { return };
        if work.writing {
            return;
        }
        let statement = if !work.refused.is_empty() {
            OutboxStatement::Reject(std::mem::take(&mut work.refused))
        } else if !work.acknowledged.is_empty() && (stopping || now >= work.next_write_at) {
            work.next_write_at = now + DELETE_INTERVAL;
            OutboxStatement::Delete(std::mem::take(&mut work.acknowledged))
        } else {
            return;
        };
        work.writing = true;
        work.statement_at = now;
        let session = work.session;
        self.ask_session(session, statement);
    }

    fn start_read(&mut self, at: ShardRef) {
        let (now, rows, most) = (
            self.now,
            self.settings.read_rows,
            self.settings.max_in_flight_rows,
        );
        let stopping = self.task(at).is_some_and(|task| task.stopping);
        let Some(work) = self.work(at) else { return };
        if work.reading || stopping || now < work.next_read_at || work.in_flight.len() >= most {
            return;
        }
        work.reading = true;
        work.statement_at = now;
        let safety = work.safety.due(Duration::from_micros(now));
        let statement = OutboxStatement::Read {
            plan: work.cursor.plan(&work.in_flight, safety),
            limit: rows.min(most - work.in_flight.len()),
            safety,
        };
        let session = work.session;
        if safety {
            self.counts.add("safety passes");
        }
        self.ask_session(session, statement);
    }

    fn keep_alive(&mut self, at: ShardRef) {
        let now = self.now;
        let Some(work) = self.work(at) else { return };
        let idle = !work.reading && !work.writing;
        if idle && now >= work.statement_at + IDLE_SESSION_TIMEOUT / 3 {
            work.statement_at = now;
            let session = work.session;
            self.ask_session(session, OutboxStatement::KeepAlive);
        }
    }

    fn is_drained(&mut self, at: ShardRef) -> bool {
        let Some(task) = self.task(at) else {
            return false;
        };
        task.stopping
            && task.work.as_ref().is_none_or(|work| {
                work.unacknowledged == 0
                    && work.acknowledged.is_empty()
                    && work.refused.is_empty()
                    && !work.reading
                    && !work.writing
            })
    }

    fn wake_later(&mut self, at: ShardRef) {
        let (now, most) = (self.now, self.settings.max_in_flight_rows);
        let stopping = self.task(at).is_some_and(|task| task.stopping);
        let Some(work) = self.work(at) else { return };
        let mut due = work.statement_at.max(now) + IDLE_SESSION_TIMEOUT / 3;
        if work.unacknowledged > 0 {
            due = due.min(work.progress_at + PRODUCE_DEADLINE);
        }
        if !work.reading && !stopping && work.in_flight.len() < most {
            due = due.min(work.next_read_at);
        }
        if !work.writing && !work.acknowledged.is_empty() {
            due = due.min(work.next_write_at);
        }
        let due = due.max(now + 1);
        if work.wakes_at.is_none_or(|wakes_at| wakes_at > due) {
            work.wakes_at = Some(due);
            self.at(due, Happening::Relay(at, RelayNews::Wake));
        }
    }
}
