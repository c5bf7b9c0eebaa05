//! What the machine says about accounts and event types, told to people.

use std::sync::Arc;

use tidings_delivery::{CircuitState, DeadLetterHold};
use tracing::{error, info, warn};

use super::Engine;
use crate::stats::Stats;

impl Engine {
    /// B22: an account's circuit opened, is probed, or closed.
    pub(super) fn circuit(&self, account: &Arc<str>, state: CircuitState) {
        self.parts.stats.circuit(account, state);
        match state {
            CircuitState::Open { wait } => warn!(
                %account, wait_seconds = wait.as_secs_f64(),
                "circuit open: most of this account's newest calls failed or had no answer; its messages wait, at no cost of attempts, and a probe follows"
            ),
            CircuitState::HalfOpen => {
                info!(%account, "circuit half open: a probe goes out, if a message waits");
            }
            CircuitState::Closed => {
                info!(%account, "circuit closed: the platform answers; calls at once grow step by step");
            }
        }
    }

    /// Design §8: an event type makes too many dead letters for one cause.
    pub(super) fn dead_letters_held(
        &self,
        event_type: &Arc<str>,
        hold: DeadLetterHold,
        reason: &Arc<str>,
    ) {
        match hold {
            DeadLetterHold::Began { category, wait } => {
                Stats::dead_letters_held(event_type, true);
                error!(
                    %event_type, category = category.word(), %reason, wait_seconds = wait.as_secs(),
                    "most of this event type's newest messages would be dead letters for one cause: they are held back; mend the cause (template, content, account), and a probe frees them"
                );
            }
            DeadLetterHold::GoesOn { category, wait } => warn!(
                %event_type, category = category.word(), %reason, wait_seconds = wait.as_secs(),
                "a probe of this event type would be a dead letter again: they are held back on"
            ),
            DeadLetterHold::Ended => {
                Stats::dead_letters_held(event_type, false);
                info!(%event_type, "this event type's messages go out again: what was held back is tried again");
            }
        }
    }
}
