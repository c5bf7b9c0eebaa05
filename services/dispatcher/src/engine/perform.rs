//! Effects, performed. A new one does not compile until it has its arm here.

use std::sync::Arc;
use std::time::Instant;

use rdkafka::Message as _;
use tidings_delivery::{DeadLetterFacts, Effect, Outcome, PartitionId, PermitId, SlotId};
use tracing::{error, warn};

use super::deferral::Wish;
use super::{Engine, Input, Payload};
use crate::calls::{Attempt, Attempted};
use crate::claims::{Ask, Claim, Release, Settle, Start};
use crate::consumer::ToKafka;
use crate::stats::Line;
use crate::traces::MessageTrace;
use crate::turn::NotItsTurn;

impl Engine {
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Claim {
                slot,
                partition,
                epoch,
                renew,
                attempts,
                first_failed_at_micros,
            } => {
                let claim = Claim {
                    asked_at: self.moment(),
                    topic: Arc::clone(&self.parts.lanes.get(partition).topic),
                    partition: partition.partition,
                    offset: self.payloads.get(&slot).map_or(-1, |p| p.record.offset()),
                    epoch,
                    attempts,
                    first_failed_at_micros,
                    renew,
                };
                if let Some(ask) = self.ask_about(slot, claim) {
                    self.parts.claims.claim(ask);
                }
            }
            Effect::Want {
                slot,
                permit,
                class,
                target,
            } => self.want(slot, permit, class, target.as_deref()),
            Effect::Unwant(permit) => self.unwant(permit),
            Effect::Penalise {
                slot,
                target,
                scope,
                wait,
            } => self.penalise(slot, target.as_deref(), scope, wait),
            Effect::Start { slot, fence } => {
                if let Some(ask) = self.ask_about(slot, Start { fence }) {
                    self.parts.claims.start_call(ask);
                }
            }
            Effect::Call {
                slot,
                fence,
                call,
                target,
                permit,
            } => self.call(slot, fence, call, target, permit),
            Effect::Settle {
                slot,
                settlement,
                fence,
                attempts,
                call,
                platform_message_id,
                reason,
            } => {
                let settle = Settle {
                    settlement,
                    fence,
                    attempts,
                    call,
                    platform_message_id,
                    reason,
                };
                if let Some(ask) = self.ask_about(slot, settle) {
                    self.parts.claims.settle(ask);
                    if let Some(trace) = self.trace(slot) {
                        trace.settling();
                    }
                }
            }
            Effect::DeadLetter { slot, facts } => self.dead_letter(slot, facts),
            Effect::Release {
                slot,
                fence,
                attempts,
                first_failed_at_micros,
            } => {
                let release = Release {
                    fence,
                    attempts,
                    first_failed_at_micros,
                };
                if let Some(ask) = self.ask_about(slot, release) {
                    self.parts.claims.release(ask);
                }
            }
            Effect::Defer {
                slot,
                partition,
                epoch,
                chat,
                due,
                moves_due,
                claim,
                reason,
            } => {
                let wish = Wish {
                    slot,
                    chat,
                    due,
                    moves_due,
                    claim,
                    reason,
                };
                self.defer(self.owned_as(partition, epoch), wish);
            }
            Effect::Load {
                partition,
                epoch,
                chat,
                after,
                below,
                limit,
            } => self.load(self.owned_as(partition, epoch), chat, (after, below), limit),
            Effect::Undefer {
                slot,
                partition,
                epoch,
                offset,
            } => self.undefer(self.owned_as(partition, epoch), slot, offset),
            Effect::CloseDeferral {
                partition,
                epoch,
                chat,
            } => self.close_deferral(self.owned_as(partition, epoch), chat),
            Effect::Commit { partition, offset } => self.ask(ToKafka::Commit { partition, offset }),
            Effect::Pause(id) => self.ask(ToKafka::Pause(id)),
            Effect::Resume(id) => self.ask(ToKafka::Resume(id)),
            Effect::Drained(id) => self.drained(id),
            Effect::FencedPartition(id) => self.fenced(id),
            Effect::AccountBroken {
                account,
                wait,
                reason,
            } => self.account_broken(&account, wait, &reason),
            Effect::AccountMended(account) => self.account_mended(&account),
            Effect::DeadLettersHeld {
                event_type,
                hold,
                reason,
            } => self.dead_letters_held(&event_type, hold, &reason),
            Effect::Remember { target, state } => self.parts.targets.remember(&target, state),
            Effect::Circuit { account, state } => self.circuit(&account, state),
            Effect::Finish {
                slot,
                outcome,
                attempts,
            } => self.finish_slot(slot, outcome, attempts),
        }
    }

    pub(super) fn ask_about<T>(&self, slot: SlotId, what: T) -> Option<Ask<T>> {
        let key = self
            .payloads
            .get(&slot)
            .and_then(|payload| payload.key.clone());
        if key.is_none() {
            // The machine asks about records that it was told of as messages, and forgets none before its `Finish`.
            error!(
                ?slot,
                "a statement about a record that is no message: report this"
            );
        }
        key.map(|key| Ask { slot, key, what })
    }

    fn trace(&mut self, slot: SlotId) -> Option<&mut MessageTrace> {
        self.payloads.get_mut(&slot)?.trace.as_mut()
    }

    fn call(
        &mut self,
        slot: SlotId,
        fence: i64,
        call: u32,
        target: Option<Arc<str>>,
        permit: Option<PermitId>,
    ) {
        self.permit_used(slot);
        let message = self.payloads.get(&slot).and_then(|p| p.message.clone());
        let Some(message) = message else {
            return;
        };
        let account = message.envelope.destination.as_ref().map_or_else(
            || Arc::from(""),
            |to| Arc::from(format!("{}:{}", to.platform, to.account)),
        );
        let attempt = Attempt {
            account,
            message,
            fence,
            call,
            target,
            permit,
        };
        let caller = Arc::clone(&self.parts.caller);
        let inputs = self.inputs.clone();
        let mut trace = self.trace(slot).map(|trace| trace.under());
        tokio::spawn(async move {
            let began = Instant::now();
            let attempted = match (caller.attempt(&attempt).await, permit) {
                (Ok(attempted), _) => attempted,
                (Err(NotItsTurn), Some(permit)) => {
                    // Closed means that the worker ended.
                    let _ = inputs.send(Input::NotCalled(permit));
                    return;
                }
                (Err(NotItsTurn), None) => return,
            };
            let Attempted {
                classified,
                fetch,
                call,
            } = attempted;
            let (took, called) = (began.elapsed(), call.is_some());
            if let (Some(trace), Some(facts)) = (&mut trace, fetch) {
                trace.fetched(&facts);
            }
            if let (Some(trace), Some(facts)) = (trace, call) {
                trace.called(&facts, attempt.call, attempt.fence, &classified);
            }
            // Closed means that the worker ended; the claim says the rest.
            let _ = inputs.send(Input::Answered {
                slot,
                called,
                classified,
                took,
            });
        });
    }

    fn dead_letter(&mut self, slot: SlotId, facts: DeadLetterFacts) {
        let Some(payload) = self.payloads.get_mut(&slot) else {
            return;
        };
        if let Some(trace) = &mut payload.trace {
            trace.gives_up(&facts);
        }
        let trace = payload
            .trace
            .as_ref()
            .map(|trace| (trace.under(), trace.traceparent()));
        let lane = self.parts.lanes.get(payload.partition);
        let Some(topic) = self.parts.dead_letter_topics.get(&lane.platform).cloned() else {
            return;
        };
        let record = Arc::clone(&payload.record);
        let letters = Arc::clone(&self.parts.dead_letters);
        let inputs = self.inputs.clone();
        tokio::spawn(async move {
            let (trace, traceparent) = trace.unzip();
            let acknowledged = letters.append(&topic, &record, &facts, traceparent).await;
            if let Some(trace) = trace {
                trace.dead_lettered(&topic, acknowledged);
            }
            let _ = inputs.send(Input::DeadLettered { slot, acknowledged });
        });
    }

    /// A newer epoch exists, so the group will say so sooner or later; joining afresh makes it sooner.
    fn fenced(&mut self, id: PartitionId) {
        warn!(topic = %self.parts.lanes.get(id).topic, partition = id.partition, "fenced: another worker has this partition");
        self.ask(ToKafka::Close);
    }

    fn finish_slot(&mut self, slot: SlotId, outcome: Outcome, attempts: u32) {
        let Some(mut payload) = self.payloads.remove(&slot) else {
            return;
        };
        if self.anything_unresolved() {
            let key = payload.record.key().unwrap_or_default().to_vec();
            self.forget_unresolved(slot, &(payload.partition, key));
        }
        let trace = payload.trace.take();
        let line = self.line(&payload, outcome, attempts);
        self.parts.stats.finished(&line);
        if let Some(trace) = trace {
            trace.finish(&line);
        }
    }

    fn line<'a>(&'a self, payload: &'a Payload, outcome: Outcome, attempts: u32) -> Line<'a> {
        let lane = self.parts.lanes.get(payload.partition);
        Line {
            lane,
            group: &self.parts.group,
            record: &payload.record,
            message: payload.message.as_deref(),
            outcome,
            attempts,
            reason: &payload.last_reason,
            class: payload.class,
            duration: payload.received.elapsed(),
        }
    }
}
