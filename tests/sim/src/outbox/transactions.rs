//! Upstream's transactions: several events each, held open, rolled back, committed in another order than begun.

use tidings_delivery::RetryName;

use crate::happening::Happening;
use crate::ledger::Message;
use crate::settings::{LANES, SHARDS};
use crate::times::{FAULTS_END, MILLI, SECOND, UPSTREAM_END, WALL_BEGIN};
use crate::trace::note;
use crate::world::World;

/// What upstream does next.
#[derive(Debug)]
pub(crate) enum UpstreamStep {
    /// Begins a transaction.
    Begin,
    /// Publishes the next of the `left` events of an open transaction, or ends it.
    Go {
        xid: u64,
        left: usize,
        chat: Option<usize>,
    },
}

impl World {
    pub(crate) fn upstream(&mut self, step: UpstreamStep) {
        match step {
            UpstreamStep::Begin => self.begin(),
            UpstreamStep::Go { xid, left: 0, .. } => self.end(xid),
            UpstreamStep::Go { xid, left, chat } => {
                self.publish(xid, chat);
                self.go_on(xid, left - 1, chat);
            }
        }
    }

    /// `tidings.publish` has the transaction's id assigned before it draws the row's.
    fn begin(&mut self) {
        if self.upstream_left == 0 || self.now > UPSTREAM_END {
            self.upstream_left = 0;
            return;
        }
        self.upstream_left -= 1;
        let xid = self.outbox.assign();
        self.open.insert(xid);
        let events = self.random.pick(&[1, 1, 1, 2, 3, 5]);
        let one_chat = self.random.chance(500);
        let chat = one_chat.then(|| self.random.below(self.settings.chats));
        self.go_on(xid, events, chat);
        let gap = self.settings.upstream_gap;
        self.after(0, gap, Happening::Upstream(UpstreamStep::Begin));
    }

    fn go_on(&mut self, xid: u64, left: usize, chat: Option<usize>) {
        let held = self.random.chance(60) && self.now < FAULTS_END;
        let (least, most) = if held {
            self.counts.add("transactions held open");
            (SECOND, 8 * SECOND)
        } else {
            (0, 60 * MILLI)
        };
        let step = UpstreamStep::Go { xid, left, chat };
        self.after(least, most, Happening::Upstream(step));
    }

    fn publish(&mut self, xid: u64, chat: Option<usize>) {
        if !self.open.contains(&xid) {
            return;
        }
        let chat = chat.unwrap_or_else(|| self.random.below(self.settings.chats));
        let message = self.draw_message(xid, chat);
        let index = self.ledger.insert(message);
        let shard = (chat / 2) as u32 % SHARDS;
        self.outbox.insert(index as i64 + 1, xid, shard);
        note!(
            self,
            "upstream      transaction {xid} inserts {}",
            self.name(index)
        );
    }

    fn draw_message(&mut self, xid: u64, chat: usize) -> Message {
        let park = self.random.chance(self.settings.park_permille);
        let retry = self
            .random
            .pick(&[RetryName::Interactive, RetryName::Standard]);
        let lasts = self.random.between(0, 30 * SECOND) as i64;
        let expires = self.random.chance(50);
        Message {
            chat,
            lane: self.random.below(usize::from(LANES)) as u16,
            park,
            retry,
            expires_at_micros: expires.then_some(WALL_BEGIN + self.now as i64 + lasts),
            encodable: !self.random.chance(self.settings.unencodable_permille),
            xid,
            inserted: self.ledger.step(),
            committed: None,
            in_kafka: false,
            rejected: false,
            attempts: Vec::new(),
            posted: false,
            found_started: false,
        }
    }

    fn end(&mut self, xid: u64) {
        if !self.open.remove(&xid) {
            return;
        }
        if self.random.chance(150) {
            self.roll_back(xid);
            return;
        }
        if self.open.range(..xid).next().is_some() {
            self.counts.add("commits in inverted order");
        }
        self.outbox.commit(xid);
        let step = self.ledger.step();
        for message in &mut self.ledger.messages {
            if message.xid == xid {
                message.committed = Some(step);
            }
        }
        note!(self, "upstream      transaction {xid} commits");
    }

    pub(crate) fn roll_back(&mut self, xid: u64) {
        self.counts.add("rollbacks");
        self.open.remove(&xid);
        self.outbox.roll_back(xid);
        note!(self, "upstream      transaction {xid} rolls back");
    }
}
