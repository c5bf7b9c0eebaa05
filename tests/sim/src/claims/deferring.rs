//! Statements about deferred chats, carried out while they hold the partition's epoch FOR SHARE.

use std::sync::Arc;

use tidings_delivery::{Answer, CloseAnswer, Event, PartitionId, SlotId};

use super::deferrals::told;
use super::{ClaimStep, DeferAsk, LoadAsk, StatementRef, Tried};
use crate::dispatcher::{WorkerNews, WorkerRef};
use crate::happening::Happening;
use crate::invariants;
use crate::times::{FAULTS_END, MILLI, SECOND};
use crate::trace::note;
use crate::world::World;

/// What is asked about a deferred chat.
#[derive(Debug, Clone)]
pub(crate) enum Deferring {
    Defer {
        slot: SlotId,
        ask: DeferAsk,
        /// The fence of the claim that is given back with it, and what is known of its attempts.
        claim: Option<(i64, Tried)>,
    },
    Load(LoadAsk),
    Undefer {
        slot: SlotId,
        partition: PartitionId,
        epoch: i64,
        offset: usize,
    },
    Close {
        partition: PartitionId,
        epoch: i64,
        chat: Arc<str>,
    },
}

impl Deferring {
    pub(super) fn epoch(&self) -> (PartitionId, i64) {
        match self {
            Self::Defer { ask, .. } => (ask.partition, ask.epoch),
            Self::Load(ask) => (ask.partition, ask.epoch),
            Self::Undefer {
                partition, epoch, ..
            }
            | Self::Close {
                partition, epoch, ..
            } => (*partition, *epoch),
        }
    }

    /// What the worker is told when the epoch is stale, or when there is no answer.
    pub(crate) fn refused(&self, stale: bool) -> Event {
        let answer = if stale {
            Answer::Fenced
        } else {
            Answer::Failed
        };
        match self {
            Self::Defer { slot, .. } => Event::Deferred {
                slot: *slot,
                answer,
            },
            Self::Load(ask) => Event::NotLoaded {
                partition: ask.partition,
                epoch: ask.epoch,
                chat: Arc::clone(&ask.chat),
                stale,
            },
            Self::Undefer { slot, .. } => Event::Undeferred {
                slot: *slot,
                answer,
            },
            Self::Close {
                partition,
                epoch,
                chat,
            } => Event::Closed {
                partition: *partition,
                epoch: *epoch,
                chat: Arc::clone(chat),
                answer: if stale {
                    CloseAnswer::StaleEpoch
                } else {
                    CloseAnswer::Failed
                },
            },
        }
    }
}

impl World {
    pub(super) fn begin_deferring(&mut self, reference: StatementRef, asked: Deferring) {
        let (partition, epoch) = asked.epoch();
        if !self.claims.share(partition, epoch) {
            self.counts.add("deferrals of an old epoch refused");
            self.answer(reference, asked.refused(true));
            return;
        }
        let permille = self.settings.slow_statements_permille;
        let slow = self.faults() && self.random.chance(permille);
        let most = if slow { 3 * SECOND } else { MILLI };
        let step = ClaimStep::Deferring {
            reference,
            asked,
            restarts: self.claims.restarts,
        };
        self.after(50, most, Happening::Claims(step));
    }

    pub(super) fn carry_out(&mut self, reference: StatementRef, asked: Deferring) {
        let (partition, epoch) = asked.epoch();
        let current = self.claims.epochs[&partition];
        self.check(invariants::no_deferral_of_an_old_epoch_succeeds(
            partition, epoch, current,
        ));
        match asked {
            Deferring::Defer { slot, ask, claim } => {
                let answer = Answer::Done;
                let event = if self.claims.settlement(ask.message).is_some() {
                    self.counts.add("deferrals of what had its end");
                    Event::HadItsEnd { slot }
                } else {
                    self.defer_row(reference.worker, &ask, claim);
                    Event::Deferred { slot, answer }
                };
                self.answer(reference, event);
            }
            Deferring::Load(ask) => self.load_rows(reference, &ask),
            Deferring::Undefer { slot, offset, .. } => {
                self.undefer_row(partition, offset);
                let answer = Answer::Done;
                self.answer(reference, Event::Undeferred { slot, answer });
            }
            Deferring::Close { chat, .. } => self.close_marker(reference, partition, epoch, chat),
        }
        self.unshare(partition);
        self.check(invariants::a_row_has_its_marker(
            &self.claims.deferrals,
            partition,
        ));
    }

