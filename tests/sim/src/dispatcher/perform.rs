//! Effects, performed. A new one does not compile until it has its arm here.

use tidings_delivery::{CircuitState, Effect, Outcome, PartitionId, Settlement, SlotId};

use super::{Held, Phase, WorkerNews, WorkerRef};
use crate::chaos::Step;
use crate::claims::{ClaimAsk, Deferring, LoadAsk, Statement, Tried};
use crate::invariants;
use crate::kafka::Record;
use crate::times::{MILLI, SECOND};
use crate::trace::note;
use crate::world::World;

impl World {
    pub(super) fn perform(&mut self, to: WorkerRef, effect: Effect) {
        match effect {
            Effect::Claim { slot, .. } => {
                self.check(self.may_begin(to, slot));
                self.spring(to, Step::Claim);
                self.claim(to, effect);
            }
            Effect::Start { slot, fence } => {
                self.check(self.may_begin(to, slot));
                self.spring(to, Step::Start);
                if let Some(message) = self.message_of(to, slot) {
                    let start = Statement::Start {
                        slot,
                        message,
                        fence,
                    };
                    self.send(to, start);
                }
            }
            Effect::Want { permit, .. } => self.want(to, permit),
            Effect::Penalise { .. } => self.counts.add("penalties told to the limit"),
            Effect::Unwant(permit) => self.unwant(to, permit),
            Effect::Call {
                slot,
                fence,
                call,
                permit,
                ..
            } => {
                self.check(self.may_begin(to, slot));
                self.spring(to, Step::Call);
                if self.last_look(to, slot, permit) {
                    self.call(to, slot, fence, call);
                }
            }
            Effect::Settle {
                slot,
                settlement,
                fence,
                ..
            } => self.ask_settle(to, slot, settlement, fence),
            Effect::DeadLetter { slot, .. } => self.dead_letter(to, slot),
            Effect::Release { .. } => self.ask_release(to, effect),
            Effect::Defer { .. } => self.ask_defer(to, effect),
            Effect::Load {
                partition,
                epoch,
                chat,
                after,
                below,
                limit,
            } => {
                let ask = LoadAsk {
                    partition,
                    epoch,
                    chat,
                    after,
                    below,
                    limit,
                };
                self.ask_deferring(to, Step::Load, Deferring::Load(ask));
            }
            Effect::Undefer {
                slot,
                partition,
                epoch,
                offset,
            } => {
                let asked = Deferring::Undefer {
                    slot,
                    partition,
                    epoch,
                    offset: offset as usize,
                };
                self.ask_deferring(to, Step::Undefer, asked);
            }
            Effect::CloseDeferral {
                partition,
                epoch,
                chat,
            } => {
                let asked = Deferring::Close {
                    partition,
                    epoch,
                    chat,
                };
                self.ask_deferring(to, Step::Close, asked);
            }
            Effect::Commit { partition, offset } => self.commit(to, partition, offset),
            Effect::Pause(id) => self.pause(to, id, true),
            Effect::Resume(id) => self.pause(to, id, false),
            Effect::Drained(id) => self.abandon(to, id),
            Effect::FencedPartition(id) => self.fenced(to, id),
            Effect::AccountBroken { .. } => self.counts.add("accounts rested"),
            Effect::AccountMended(_) => self.counts.add("accounts mended"),
            Effect::Circuit { state, .. } => self.counts.add(match state {
                CircuitState::Open { .. } => "circuits opened",
                CircuitState::HalfOpen => "circuits half opened",
                CircuitState::Closed => "circuits closed",
            }),
            Effect::Remember { .. } => self.counts.add("targets remembered"),
            Effect::DeadLettersHeld { .. } => self.counts.add("dead letters held"),
            Effect::Finish { slot, outcome, .. } => self.finish(to, slot, outcome),
        }
    }

    pub(super) fn held(&self, to: WorkerRef, slot: SlotId) -> Option<&Held> {
        self.workers[to.worker].slots.get(&slot)
    }

    pub(super) fn message_of(&self, to: WorkerRef, slot: SlotId) -> Option<usize> {
        match self.held(to, slot)?.record {
            Record::Message(message) => Some(message),
            Record::Poison => None,
        }
    }

    /// Whether a record's assignment still is the worker's, and not being taken back.
    pub(super) fn may_begin(&self, to: WorkerRef, slot: SlotId) -> invariants::Checked {
        let owned = self.held(to, slot).is_some_and(|held| {
            let assignment = self.workers[to.worker].assignments.get(&held.partition);
            assignment.is_some_and(|assignment| {
                assignment.phase == Phase::Owned && assignment.generation == held.generation
            })
        });
        invariants::nothing_starts_after_its_assignment(to, slot, owned)
    }

