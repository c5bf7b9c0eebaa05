//! What is read from the log.

use std::time::Duration;

use uuid::Uuid;

use super::operations::PendingBody;
use super::wants::Outstanding;
use super::{Effect, Limiter, Mode, StoppedWhy};
use crate::machine::{Served, ServedAsk, What};
use crate::record::{Body, DecodeError, Record};
use crate::{LogTime, Moment, Refusal, RefusedWhy};

/// What an asker that was refused against expectation waits before it asks again: at least, and at random besides.
const AFTER_SURPRISE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(15));
/// The same while another class goes first. It asks only to keep its place.
const AFTER_CLASS: (Duration, Duration) = (Duration::from_millis(40), Duration::from_millis(40));

impl Limiter {
    pub(super) fn record(
        &mut self,
        offset: i64,
        append_time_millis: i64,
        value: &[u8],
        now: Moment,
        effects: &mut Vec<Effect>,
    ) {
        let record = match Record::decode(value) {
            Ok(record) => Ok(record),
            Err(DecodeError::Malformed(why)) => {
                self.counts.malformed += 1;
                Err(why)
            }
            Err(DecodeError::LaterVersion(version)) => {
                self.stop(StoppedWhy::SchemaVersion(version), now, effects);
                return;
            }
        };
        match self.mode {
            Mode::Searching => self.searched(offset, record.ok(), now, effects),
            Mode::Replaying | Mode::Live => {
                self.read(offset, append_time_millis, record, now, effects);
            }
            Mode::Closed(_) | Mode::Stopped(_) => {}
        }
    }

    fn read(
        &mut self,
        offset: i64,
        append_time_millis: i64,
        record: Result<Record, &'static str>,
        now: Moment,
        effects: &mut Vec<Effect>,
    ) {
        let begins = matches!(&record, Ok(Record { log_id, body: Body::Init(init) })
            if init.scope.is_none() && !log_id.is_nil());
        if begins {
            self.leave_log(now, effects);
        }
        let writer = record.as_ref().ok().and_then(|record| record.body.writer());
        let applied = match self
            .machine
            .apply_decoded(offset, append_time_millis, record)
        {
            Ok(applied) => applied,
            Err(error) => {
                self.cannot_apply(error, now, effects);
                return;
            }
        };
        self.clock.read(applied.time, now);
        self.duties.read(now, &self.options, &mut self.random);
        let ours = writer == Some(self.options.incarnation);
        if applied.snapshot_due {
            let asked = matches!(applied.what, What::Ticked { snapshot: true });
            self.keep_snapshot(offset, ours, asked, now);
        }
        self.follow(applied.what, ours, now, effects);
    }

    fn follow(&mut self, what: What, ours: bool, now: Moment, effects: &mut Vec<Effect>) {
        match what {
            What::Malformed(_)
            | What::Ticked { .. }
            | What::Repeated { .. }
            | What::RepeatedWish(_) => {}
            What::OtherLog(id) => self.other_log(id, now, effects),
            What::Begun => self.duties.propose_at(now),
            What::Scope(scope) => self.look_again(Some(&scope), now),
            What::Served { seq, asks, .. } => {
                if ours {
                    self.answered(seq, &asks, now, effects);
                }
                for ask in &asks {
                    self.look_again(Some(&ask.scope), now);
                }
            }
            What::Penalised { named, held, .. } => {
                self.penalised(&named, &held, ours, now, effects);
            }
            What::Reset(reset) => self.was_reset(&reset, now),
            What::Limits(limits) => {
                self.done(|body| matches!(body, PendingBody::Limits(own) if own.id == limits.id));
                self.look_again(None, now);
            }
            What::Snapshot(snapshot) => self.compare(&snapshot, now, effects),
        }
    }