    fn defer_row(&mut self, worker: WorkerRef, ask: &DeferAsk, claim: Option<(i64, Tried)>) {
        if self.claims.deferrals.write(self.now, ask) {
            self.counts.add("deferrals of what was deferred");
        } else {
            self.counts.add("messages deferred");
        }
        note!(
            self,
            "claims        {worker} defers {} at {} until {:?}, moves {}",
            self.name(ask.message),
            ask.offset,
            ask.due,
            ask.moves_due
        );
        if let Some((fence, tried)) = claim {
            self.counts.add("claims given back with a deferral");
            self.release(worker, ask.message, fence, tried);
        }
    }

    fn load_rows(&mut self, reference: StatementRef, ask: &LoadAsk) {
        let (rows, more) = self.claims.deferrals.load(ask);
        note!(
            self,
            "claims        {} loads {rows:?} of {}, more {more}",
            reference.worker,
            ask.chat
        );
        self.counts.add_many("messages loaded", rows.len() as u64);
        if reference.answered {
            let news = WorkerNews::Rows {
                number: reference.number,
                partition: ask.partition,
                epoch: ask.epoch,
                chat: Arc::clone(&ask.chat),
                rows,
                more,
            };
            self.tell_worker(200, 2 * MILLI, reference.worker, news);
        }
    }

    fn undefer_row(&mut self, partition: PartitionId, offset: usize) {
        let Some(message) = self.claims.deferrals.remove_row(partition, offset) else {
            self.counts.add("rows that were gone already");
            return;
        };
        note!(
            self,
            "claims        the row of {} at {offset} goes",
            self.name(message)
        );
        self.check(invariants::a_row_goes_only_with_its_end(
            message,
            self.claims.settlement(message),
        ));
    }

    fn close_marker(
        &mut self,
        reference: StatementRef,
        partition: PartitionId,
        epoch: i64,
        chat: Arc<str>,
    ) {
        let key = (partition, Arc::clone(&chat));
        let answer = self.claims.deferrals.close(&key);
        note!(
            self,
            "claims        {} closes {chat} in {partition:?}: {answer:?}",
            reference.worker
        );
        match answer {
            CloseAnswer::Gone => self.counts.add("deferrals closed"),
            CloseAnswer::RowsRemain => self.counts.add("deferrals not closed: rows remain"),
            CloseAnswer::StaleEpoch | CloseAnswer::Failed => {}
        }
        let event = Event::Closed {
            partition,
            epoch,
            chat,
            answer,
        };
        self.answer(reference, event);
    }

    /// Somebody looks at what is deferred, lets go of what is held, and now and then tries or gives up what is not.
    pub(crate) fn operator_looks(&mut self) {
        let keys: Vec<_> = self.claims.deferrals.markers.keys().cloned().collect();
        for key in keys {
            self.operator_decides(&key);
        }
        if self.now < FAULTS_END || !self.claims.deferrals.markers.is_empty() {
            self.after(SECOND, 5 * SECOND, Happening::Operator);
        } else {
            self.after(5 * SECOND, 20 * SECOND, Happening::Operator);
        }
    }

    fn operator_decides(&mut self, key: &(PartitionId, Arc<str>)) {
        let (lets_go, hurries, gives_up) = (
            self.now >= FAULTS_END || self.random.chance(500),
            self.faults() && self.random.chance(100),
            self.faults() && self.random.chance(50),
        );
        let now = self.now;
        let Some(marker) = self.claims.deferrals.markers.get_mut(key) else {
            return;
        };
        let held = marker.due_at.is_none();
        if held && lets_go {
            self.counts.add("held chats let go");
        } else if gives_up {
            self.counts.add("deferred chats given up");
            marker.give_up = Some(Arc::from("an operator gave it up"));
            self.claims.deferrals.given_up.insert(key.clone());
        } else if hurries {
            self.counts.add("deferred chats tried at once");
        } else if !marker.touched {
            return;
        }
        if (held && lets_go) || gives_up || hurries {
            marker.due_at = Some(now);
            marker.touched = true;
        }
        note!(self, "operator      {key:?} {marker:?}");
        // A marker that was touched and is still there: its owner may not have heard.
        if let Some(owner) = self.kafka.group.owner(key.0) {
            let news = WorkerNews::Operator(key.0, Arc::clone(&key.1));
            self.tell_worker(MILLI, 500 * MILLI, owner.member, news);
        }
    }

    /// A worker that is to look at a marker reads it then.
    pub(crate) fn look_at_marker(&mut self, to: WorkerRef, partition: PartitionId, chat: Arc<str>) {
        let key = (partition, chat);
        if let Some(marker) = self.claims.deferrals.markers.get(&key) {
            let chat = told(self.now, &key.1, marker);
            note!(self, "{to}: an operator touched {chat:?}");
            self.tell(to, Event::DeferralChanged { partition, chat });
        }
    }
}
