use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tidings_delivery::{Answer, ClaimOutcome};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tracing::warn;

use super::store::StoreError;
use super::{Answered, Ask, Claim, Key, Release, Settle, Start, Statement, StatementKind, Store};

/// Where statements are asked for. The queues have no bound of their own: each holds at most one statement of each
/// record that the machine holds, and a release of each.
pub(crate) struct Claims {
    claims: mpsc::UnboundedSender<Ask<Claim>>,
    renewals: mpsc::UnboundedSender<Ask<Claim>>,
    starts: mpsc::UnboundedSender<Ask<Start>>,
    settles: mpsc::UnboundedSender<Ask<Settle>>,
    releases: mpsc::UnboundedSender<Ask<Release>>,
    places: Arc<Semaphore>,
    connections: u32,
    queues: JoinSet<()>,
}

impl Claims {
    /// Starts the five batchers over `connections` connections; answers go to `answers`.
    pub(crate) fn start(
        store: Arc<Store>,
        connections: usize,
        batch: usize,
        answers: mpsc::UnboundedSender<Answered>,
    ) -> Self {
        let shared = Shared {
            store,
            places: Arc::new(Semaphore::new(connections)),
            batch,
            answers,
        };
        let mut queues = JoinSet::new();
        let connections = u32::try_from(connections).unwrap_or(u32::MAX);
        Self {
            places: Arc::clone(&shared.places),
            connections,
            claims: spawn(&mut queues, &shared, |shared, asks| async move {
                let began = SystemTime::now();
                let outcomes = shared.store.claim(&asks).await;
                shared.tell_claims(asks, outcomes, (StatementKind::Claim, began));
            }),
            renewals: spawn(&mut queues, &shared, |shared, asks| async move {
                let began = SystemTime::now();
                let outcomes = shared.store.renew(&asks).await;
                shared.tell_claims(asks, outcomes, (StatementKind::Renew, began));
            }),
            starts: spawn(&mut queues, &shared, |shared, asks| async move {
                let began = SystemTime::now();
                let done = shared.store.start(&asks).await;
                let statement = ended(StatementKind::Started, began, &asks, done.is_err());
                shared.tell(asks, done, |slot, answer| Answered::Start {
                    slot,
                    answer,
                    statement,
                });
            }),
            settles: spawn(&mut queues, &shared, |shared, asks| async move {
                let began = SystemTime::now();
                let done = shared.store.settle(&asks).await;
                let statement = ended(StatementKind::Sent, began, &asks, done.is_err());
                shared.tell(asks, done, |slot, answer| Answered::Settle {
                    slot,
                    answer,
                    statement,
                });
            }),
            releases: spawn(&mut queues, &shared, |shared, asks| async move {
                if let Err(error) = shared.store.release(&asks).await {
                    log_failure("release", asks.len(), &error);
                }
            }),
            queues,
        }
    }

    /// Waits until everything that was asked for is answered, not longer than `deadline`.
    pub(crate) async fn finish(self, deadline: Duration) {
        let Self {
            claims,
            renewals,
            starts,
            settles,
            releases,
            places,
            connections,
            mut queues,
        } = self;
        drop((claims, renewals, starts, settles, releases));
        let all = async {
            while queues.join_next().await.is_some() {}
            drop(places.acquire_many(connections).await);
        };
        if tokio::time::timeout(deadline, all).await.is_err() {
            warn!("statements were still unanswered at the end; their leases run out");
        }
    }

    pub(crate) fn claim(&self, ask: Ask<Claim>) {
        let queue = match ask.what.renew {
            Some(_) => &self.renewals,
            None => &self.claims,
        };
        // The batchers live as long as this struct: a send can not fail.
        let _ = queue.send(ask);
    }

    pub(crate) fn start_call(&self, ask: Ask<Start>) {
        let _ = self.starts.send(ask);
    }

    pub(crate) fn settle(&self, ask: Ask<Settle>) {
        let _ = self.settles.send(ask);
    }

    pub(crate) fn release(&self, ask: Ask<Release>) {
        let _ = self.releases.send(ask);
    }
}

#[derive(Clone)]
struct Shared {
    store: Arc<Store>,
    places: Arc<Semaphore>,
    batch: usize,
    answers: mpsc::UnboundedSender<Answered>,
}

impl Shared {
    fn tell_claims(
        &self,
        asks: Vec<Ask<Claim>>,
        outcomes: Result<Vec<ClaimOutcome>, StoreError>,
        (kind, began): (StatementKind, SystemTime),
    ) {
        let statement = ended(kind, began, &asks, outcomes.is_err());
        let outcomes = outcomes.unwrap_or_else(|error| {
            log_failure("claim", asks.len(), &error);
            vec![ClaimOutcome::Failed; asks.len()]
        });
        for (ask, outcome) in asks.into_iter().zip(outcomes) {
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
        done: Result<Vec<Answer>, StoreError>,
        answered: impl Fn(tidings_delivery::SlotId, Answer) -> Answered,
    ) {
        let done = done.unwrap_or_else(|error| {
            log_failure("record", asks.len(), &error);
            vec![Answer::Failed; asks.len()]
        });
        for (ask, answer) in asks.into_iter().zip(done) {
            let _ = self.answers.send(answered(ask.slot, answer));
        }
    }
}

fn ended<T>(kind: StatementKind, began: SystemTime, asks: &[Ask<T>], failed: bool) -> Statement {
    Statement {
        kind,
        began,
        ended: SystemTime::now(),
        messages: u32::try_from(asks.len()).unwrap_or(u32::MAX),
        failed,
    }
}

fn log_failure(doing: &str, messages: usize, error: &StoreError) {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    warn!(error = %error, cause, messages, "could not {doing}; it is asked again");
}

/// Runs one queue: waits for a first statement, then for a connection, then takes whatever waits with it.
fn spawn<T, F, R>(
    queues: &mut JoinSet<()>,
    shared: &Shared,
    perform: F,
) -> mpsc::UnboundedSender<Ask<T>>
where
    T: Send + 'static,
    F: Fn(Shared, Vec<Ask<T>>) -> R + Send + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let (sender, mut queue) = mpsc::unbounded_channel::<Ask<T>>();
    let shared = shared.clone();
    queues.spawn(async move {
        let mut held_back: Option<Ask<T>> = None;
        loop {
            let first = match held_back.take() {
                Some(ask) => ask,
                None => match queue.recv().await {
                    Some(ask) => ask,
                    None => return,
                },
            };
            let Ok(place) = Arc::clone(&shared.places).acquire_owned().await else {
                return;
            };
            let asks = gather(first, &mut queue, shared.batch, &mut held_back);
            let work = perform(shared.clone(), asks);
            tokio::spawn(async move {
                work.await;
                drop(place);
            });
        }
    });
    sender
}

/// Takes what waits, up to `most`. One statement must not name a message twice, so a second one is held back; and rows
/// are locked in one order everywhere, so that two workers' statements can not wait for each other.
fn gather<T>(
    first: Ask<T>,
    queue: &mut mpsc::UnboundedReceiver<Ask<T>>,
    most: usize,
    held_back: &mut Option<Ask<T>>,
) -> Vec<Ask<T>> {
    let mut named: HashSet<Key> = HashSet::new();
    named.insert(first.key.clone());
    let mut asks = vec![first];
    while asks.len() < most {
        let Ok(ask) = queue.try_recv() else {
            break;
        };
        if !named.insert(ask.key.clone()) {
            *held_back = Some(ask);
            break;
        }
        asks.push(ask);
    }
    asks.sort_by(|a, b| a.key.cmp(&b.key));
    asks
}
