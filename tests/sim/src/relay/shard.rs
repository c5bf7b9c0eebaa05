//! One shard's task, as the relay's worker does it: at most one read and one write are on their way.

use std::collections::VecDeque;
use std::time::Duration;

use tidings_outbox::{Cursor, InFlight, Pace, ReadResult, RowsRead, SafetyPass};

use super::{ProducerId, RelayNews, ShardRef};
use crate::chaos::RelayStep;
use crate::happening::Happening;
use crate::invariants;
use crate::outbox::{OutboxStep, SessionId};
use crate::times::{
    DRAIN_DEADLINE, MILLI, POLL_MAX, POLL_MIN, PRODUCE_DEADLINE, RELAY_BACKOFF_MAX,
    RELAY_BACKOFF_MIN, SAFETY_PASS_MIN,
};
use crate::trace::note;
use crate::world::World;

/// A shard that a relay wants to work on.
#[derive(Debug)]
pub(crate) struct ShardTask {
    pub(crate) attempt: u64,
    failures: u32,
    pub(super) stopping: bool,
    pub(super) work: Option<Work>,
}

/// A shard that is worked on: one session, one producer, one cursor, thrown away together.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) session: SessionId,
    pub(super) producer: ProducerId,
    pub(super) cursor: Cursor,
    pub(super) in_flight: InFlight,
    pub(super) pace: Pace,
    pub(super) safety: SafetyPass,
    /// Read, not yet produced.
    pub(super) pending: VecDeque<i64>,
    pub(super) unacknowledged: usize,
    /// Acknowledged, not yet deleted.
    pub(super) acknowledged: Vec<i64>,
    pub(super) refused: Vec<i64>,
    pub(super) reading: bool,
    pub(super) writing: bool,
    pub(super) next_read_at: u64,
    pub(super) next_write_at: u64,
    pub(super) progress_at: u64,
    pub(super) statement_at: u64,
    pub(super) wakes_at: Option<u64>,
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
    pub(super) fn task(&mut self, at: ShardRef) -> Option<&mut ShardTask> {
        self.relays[at.relay].shards.get_mut(&at.shard)
    }

    pub(super) fn work(&mut self, at: ShardRef) -> Option<&mut Work> {
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
        self.after(200, 2 * MILLI, Happening::Outbox(OutboxStep::Acquire(at)));
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
            pace: Pace::new(
                Duration::from_micros(POLL_MIN),
                Duration::from_micros(POLL_MAX),
            ),
            safety: SafetyPass::new(
                Duration::from_micros(SAFETY_PASS_MIN),
                Duration::from_micros(now),
            ),
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
        work.pending.extend(&ids);
        self.spring_relay(at, RelayStep::Read);
        for id in &ids {
            let Some(work) = self.work(at) else { return };
            let new = work.in_flight.insert(*id);
            self.check(invariants::a_row_is_read_once_by_a_cursor(*id, !new));
        }
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
        self.spring_relay(at, RelayStep::Acknowledge);
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
        self.tell_relay(
            3 * DRAIN_DEADLINE,
            3 * DRAIN_DEADLINE,
            at,
            RelayNews::Overdue,
        );
        self.tell_relay(0, 0, at, RelayNews::Wake);
    }

    pub(super) fn let_go(&mut self, at: ShardRef) {
        if self.task(at).is_some_and(|task| task.stopping) {
            self.close_work(at.relay, at.shard, 50 * MILLI);
            self.relays[at.relay].shards.remove(&at.shard);
            note!(self, "{at}: let go");
        }
    }
}
