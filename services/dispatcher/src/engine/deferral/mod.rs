//! Deferred chats: the machine's wishes about them go to Postgres, and what it says comes back (design §8).

mod looks;

use std::sync::Arc;

use tidings_delivery::{Arrival, CloseAnswer, Due, Event, KeptClaim, PartitionId, SlotId};
use tracing::info;

use super::Engine;
use crate::claims::Ask;
use crate::decode::{Decoded, Intake};
use crate::deferral::{
    Close, Defer, DeferralAnswered, Load, Loaded, Owned, Undefer, WrittenBehind,
};
use crate::stats::DeferralStep;

pub(super) use looks::{DeferralLooks, DeferralsSeen};

/// A record to be written behind, as the machine says it.
pub(super) struct Wish {
    pub(super) slot: SlotId,
    pub(super) chat: Arc<str>,
    pub(super) due: Due,
    pub(super) moves_due: bool,
    pub(super) claim: Option<KeptClaim>,
    pub(super) reason: Arc<str>,
}

impl Engine {
    pub(super) fn owned_as(&self, partition: PartitionId, epoch: i64) -> Owned {
        Owned {
            partition,
            topic: Arc::clone(&self.parts.lanes.get(partition).topic),
            epoch,
        }
    }

    pub(super) fn defer(&mut self, of: Owned, wish: Wish) {
        let Some(Ask { slot, key, what }) = self.ask_about(wish.slot, wish) else {
            return;
        };
        let Some(payload) = self.payloads.get(&slot) else {
            return;
        };
        let event_type = payload.message.as_ref().map(|m| m.event.name().to_owned());
        self.parts.deferrals.defer(Defer {
            slot,
            of,
            chat: what.chat,
            due: what.due,
            moves_due: what.moves_due,
            claim: what.claim,
            reason: what.reason,
            key,
            event_type: event_type.unwrap_or_default(),
            record: Arc::clone(&payload.record),
        });
    }

    pub(super) fn load(
        &self,
        of: Owned,
        chat: Arc<str>,
        (after, below): (Option<i64>, i64),
        limit: usize,
    ) {
        self.parts.deferrals.load(Load {
            of,
            chat,
            after,
            below,
            limit,
        });
    }

    pub(super) fn undefer(&self, of: Owned, slot: SlotId, offset: i64) {
        self.parts.deferrals.undefer(Undefer { slot, of, offset });
    }

    pub(super) fn close_deferral(&self, of: Owned, chat: Arc<str>) {
        self.parts.deferrals.close(Close { of, chat });
    }

    pub(super) fn take_deferral_answers(&mut self, first: DeferralAnswered) {
        self.take_deferral_answer(first);
        for _ in 1..super::EVENTS_IN_A_ROW {
            let Ok(answer) = self.parts.deferral_answers.try_recv() else {
                return;
            };
            self.take_deferral_answer(answer);
        }
    }

    fn take_deferral_answer(&mut self, answer: DeferralAnswered) {
        self.parts.stats.state_away(answer.is_failure());
        if answer.is_refusal() {
            self.parts.stats.fenced();
        }
        self.trace_deferral(&answer);
        self.count_deferral(&answer);
        match answer {
            DeferralAnswered::Deferred { slot, written, .. } => self.tell(match written {
                WrittenBehind::Answered(answer) => Event::Deferred { slot, answer },
                WrittenBehind::HadItsEnd => Event::HadItsEnd { slot },
            }),
            DeferralAnswered::Undeferred { slot, answer, .. } => {
                self.tell(Event::Undeferred { slot, answer });
            }
            DeferralAnswered::Loaded { of, chat, loaded } => self.loaded(&of, chat, loaded),
            DeferralAnswered::Closed { of, chat, answer } => {
                if answer == CloseAnswer::Gone {
                    info!(%chat, topic = %of.topic, partition = of.partition.partition, "no longer deferred");
                }
                self.tell(Event::Closed {
                    partition: of.partition,
                    epoch: of.epoch,
                    chat,
                    answer,
                });
            }
        }
    }

    fn loaded(&mut self, of: &Owned, chat: Arc<str>, loaded: Loaded) {
        let (partition, epoch) = (of.partition, of.epoch);
        let event = match loaded {
            Loaded::Records { intakes, more } => Event::Loaded {
                partition,
                epoch,
                chat,
                records: self.arrivals(intakes),
                more,
            },
            Loaded::StaleEpoch => Event::NotLoaded {
                partition,
                epoch,
                chat,
                stale: true,
            },
            Loaded::Failed => Event::NotLoaded {
                partition,
                epoch,
                chat,
                stale: false,
            },
        };
        self.tell(event);
    }

    /// Once one of them waits for its schema the rest waits behind it, as records of one key do.
    fn arrivals(&mut self, intakes: Vec<Intake>) -> Vec<Arrival> {
        let known = |intake: &Intake| match intake.decoded {
            Decoded::NeedsSchema(_) => false,
            Decoded::Message(_) | Decoded::Poison(_) => true,
        };
        let in_turn = !intakes.iter().all(known);
        let arrivals = intakes
            .into_iter()
            .map(|intake| self.arrival(intake, in_turn));
        arrivals.collect()
    }

    fn trace_deferral(&self, answer: &DeferralAnswered) {
        let (slot, statement) = match answer {
            DeferralAnswered::Deferred {
                slot, statement, ..
            }
            | DeferralAnswered::Undeferred {
                slot, statement, ..
            } => (slot, statement),
            DeferralAnswered::Loaded { .. } | DeferralAnswered::Closed { .. } => return,
        };
        let trace = self.payloads.get(slot).and_then(|p| p.trace.as_ref());
        if let Some(trace) = trace {
            trace.statement(statement);
        }
    }

    fn count_deferral(&self, answer: &DeferralAnswered) {
        let done = tidings_delivery::Answer::Done;
        let (step, partition, messages) = match answer {
            DeferralAnswered::Deferred { slot, written, .. }
                if *written == WrittenBehind::Answered(done) =>
            {
                (DeferralStep::Written, self.partition_of(*slot), 1)
            }
            DeferralAnswered::Undeferred { slot, answer, .. } if *answer == done => {
                (DeferralStep::Removed, self.partition_of(*slot), 1)
            }
            DeferralAnswered::Loaded {
                of,
                loaded: Loaded::Records { intakes, .. },
                ..
            } => (DeferralStep::Loaded, Some(of.partition), intakes.len()),
            DeferralAnswered::Deferred { .. }
            | DeferralAnswered::Undeferred { .. }
            | DeferralAnswered::Loaded { .. }
            | DeferralAnswered::Closed { .. } => return,
        };
        if let Some(partition) = partition {
            let lane = self.parts.lanes.get(partition);
            self.parts.stats.deferral(lane, step, messages);
        }
    }

    fn partition_of(&self, slot: SlotId) -> Option<PartitionId> {
        self.payloads.get(&slot).map(|payload| payload.partition)
    }
}