    fn answered(&mut self, seq: u64, asks: &[ServedAsk], now: Moment, effects: &mut Vec<Effect>) {
        let Some(outstanding) = self.outstanding.remove(&seq) else {
            return;
        };
        let time = self.machine.time();
        self.clock.read_own(outstanding.sent, time, now);
        let (class, leeway) = (outstanding.class, outstanding.leeway);
        let void_late = self.counts.void_late;
        for (asked, served) in outstanding.asks.into_iter().zip(asks) {
            let mut granted = false;
            for (permits, served) in asked.entries.into_iter().zip(&served.entries) {
                granted |= !served.granted.is_empty();
                let (lucky, others) = permits.split_at(served.granted.len().min(permits.len()));
                for (permit, at) in lucky.iter().zip(&served.granted) {
                    self.grant(*permit, *at, leeway, now, effects);
                }
                for permit in others {
                    self.refused(*permit, served, time, now, effects);
                }
            }
            if let Some(queue) = self.queues.get_mut(&(asked.scope.clone(), class)) {
                queue.asked = None;
                queue.ask_at = Some(now);
                if !granted {
                    let preceded = served.entries.iter().any(|entry| {
                        entry
                            .refused
                            .is_some_and(|refused| refused.why == RefusedWhy::Class)
                    });
                    let (least, spread) = if preceded {
                        AFTER_CLASS
                    } else {
                        AFTER_SURPRISE
                    };
                    queue.not_before = now.after(least + self.random.up_to(spread));
                }
            }
        }
        let round_trip = outstanding.sent.until(now);
        self.leeway
            .answered(round_trip, self.counts.void_late > void_late);
    }

    fn refused(
        &mut self,
        permit: super::PermitId,
        served: &Served,
        time: LogTime,
        now: Moment,
        effects: &mut Vec<Effect>,
    ) {
        let Some(Refusal { why, next_free }) = served.refused else {
            self.requeue(permit, None, now);
            return;
        };
        let blocked = match why {
            RefusedWhy::Scope | RefusedWhy::Share | RefusedWhy::Class => {
                self.counts.refused_scope += 1;
                None
            }
            RefusedWhy::Chat | RefusedWhy::ChatHeld => {
                self.counts.refused_chat += 1;
                Some(next_free)
            }
            RefusedWhy::Held => {
                self.counts.refused_held += 1;
                None
            }
            RefusedWhy::TooManyChats => {
                self.counts.refused_too_many_chats += 1;
                Some(next_free)
            }
            RefusedWhy::UnknownScope => {
                self.duties.propose_at(now);
                None
            }
        };
        self.requeue(permit, blocked, now);
        self.tell(permit, why, time.until(next_free), effects);
    }

    /// Asks that were not read back in time are made again, under another number.
    pub(super) fn give_up_unanswered(&mut self, now: Moment) {
        let timeout = self.options.ask_timeout;
        let late =
            |(seq, asked): (&u64, &Outstanding)| (asked.sent.after(timeout) <= now).then_some(*seq);
        let late: Vec<u64> = self.outstanding.iter().filter_map(late).collect();
        for seq in late {
            self.give_up(seq, now);
        }
    }

    pub(super) fn give_up(&mut self, seq: u64, now: Moment) {
        let Some(outstanding) = self.outstanding.remove(&seq) else {
            return;
        };
        self.counts.unanswered += 1;
        for ask in outstanding.asks {
            for permit in ask.entries.into_iter().flatten() {
                self.requeue(permit, None, now);
            }
            if let Some(queue) = self.queues.get_mut(&(ask.scope, outstanding.class)) {
                queue.asked = None;
                queue.ask_at = Some(now);
            }
        }
    }
}

impl Body {
    /// The process that wrote the record, as far as the record tells.
    pub(super) fn writer(&self) -> Option<Uuid> {
        match self {
            Self::Init(init) => Some(init.incarnation),
            Self::Reserve(reserve) => Some(reserve.incarnation),
            Self::Penalise(penalise) => Some(penalise.incarnation),
            Self::Tick(tick) => Some(tick.incarnation),
            Self::Snapshot(snapshot) => Some(snapshot.incarnation),
            Self::Reset(_) | Self::Limits(_) => None,
        }
    }
}