    fn claim(&mut self, to: WorkerRef, effect: Effect) {
        let Effect::Claim {
            slot,
            partition,
            epoch,
            renew,
            attempts,
            first_failed_at_micros,
        } = effect
        else {
            return;
        };
        let Some(message) = self.message_of(to, slot) else {
            return;
        };
        let ask = ClaimAsk {
            message,
            partition,
            epoch,
            renew,
            tried: Tried {
                attempts,
                first_failed_at_micros,
            },
        };
        let asked_at = self.moment(to.worker);
        let claim = Statement::Claim {
            slot,
            asked_at,
            ask,
        };
        self.send(to, claim);
    }

    fn ask_settle(&mut self, to: WorkerRef, slot: SlotId, end: Settlement, fence: i64) {
        let Some(message) = self.message_of(to, slot) else {
            return;
        };
        self.check(invariants::an_end_has_its_cause(
            &self.ledger,
            message,
            end,
            self.wall_micros(to.worker),
            self.was_given_up(message),
        ));
        self.spring(to, Step::Settle);
        let attempt = self.held(to, slot).and_then(|held| held.attempt);
        let settle = Statement::Settle {
            slot,
            message,
            fence,
            end,
            attempt: attempt.filter(|_| end == Settlement::Delivered),
        };
        self.send(to, settle);
    }

    fn ask_release(&mut self, to: WorkerRef, effect: Effect) {
        let Effect::Release {
            slot,
            fence,
            attempts,
            first_failed_at_micros,
        } = effect
        else {
            return;
        };
        let Some(message) = self.message_of(to, slot) else {
            return;
        };
        let newest = self.held(to, slot).and_then(|held| held.attempt);
        self.check(invariants::a_claim_is_given_back_only_unused(
            &self.ledger,
            to,
            message,
            newest.map(|attempt| &self.ledger.attempts[attempt]),
        ));
        self.counts.add("claims given back");
        self.spring(to, Step::Release);
        let tried = Tried {
            attempts,
            first_failed_at_micros,
        };
        let release = Statement::Release {
            message,
            fence,
            tried,
        };
        self.send(to, release);
    }

    fn dead_letter(&mut self, to: WorkerRef, slot: SlotId) {
        let Some(held) = self.held(to, slot).copied() else {
            return;
        };
        self.spring(to, Step::DeadLetter);
        let refused = self.faults() && self.random.chance(50);
        let acknowledged = !refused && !self.kafka.is_down(self.now);
        // An acknowledgement may be lost as well: the record is there twice then.
        let appended = acknowledged || self.random.chance(300);
        if appended {
            self.kafka
                .dead_letters
                .insert((held.partition, held.offset));
            if let Record::Message(message) = held.record {
                self.kafka.dead_messages.insert(message);
            }
        }
        if !acknowledged {
            self.counts.add("dead letters not acknowledged");
        }
        let most = if acknowledged { 20 * MILLI } else { SECOND };
        self.tell_worker(
            MILLI,
            most,
            to,
            WorkerNews::DeadLettered(slot, acknowledged),
        );
    }

    fn commit(&mut self, to: WorkerRef, partition: PartitionId, offset: i64) {
        let offset = offset as usize;
        self.check(invariants::commit_passes_only_what_has_its_end(
            self, partition, offset,
        ));
        self.spring(to, Step::Commit);
        self.commit_soon(to, partition, offset);
    }

    fn pause(&mut self, to: WorkerRef, id: PartitionId, paused: bool) {
        note!(self, "{to}: {id:?} paused: {paused}");
        let assignments = &mut self.workers[to.worker].assignments;
        if let Some(assignment) = assignments.get_mut(&id) {
            assignment.paused = paused;
        }
        if paused {
            self.counts.add("partitions paused for a bound");
        } else {
            self.fetch_soon(to);
        }
    }

    fn finish(&mut self, to: WorkerRef, slot: SlotId, outcome: Outcome) {
        if let Some(message) = self.message_of(to, slot) {
            note!(self, "{to}: {} leaves: {outcome:?}", self.name(message));
        }
        match outcome {
            Outcome::Duplicate(_) => self.counts.add("duplicates suppressed"),
            Outcome::Handed => self.counts.add("records left to the next owner"),
            Outcome::Fenced => self.counts.add("records left to another worker"),
            Outcome::Deferred => self.counts.add("records left to Postgres"),
            Outcome::Settled(_) | Outcome::Poison => {}
        }
        self.workers[to.worker].slots.remove(&slot);
    }
}
