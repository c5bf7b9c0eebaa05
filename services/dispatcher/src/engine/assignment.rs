//! Partitions come and go: an epoch is bumped before anything is fetched, a revocation is drained before it is granted.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidings_delivery::{DeferredChat, Event, PartitionId};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tracing::{Instrument as _, error, info, info_span, warn};

use super::{Engine, Input};
use crate::claims::Store;
use crate::consumer::{Begins, Lanes, ToKafka, look_up};
use crate::deferral::DeferralStore;
use crate::state::StateError;

/// The waits between two tries to bump epochs while Postgres is away.
const EPOCH_RETRY: Duration = Duration::from_millis(500);

/// The assignment as the engine sees it.
#[derive(Default)]
pub(super) struct Assignment {
    /// Assigned, waiting for their epoch of the numbered round.
    awaiting: BTreeMap<PartitionId, u64>,
    owned: BTreeSet<PartitionId>,
    /// The running statements that bump epochs, by round.
    bumps: BTreeMap<u64, AbortHandle>,
    round: u64,
    drain: Option<Drain>,
}

struct Drain {
    left: BTreeSet<PartitionId>,
    until: Instant,
}

impl Assignment {
    pub(super) fn drain_until(&self) -> Option<Instant> {
        self.drain.as_ref().map(|drain| drain.until)
    }

    pub(super) fn awaits(&self, id: PartitionId) -> bool {
        self.awaiting.contains_key(&id)
    }

    /// A bump that is repeated after its partitions have gone would fence their rightful owner.
    fn stop_bump_if_unwanted(&mut self, round: u64) {
        let wanted = self.awaiting.values().any(|awaited| *awaited == round);
        if !wanted && let Some(bump) = self.bumps.remove(&round) {
            bump.abort();
        }
    }

    pub(super) fn owns(&self, id: PartitionId) -> bool {
        self.owned.contains(&id)
    }

    /// The owned partitions by their topics' names, as statements take them.
    pub(super) fn owned_names(&self, lanes: &Lanes) -> Vec<(String, i32)> {
        self.owned.iter().map(|id| name(lanes, *id)).collect()
    }

    /// Whether partitions are owned and none waits for its epoch.
    pub(super) fn is_settled(&self) -> bool {
        self.awaiting.is_empty() && !self.owned.is_empty()
    }
}

impl Engine {
    pub(super) fn assigned(&mut self, ids: Vec<PartitionId>) {
        info!(partitions = ids.len(), "assigned");
        self.assignment.round += 1;
        let round = self.assignment.round;
        for id in &ids {
            self.assignment.awaiting.insert(*id, round);
        }
        let partitions = ids.iter().map(|id| name(&self.parts.lanes, *id)).collect();
        let stores = (
            Arc::clone(&self.parts.store),
            Arc::clone(&self.parts.deferral_store),
        );
        let span = info_span!("bump epochs", partitions = ids.len(), round);
        let bump = bump(stores, partitions, round, self.inputs.clone()).instrument(span);
        let bump = tokio::spawn(bump).abort_handle();
        self.assignment.bumps.insert(round, bump);
    }

    pub(super) fn epochs(&mut self, round: u64, mut taken: HashMap<(String, i32), TakenOver>) {
        self.assignment.bumps.remove(&round);
        let due: Vec<PartitionId> = self
            .assignment
            .awaiting
            .iter()
            .filter(|(_, awaited)| **awaited == round)
            .map(|(id, _)| *id)
            .collect();
        let mut with_deferred = Vec::new();
        for id in due {
            let Some(taken) = taken.remove(&name(&self.parts.lanes, id)) else {
                continue;
            };
            self.assignment.awaiting.remove(&id);
            self.assignment.owned.insert(id);
            if !taken.deferred.is_empty() {
                with_deferred.push(id);
            }
            self.tell(Event::Assigned {
                partition: id,
                epoch: taken.epoch,
                deferred: taken.deferred,
            });
            self.ask(ToKafka::Begin(id));
        }
        self.look_up_begins(with_deferred);
    }

