//! Looks into Postgres from time to time: what operators changed, and how much waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidings_delivery::Event;
use tracing::{info, warn};

use super::super::{Engine, Input};
use crate::deferral::Changed;

/// The most operators' changes that one poll takes; what is over it comes with the next.
const CHANGES: i64 = 1_000;

/// How often the messages that wait in Postgres are counted.
const COUNT_EVERY: Duration = Duration::from_secs(10);

/// What the engine looks for in Postgres from time to time.
pub(in crate::engine) struct DeferralLooks {
    polled_at: Instant,
    counted_at: Instant,
    /// A look is on its way.
    polling: bool,
}

impl Default for DeferralLooks {
    fn default() -> Self {
        Self {
            polled_at: Instant::now(),
            counted_at: Instant::now(),
            polling: false,
        }
    }
}

/// What a look found.
pub(crate) struct DeferralsSeen {
    changed: Vec<Changed>,
    /// How many messages wait, if they were counted.
    messages: Option<u64>,
}

impl Engine {
    /// Looks for what operators changed, and from time to time at how much waits.
    pub(in crate::engine) fn look_at_deferrals(&mut self) {
        let (poll, looks) = (self.parts.deferred_poll, &mut self.deferral_looks);
        if looks.polling || looks.polled_at.elapsed() < poll {
            return;
        }
        let partitions = self.assignment.owned_names(&self.parts.lanes);
        if partitions.is_empty() {
            return;
        }
        looks.polling = true;
        looks.polled_at = Instant::now();
        let counts = looks.counted_at.elapsed() >= COUNT_EVERY;
        if counts {
            looks.counted_at = Instant::now();
        }
        let (store, inputs) = (Arc::clone(&self.parts.deferral_store), self.inputs.clone());
        tokio::spawn(async move {
            let changed = store.changed(&partitions, CHANGES).await;
            let messages = match counts {
                true => store.count(&partitions).await.ok(),
                false => None,
            };
            let seen = DeferralsSeen {
                changed: changed.unwrap_or_else(|error| {
                    warn!(error = %error, "could not look for changed deferrals; looked again");
                    Vec::new()
                }),
                messages,
            };
            // Closed means that the worker ended.
            let _ = inputs.send(Input::DeferralsSeen(seen));
        });
    }

    pub(in crate::engine) fn deferrals_seen(&mut self, seen: DeferralsSeen) {
        self.deferral_looks.polling = false;
        if let Some(messages) = seen.messages {
            self.parts.stats.deferred_messages(messages);
        }
        let mut taken = seen.changed;
        taken.retain(|changed| self.operator_changed(changed));
        if taken.is_empty() {
            return;
        }
        let store = Arc::clone(&self.parts.deferral_store);
        tokio::spawn(async move {
            if let Err(error) = store.seen(&taken).await {
                error.log("note that changed deferrals were seen", taken.len());
            }
        });
    }

    /// Whether the partition is still ours.
    fn operator_changed(&mut self, changed: &Changed) -> bool {
        let id = self.parts.lanes.id(&changed.topic, changed.partition);
        let Some(partition) = id.filter(|id| self.assignment.owns(*id)) else {
            return false;
        };
        let chat = changed.chat.clone();
        info!(
            chat = %chat.chat, topic = changed.topic, partition = changed.partition, due = ?chat.due,
            gives_up = chat.give_up.is_some(), "an operator changed a deferral"
        );
        self.tell(Event::DeferralChanged { partition, chat });
        true
    }
}
