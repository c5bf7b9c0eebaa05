//! The relays' sessions: one statement after the other, each begun with its snapshot and finished a moment later. A
//! session's end frees its lock at once; its relay may notice much later.

use tidings_outbox::{ReadPlan, Snapshot};

use crate::happening::Happening;
use crate::invariants;
use crate::relay::{RelayNews, ShardRef};
use crate::times::{IDLE_SESSION_TIMEOUT, MILLI, SECOND};
use crate::trace::note;
use crate::world::World;

/// A session of a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionId(pub(crate) u64);

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) owner: ShardRef,
    /// When its last statement ends.
    free_at: u64,
}

/// What a relay asks of its session.
#[derive(Debug)]
pub(crate) enum OutboxStatement {
    Read {
        plan: ReadPlan,
        limit: usize,
        safety: bool,
    },
    Delete(Vec<i64>),
    Reject(Vec<i64>),
    KeepAlive,
}

/// A statement that has begun.
#[derive(Debug)]
pub(crate) enum Running {
    Read {
        snapshot: Snapshot,
        ids: Vec<i64>,
        truncated: bool,
        safety: bool,
        began_at: u64,
    },
    Delete {
        xid: u64,
        ids: Vec<i64>,
    },
    Reject {
        xid: u64,
        ids: Vec<i64>,
    },
    KeepAlive,
}

/// What happens in the server.
#[derive(Debug)]
pub(crate) enum OutboxStep {
    Acquire(ShardRef),
    Begin {
        session: SessionId,
        statement: OutboxStatement,
        ends_at: u64,
    },
    Finish {
        session: SessionId,
        running: Running,
    },
    /// The client is gone.
    End(SessionId),
    IdleCheck(SessionId),
}

impl World {
    pub(crate) fn outbox_step(&mut self, step: OutboxStep) {
        match step {
            OutboxStep::Acquire(shard) => self.acquire(shard),
            OutboxStep::Begin {
                session,
                statement,
                ends_at,
            } => self.begin_statement(session, statement, ends_at),
            OutboxStep::Finish { session, running } => self.finish_statement(session, running),
            OutboxStep::End(session) => self.end_session(session),
            OutboxStep::IdleCheck(session) => self.check_idle(session),
        }
    }

    fn acquire(&mut self, owner: ShardRef) {
        if self.outbox.locks.contains_key(&owner.shard) {
            self.tell_relay(0, 2 * MILLI, owner, RelayNews::NotOurs);
            return;
        }
        self.outbox.last_session += 1;
        let id = SessionId(self.outbox.last_session);
        let free_at = self.now;
        self.outbox.locks.insert(owner.shard, id);
        self.outbox.sessions.insert(id, Session { owner, free_at });
        self.tell_relay(0, 2 * MILLI, owner, RelayNews::Acquired(id));
        let check = Happening::Outbox(OutboxStep::IdleCheck(id));
        self.at(self.now + IDLE_SESSION_TIMEOUT, check);
    }

    /// Pipelined: it begins when the statements before it have ended.
    pub(crate) fn ask_session(&mut self, id: SessionId, statement: OutboxStatement) {
        let slow = self.faults() && self.random.chance(10);
        let most = if slow { 2 * SECOND } else { 2 * MILLI };
        let arrives = self.now + self.random.between(200, 1_500);
        let takes = self.random.between(100, most);
        let Some(session) = self.outbox.sessions.get_mut(&id) else {
            return;
        };
        let begins_at = arrives.max(session.free_at);
        let ends_at = begins_at + takes;
        session.free_at = ends_at;
        let step = OutboxStep::Begin {
            session: id,
            statement,
            ends_at,
        };
        self.at(begins_at, Happening::Outbox(step));
    }

    fn begin_statement(&mut self, id: SessionId, statement: OutboxStatement, ends_at: u64) {
        let Some(session) = self.outbox.sessions.get(&id) else {
            return;
        };
        let shard = session.owner.shard;
        let running = match statement {
            OutboxStatement::Read {
                plan,
                limit,
                safety,
            } => {
                let (snapshot, ids) = self.outbox.read(&plan, shard, limit);
                Running::Read {
                    truncated: ids.len() >= limit,
                    began_at: self.now,
                    snapshot,
                    ids,
                    safety,
                }
            }
            OutboxStatement::Delete(ids) => Running::Delete {
                xid: self.outbox.assign(),
                ids,
            },
            OutboxStatement::Reject(ids) => Running::Reject {
                xid: self.outbox.assign(),
                ids,
            },
            OutboxStatement::KeepAlive => Running::KeepAlive,
        };
        let step = OutboxStep::Finish {
            session: id,
            running,
        };
        self.at(ends_at, Happening::Outbox(step));
    }