    /// Where there are deferred messages, the machine needs to know which records are still to come.
    fn look_up_begins(&self, ids: Vec<PartitionId>) {
        if ids.is_empty() {
            return;
        }
        let options = (self.parts.member)();
        let (inputs, closing) = (self.inputs.clone(), self.inputs.clone());
        let looked = look_up(
            options.client,
            options.lanes,
            ids,
            move || !closing.is_closed(),
            move |begins| {
                // Closed means that the worker ended.
                let _ = inputs.send(Input::Begins(begins));
            },
        );
        if let Err(error) = looked {
            error!(error = %error, "no thread to look up where partitions begin; their deferred chats wait");
        }
    }

    /// What is committed only grows: an answer to an earlier assignment does no harm.
    pub(super) fn begins(&mut self, begins: Vec<Begins>) {
        for (partition, offset) in begins {
            if self.assignment.owns(partition) {
                self.tell(Event::Begins { partition, offset });
            }
        }
    }

    pub(super) fn revoked(&mut self, ids: Vec<PartitionId>) {
        info!(partitions = ids.len(), "revoked: draining");
        self.assignment.drain = Some(Drain {
            left: ids.iter().copied().collect(),
            until: Instant::now() + self.parts.drain_deadline,
        });
        for id in ids {
            self.forget(id);
            self.tell(Event::Revoked(id));
        }
    }

    pub(super) fn drained(&mut self, id: PartitionId) {
        let Some(drain) = &mut self.assignment.drain else {
            return;
        };
        drain.left.remove(&id);
        if drain.left.is_empty() {
            self.assignment.drain = None;
            self.ask(ToKafka::Drained);
        }
    }

    /// What is not drained in time is abandoned: its success is still recorded, its claim runs out otherwise.
    pub(super) fn drain_deadline(&mut self) {
        let due = self
            .assignment
            .drain
            .take_if(|drain| drain.until <= Instant::now());
        let Some(drain) = due else {
            return;
        };
        warn!(
            partitions = drain.left.len(),
            "not drained in time: abandoned"
        );
        for id in drain.left {
            self.tell(Event::Lost(id));
        }
        self.ask(ToKafka::Drained);
    }

    pub(super) fn lost(&mut self, ids: &[PartitionId]) {
        warn!(partitions = ids.len(), "lost");
        for id in ids {
            self.forget(*id);
            self.tell(Event::Lost(*id));
        }
    }

    pub(super) fn lose_everything(&mut self) {
        let all: Vec<PartitionId> = self
            .assignment
            .owned
            .iter()
            .chain(self.assignment.awaiting.keys())
            .copied()
            .collect();
        self.assignment.drain = None;
        if !all.is_empty() {
            self.lost(&all);
        }
    }

    fn forget(&mut self, id: PartitionId) {
        self.assignment.owned.remove(&id);
        if let Some(round) = self.assignment.awaiting.remove(&id) {
            self.assignment.stop_bump_if_unwanted(round);
        }
    }
}

/// What is known of a partition once its epoch is bumped.
pub(crate) struct TakenOver {
    epoch: i64,
    /// Its deferred chats, read after the bump.
    deferred: Vec<DeferredChat>,
}

fn name(lanes: &Lanes, id: PartitionId) -> (String, i32) {
    (lanes.get(id).topic.to_string(), id.partition)
}

/// Asks until Postgres answers or the engine is gone. A bump that was committed and not answered is followed by another:
/// epochs only have to grow.
async fn bump(
    stores: (Arc<Store>, Arc<DeferralStore>),
    partitions: Vec<(String, i32)>,
    round: u64,
    inputs: mpsc::UnboundedSender<Input>,
) {
    while !inputs.is_closed() {
        match take_over(&stores, &partitions).await {
            Ok(taken) => {
                // Closed means that nobody waits for it any more.
                let _ = inputs.send(Input::Epochs { round, taken });
                return;
            }
            Err(error) => {
                warn!(error = %error, "could not bump the epochs of assigned partitions; asked again");
                tokio::time::sleep(EPOCH_RETRY).await;
            }
        }
    }
}

async fn take_over(
    (claims, deferrals): &(Arc<Store>, Arc<DeferralStore>),
    partitions: &[(String, i32)],
) -> Result<HashMap<(String, i32), TakenOver>, StateError> {
    let epochs = claims.bump_epochs(partitions).await?;
    let mut markers = deferrals.markers(partitions).await?;
    let taken = epochs.into_iter().map(|(place, epoch)| {
        let deferred = markers.remove(&place).unwrap_or_default();
        (place, TakenOver { epoch, deferred })
    });
    Ok(taken.collect())
}
