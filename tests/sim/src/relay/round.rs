//! One round of a shard's task: produce what was read, start what is due, note when the next thing is.

use std::time::Duration;

use super::{RelayNews, ShardRef};
use crate::chaos::RelayStep;
use crate::happening::Happening;
use crate::outbox::OutboxStatement;
use crate::times::{DELETE_INTERVAL, IDLE_SESSION_TIMEOUT, PRODUCE_DEADLINE};
use crate::world::World;

impl World {
    /// Produces what was read, starts what is due, and notes when the next thing is.
    pub(super) fn go_round(&mut self, at: ShardRef) {
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
            self.spring_relay(at, RelayStep::Produce);
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
        self.spring_relay(at, RelayStep::Write);
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
