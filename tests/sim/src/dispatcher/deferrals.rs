//! What a worker asks about its deferred chats.

use std::sync::Arc;

use tidings_delivery::{Effect, KeptClaim};

use super::WorkerRef;
use crate::chaos::Step;
use crate::claims::{DeferAsk, Deferring, Statement, Tried};
use crate::invariants;
use crate::world::World;

impl World {
    pub(super) fn ask_defer(&mut self, to: WorkerRef, effect: Effect) {
        match self.defer_ask(to, effect) {
            Some(asked) => self.ask_deferring(to, Step::Defer, asked),
            None => self.spring(to, Step::Defer),
        }
    }

    pub(super) fn ask_deferring(&mut self, to: WorkerRef, step: Step, asked: Deferring) {
        self.spring(to, step);
        self.send(to, Statement::Deferring(asked));
        self.check(invariants::loads_are_bounded(
            to,
            self.loads_of(to),
            self.limits.loads,
        ));
    }

    fn loads_of(&self, to: WorkerRef) -> usize {
        let statements = self.workers[to.worker].statements.values();
        let loads =
            |statement: &&Statement| matches!(statement, Statement::Deferring(Deferring::Load(_)));
        statements.filter(loads).count()
    }

    fn defer_ask(&mut self, to: WorkerRef, effect: Effect) -> Option<Deferring> {
        let Effect::Defer {
            slot,
            partition,
            epoch,
            chat,
            due,
            moves_due,
            claim,
            ..
        } = effect
        else {
            return None;
        };
        let message = self.message_of(to, slot)?;
        let held = self.held(to, slot)?;
        let (offset, newest) = (held.offset, held.attempt);
        if claim.is_some() {
            self.check(invariants::a_claim_is_given_back_only_unused(
                &self.ledger,
                to,
                message,
                newest.map(|attempt| &self.ledger.attempts[attempt]),
            ));
        }
        let ask = DeferAsk {
            partition,
            epoch,
            chat,
            message,
            offset,
            due,
            moves_due,
        };
        Some(Deferring::Defer {
            slot,
            ask,
            claim: claim.map(kept),
        })
    }

    /// Whether an operator gave up the chat of a message.
    pub(super) fn was_given_up(&self, message: usize) -> bool {
        let chat = self.ledger.messages[message].chat_key();
        let key = (self.partition_of(message), Arc::clone(&chat));
        self.claims.deferrals.given_up.contains(&key)
    }
}

fn kept(claim: KeptClaim) -> (i64, Tried) {
    let tried = Tried {
        attempts: claim.attempts,
        first_failed_at_micros: claim.first_failed_at_micros,
    };
    (claim.fence, tried)
}