    fn finish_statement(&mut self, id: SessionId, running: Running) {
        let owner = self.outbox.sessions.get(&id).map(|session| session.owner);
        let Some(owner) = owner else {
            return self.abort_statement(running);
        };
        let news = match running {
            Running::Read {
                snapshot,
                ids,
                truncated,
                safety,
                began_at,
            } => RelayNews::Read {
                mark: self.draw_mark(&ids),
                took: self.now - began_at,
                snapshot,
                ids,
                truncated,
                safety,
            },
            Running::Delete { xid, ids } => {
                self.delete(&ids);
                self.outbox.commit(xid);
                RelayNews::Left(ids)
            }
            Running::Reject { xid, ids } => {
                self.reject(&ids);
                self.outbox.commit(xid);
                RelayNews::Left(ids)
            }
            Running::KeepAlive => RelayNews::Wake,
        };
        self.tell_relay(200, 1_500, owner, news);
    }

    fn abort_statement(&mut self, running: Running) {
        match running {
            Running::Delete { xid, .. } | Running::Reject { xid, .. } => {
                self.counts.add("deletes aborted with their session");
                self.outbox.roll_back(xid);
            }
            Running::Read { .. } | Running::KeepAlive => {}
        }
    }

    /// The read draws a transaction id with its first row, after its snapshot was taken.
    fn draw_mark(&mut self, ids: &[i64]) -> u64 {
        if ids.is_empty() {
            return 0;
        }
        let mark = self.outbox.assign();
        self.outbox.commit(mark);
        mark
    }

    fn delete(&mut self, ids: &[i64]) {
        for id in ids {
            if self.outbox.rows.remove(id).is_some() {
                self.check(invariants::nothing_is_deleted_before_kafka_has_it(
                    &self.ledger,
                    *id,
                ));
            }
        }
        note!(self, "outbox        rows {ids:?} are deleted");
    }

    fn reject(&mut self, ids: &[i64]) {
        for id in ids {
            if self.outbox.rows.remove(id).is_some() {
                self.counts.add("rows moved to outbox_rejected");
                let index = (*id - 1) as usize;
                self.ledger.messages[index].rejected = true;
                self.check(invariants::only_what_cannot_be_encoded_is_rejected(
                    &self.ledger,
                    index,
                ));
            }
        }
        note!(
            self,
            "outbox        rows {ids:?} are moved to outbox_rejected"
        );
    }

    /// Frees its lock. What runs on it is rolled back when it would have ended.
    pub(crate) fn end_session(&mut self, id: SessionId) {
        if self.outbox.sessions.remove(&id).is_some() {
            self.outbox.locks.retain(|_, owner| *owner != id);
        }
    }

    /// The server ends it (a failover, `pg_terminate_backend`, a network that was cut). The relay notices `notice_in`.
    pub(crate) fn kill_session(&mut self, id: SessionId, notice_in: u64) {
        let Some(session) = self.outbox.sessions.get(&id) else {
            return;
        };
        let owner = session.owner;
        note!(self, "outbox        the session of {owner} ends");
        self.end_session(id);
        self.tell_relay(0, notice_in, owner, RelayNews::SessionBroken(id));
    }

    /// "Postgres itself ends a session that is silent for too long, which is meant for relays that are frozen."
    fn check_idle(&mut self, id: SessionId) {
        let Some(session) = self.outbox.sessions.get(&id) else {
            return;
        };
        let idle_since = session.free_at;
        if idle_since + IDLE_SESSION_TIMEOUT <= self.now {
            self.counts.add("sessions ended for silence");
            self.kill_session(id, 10 * MILLI);
            return;
        }
        let check = Happening::Outbox(OutboxStep::IdleCheck(id));
        self.at(idle_since + IDLE_SESSION_TIMEOUT, check);
    }
}
