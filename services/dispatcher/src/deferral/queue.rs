use std::sync::Arc;
use std::time::SystemTime;

use tidings_delivery::{Answer, CloseAnswer};
use tokio::sync::mpsc;

use super::{Close, Defer, DeferralAnswered, DeferralStore, Load, Loaded, Undefer, WrittenBehind};
use crate::state::{Queue, Queues, StateError, StatementKind};

/// Where statements about deferred chats are asked for. Its queues hold at most one of each record and each chat that
/// the machine knows.
pub(crate) struct Deferrals {
    defers: Queue<Defer>,
    loads: Queue<Load>,
    undefers: Queue<Undefer>,
    closes: Queue<Close>,
}

impl Deferrals {
    /// Starts the four queues; answers go to `answers`.
    pub(crate) fn start(
        queues: &mut Queues,
        store: &Arc<DeferralStore>,
        answers: &mpsc::UnboundedSender<DeferralAnswered>,
    ) -> Self {
        let teller = || Teller {
            store: Arc::clone(store),
            answers: answers.clone(),
        };
        let (defers, loads, undefers, closes) = (teller(), teller(), teller(), teller());
        Self {
            defers: queues.start(move |asks| defers.clone().defer(asks)),
            loads: queues.start(move |asks| loads.clone().load(asks)),
            undefers: queues.start(move |asks| undefers.clone().undefer(asks)),
            closes: queues.start(move |asks| closes.clone().close(asks)),
        }
    }

    pub(crate) fn defer(&self, ask: Defer) {
        self.defers.ask(ask);
    }

    pub(crate) fn load(&self, ask: Load) {
        self.loads.ask(ask);
    }

    pub(crate) fn undefer(&self, ask: Undefer) {
        self.undefers.ask(ask);
    }

    pub(crate) fn close(&self, ask: Close) {
        self.closes.ask(ask);
    }
}

/// Performs statements and tells what came of them.
#[derive(Clone)]
struct Teller {
    store: Arc<DeferralStore>,
    answers: mpsc::UnboundedSender<DeferralAnswered>,
}

impl Teller {
    async fn defer(self, asks: Vec<Defer>) {
        let began = SystemTime::now();
        let done = self.store.defer(&asks).await;
        let statement = StatementKind::Defer.performed(began, asks.len(), done.is_err());
        let failed = WrittenBehind::Answered(Answer::Failed);
        let done = answers("defer", asks.len(), failed, done);
        self.tell(
            asks.into_iter()
                .zip(done)
                .map(|(ask, written)| DeferralAnswered::Deferred {
                    slot: ask.slot,
                    written,
                    statement,
                }),
        );
    }

    async fn load(self, asks: Vec<Load>) {
        let loaded = self.store.load(&asks).await.unwrap_or_else(|error| {
            error.log("load deferred messages", asks.len());
            asks.iter().map(|_| Loaded::Failed).collect()
        });
        self.tell(
            asks.into_iter()
                .zip(loaded)
                .map(|(ask, loaded)| DeferralAnswered::Loaded {
                    of: ask.of,
                    chat: ask.chat,
                    loaded,
                }),
        );
    }

    async fn undefer(self, asks: Vec<Undefer>) {
        let began = SystemTime::now();
        let done = self.store.undefer(&asks).await;
        let statement = StatementKind::Undefer.performed(began, asks.len(), done.is_err());
        let done = answers("remove deferred messages", asks.len(), Answer::Failed, done);
        self.tell(
            asks.into_iter()
                .zip(done)
                .map(|(ask, answer)| DeferralAnswered::Undeferred {
                    slot: ask.slot,
                    answer,
                    statement,
                }),
        );
    }

    async fn close(self, asks: Vec<Close>) {
        let closed = self.store.close(&asks).await;
        let closed = answers("end a deferral", asks.len(), CloseAnswer::Failed, closed);
        self.tell(
            asks.into_iter()
                .zip(closed)
                .map(|(ask, answer)| DeferralAnswered::Closed {
                    of: ask.of,
                    chat: ask.chat,
                    answer,
                }),
        );
    }

    fn tell(&self, answers: impl Iterator<Item = DeferralAnswered>) {
        for answer in answers {
            // Closed means that the worker ended.
            let _ = self.answers.send(answer);
        }
    }
}

fn answers<T: Clone>(
    doing: &str,
    count: usize,
    failed: T,
    done: Result<Vec<T>, StateError>,
) -> Vec<T> {
    done.unwrap_or_else(|error| {
        error.log(doing, count);
        vec![failed; count]
    })
}
