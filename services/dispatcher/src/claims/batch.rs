use std::sync::Arc;
use std::time::SystemTime;

use tidings_delivery::{Answer, ClaimOutcome, SlotId};
use tokio::sync::mpsc;

use super::{Answered, Ask, Claim, Release, Settle, Start, Store};
use crate::state::{Performed, Queue, Queues, StateError, StatementKind};

/// Where statements about claims are asked for. Its queues hold at most one statement of each record that the machine
/// holds, and a release of each.
pub(crate) struct Claims {
    claims: Queue<Ask<Claim>>,
    renewals: Queue<Ask<Claim>>,
    starts: Queue<Ask<Start>>,
    settles: Queue<Ask<Settle>>,
    releases: Queue<Ask<Release>>,
}

impl Claims {
    /// Starts the five queues; answers go to `answers`.
    pub(crate) fn start(
        queues: &mut Queues,
        store: &Arc<Store>,
        answers: &mpsc::UnboundedSender<Answered>,
    ) -> Self {
        let teller = || Teller {
            store: Arc::clone(store),
            answers: answers.clone(),
        };
        let (claims, renewals, starts, settles) = (teller(), teller(), teller(), teller());
        let store = Arc::clone(store);
        Self {
            claims: queues.start(move |asks| claims.clone().claim(asks)),
            renewals: queues.start(move |asks| renewals.clone().renew(asks)),
            starts: queues.start(move |asks| starts.clone().start(asks)),
            settles: queues.start(move |asks| settles.clone().settle(asks)),
            releases: queues.start(move |asks: Vec<Ask<Release>>| {
                let store = Arc::clone(&store);
                async move {
                    if let Err(error) = store.release(&asks).await {
                        error.log("release", asks.len());
                    }
                }
            }),
        }
    }

    pub(crate) fn claim(&self, ask: Ask<Claim>) {
        match ask.what.renew {
            Some(_) => self.renewals.ask(ask),
            None => self.claims.ask(ask),
        }
    }

    pub(crate) fn start_call(&self, ask: Ask<Start>) {
        self.starts.ask(ask);
    }

    pub(crate) fn settle(&self, ask: Ask<Settle>) {
        self.settles.ask(ask);
    }

    pub(crate) fn release(&self, ask: Ask<Release>) {
        self.releases.ask(ask);
    }
}

/// Performs statements and tells what came of them.
#[derive(Clone)]
struct Teller {
    store: Arc<Store>,
    answers: mpsc::UnboundedSender<Answered>,
}

impl Teller {
    async fn claim(self, asks: Vec<Ask<Claim>>) {
        let began = SystemTime::now();
        let outcomes = self.store.claim(&asks).await;
        self.tell_claims(asks, outcomes, (StatementKind::Claim, began));
    }

    async fn renew(self, asks: Vec<Ask<Claim>>) {
        let began = SystemTime::now();
        let outcomes = self.store.renew(&asks).await;
        self.tell_claims(asks, outcomes, (StatementKind::Renew, began));
    }

    async fn start(self, asks: Vec<Ask<Start>>) {
        let began = SystemTime::now();
        let done = self.store.start(&asks).await;
        let statement = StatementKind::Started.performed(began, asks.len(), done.is_err());
        self.tell(asks, done, |slot, answer| Answered::Start {
            slot,
            answer,
            statement,
        });
    }

    async fn settle(self, asks: Vec<Ask<Settle>>) {
        let began = SystemTime::now();
        let done = self.store.settle(&asks).await;
        let statement = StatementKind::Sent.performed(began, asks.len(), done.is_err());
        self.tell(asks, done, |slot, answer| Answered::Settle {
            slot,
            answer,
            statement,
        });
    }

    fn tell_claims(
        &self,
        asks: Vec<Ask<Claim>>,
        outcomes: Result<Vec<ClaimOutcome>, StateError>,
        (kind, began): (StatementKind, SystemTime),
    ) {
        let statement: Performed = kind.performed(began, asks.len(), outcomes.is_err());
        let outcomes = outcomes.unwrap_or_else(|error| {
            error.log("claim", asks.len());
            vec![ClaimOutcome::Failed; asks.len()]
        });
        for (ask, outcome) in asks.into_iter().zip(outcomes) {
            // Closed means that the worker ended.
            let _ = self.answers.send(Answered::Claim {
                slot: ask.slot,
                asked_at: ask.what.asked_at,
                outcome,
                statement,
            });
        }
    }

    fn tell<T>(
        &self,
        asks: Vec<Ask<T>>,
        done: Result<Vec<Answer>, StateError>,
        answered: impl Fn(SlotId, Answer) -> Answered,
    ) {
        let done = done.unwrap_or_else(|error| {
            error.log("record", asks.len());
            vec![Answer::Failed; asks.len()]
        });
        for (ask, answer) in asks.into_iter().zip(done) {
            let _ = self.answers.send(answered(ask.slot, answer));
        }
    }
}
