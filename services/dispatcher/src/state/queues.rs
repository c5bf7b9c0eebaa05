use std::collections::HashSet;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tracing::warn;

/// A question that goes together with others.
pub(crate) trait Asked: Send + 'static {
    /// What it is about. One statement must not name that twice.
    type Name: Ord + Hash + Send;

    fn name(&self) -> Self::Name;

    /// What it carries, in bytes, beside names and numbers.
    fn bytes(&self) -> usize {
        0
    }
}

/// Where questions of one kind are asked. It has no bound of its own: whoever asks holds what it asks about.
pub(crate) struct Queue<T>(mpsc::UnboundedSender<T>);

impl<T> Queue<T> {
    pub(crate) fn ask(&self, question: T) {
        // What answers lives as long as this sender: a send can not fail.
        let _ = self.0.send(question);
    }
}

/// The queues of a worker. They share its connections.
pub(crate) struct Queues {
    places: Arc<Semaphore>,
    connections: u32,
    batch: Batch,
    running: JoinSet<()>,
}

/// What goes together at most.
#[derive(Debug, Clone, Copy)]
struct Batch {
    questions: usize,
    bytes: usize,
}

impl Queues {
    /// Statements over `connections` connections, each about at most `questions` messages and, but for a single larger
    /// one, `bytes` of them.
    pub(crate) fn new(connections: usize, questions: usize, bytes: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(connections)),
            connections: u32::try_from(connections).unwrap_or(u32::MAX),
            batch: Batch { questions, bytes },
            running: JoinSet::new(),
        }
    }

    /// Starts a queue: it waits for a first question, then for a connection, then takes whatever waits with it, sorted
    /// by name.
    pub(crate) fn start<T, F, R>(&mut self, perform: F) -> Queue<T>
    where
        T: Asked,
        F: Fn(Vec<T>) -> R + Send + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let (sender, mut queue) = mpsc::unbounded_channel::<T>();
        let (places, batch) = (Arc::clone(&self.places), self.batch);
        self.running.spawn(async move {
            let mut held_back: Option<T> = None;
            loop {
                let first = match held_back.take() {
                    Some(question) => question,
                    None => match queue.recv().await {
                        Some(question) => question,
                        None => return,
                    },
                };
                let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                    return;
                };
                let work = perform(gather(first, &mut queue, batch, &mut held_back));
                tokio::spawn(async move {
                    work.await;
                    drop(place);
                });
            }
        });
        Queue(sender)
    }

    /// Waits until everything that was asked for is answered, not longer than `deadline`. The queues' askers are dropped
    /// before.
    pub(crate) async fn finish(mut self, deadline: Duration) {
        let all = async {
            while self.running.join_next().await.is_some() {}
            drop(self.places.acquire_many(self.connections).await);
        };
        if tokio::time::timeout(deadline, all).await.is_err() {
            warn!("statements were still unanswered at the end; their leases run out");
        }
    }
}

/// Takes what waits, up to the bounds. One statement must not name a message twice, so a second one is held back; and
/// rows are locked in one order everywhere, so that two workers' statements can not wait for each other.
fn gather<T: Asked>(
    first: T,
    queue: &mut mpsc::UnboundedReceiver<T>,
    most: Batch,
    held_back: &mut Option<T>,
) -> Vec<T> {
    let mut bytes = first.bytes();
    let mut named = HashSet::from([first.name()]);
    let mut questions = vec![first];
    while questions.len() < most.questions {
        let Ok(question) = queue.try_recv() else {
            break;
        };
        bytes = bytes.saturating_add(question.bytes());
        if bytes > most.bytes || !named.insert(question.name()) {
            *held_back = Some(question);
            break;
        }
        questions.push(question);
    }
    questions.sort_by_cached_key(T::name);
    questions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Sized(u32, usize);

    impl Asked for Sized {
        type Name = u32;

        fn name(&self) -> u32 {
            self.0
        }

        fn bytes(&self) -> usize {
            self.1
        }
    }

    fn gathered(waiting: &[(u32, usize)]) -> (Vec<u32>, Option<u32>) {
        let (sender, mut queue) = mpsc::unbounded_channel();
        for &(name, bytes) in waiting {
            sender.send(Sized(name, bytes)).unwrap();
        }
        let first = queue.try_recv().unwrap();
        let most = Batch {
            questions: 3,
            bytes: 100,
        };
        let mut held_back = None;
        let questions = gather(first, &mut queue, most, &mut held_back);
        let names = questions.iter().map(Asked::name).collect();
        (names, held_back.as_ref().map(Asked::name))
    }

    #[test]
    fn a_batch_is_sorted_and_keeps_its_bounds() {
        assert_eq!(
            gathered(&[(3, 0), (1, 0), (2, 0), (9, 0)]),
            (vec![1, 2, 3], None)
        );
        assert_eq!(gathered(&[(1, 60), (2, 60)]), (vec![1], Some(2)));
        assert_eq!(
            gathered(&[(1, 600), (2, 0)]),
            (vec![1], Some(2)),
            "a large one goes alone"
        );
    }

    #[test]
    fn one_statement_names_nothing_twice() {
        assert_eq!(gathered(&[(1, 0), (2, 0), (1, 0)]), (vec![1, 2], Some(1)));
    }
}
