use tidings_delivery::{PartitionId, Settlement};

use super::{Checked, holds};
use crate::claims::Deferrals;
use crate::dispatcher::WorkerRef;
use crate::world::World;

/// Design §7: "Every claim, deferral and un-deferral reads it FOR SHARE in the same statement: group ownership is not a
/// fence."
pub(crate) fn no_deferral_of_an_old_epoch_succeeds(
    partition: PartitionId,
    epoch: i64,
    current: i64,
) -> Checked {
    holds(
        epoch == current,
        "no_deferral_of_an_old_epoch_succeeds",
        || format!("{partition:?} is in epoch {current}, and was written under {epoch}"),
    )
}

/// Design §8: "the marker goes only when no row remains": a row without a marker is one that nobody looks for.
pub(crate) fn a_row_has_its_marker(deferrals: &Deferrals, partition: PartitionId) -> Checked {
    let mut rows = deferrals.rows.iter();
    let orphan = rows.find(|((id, _), row)| {
        *id == partition && !deferrals.markers.contains_key(&(*id, row.chat.clone()))
    });
    holds(orphan.is_none(), "a_row_has_its_marker", || {
        format!("{orphan:?} has no marker")
    })
}

/// Design §8: what is deferred stays until its message has its end.
pub(crate) fn a_row_goes_only_with_its_end(
    message: usize,
    settlement: Option<Settlement>,
) -> Checked {
    holds(settlement.is_some(), "a_row_goes_only_with_its_end", || {
        format!("the row of message {message} was removed, and it has no end")
    })
}

/// Design §8, hold on a dead letter: nothing of a held chat is called until an operator lets go.
pub(crate) fn a_held_chat_is_not_called(
    world: &World,
    caller: WorkerRef,
    message: usize,
) -> Checked {
    let key = (
        world.partition_of(message),
        world.ledger.messages[message].chat_key(),
    );
    let marker = world.claims.deferrals.markers.get(&key);
    let held = marker.is_some_and(|marker| marker.due_at.is_none());
    holds(!held, "a_held_chat_is_not_called", || {
        format!("{caller} calls for message {message}, and its chat is held")
    })
}

/// Limits: "Loads of deferred chats on their way at once".
pub(crate) fn loads_are_bounded(worker: WorkerRef, loads: usize, most: usize) -> Checked {
    holds(loads <= most, "loads_are_bounded", || {
        format!("{worker} has {loads} loads on their way, {most} are allowed")
    })
}

/// Once everything is at rest nothing is deferred: each marker went with its last row.
pub(crate) fn nothing_stays_deferred(world: &World) -> Checked {
    let deferrals = &world.claims.deferrals;
    let nothing = deferrals.rows.is_empty() && deferrals.markers.is_empty();
    holds(nothing, "nothing_stays_deferred", || {
        let loads = world.loads();
        format!(
            "markers: {:?}; rows: {:?}; workers: {loads:?}",
            deferrals.markers, deferrals.rows
        )
    })
}
