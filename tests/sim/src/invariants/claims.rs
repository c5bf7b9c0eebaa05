use tidings_delivery::PartitionId;

use super::{Checked, holds};
use crate::claims::{ClaimAsk, Row, State, Taken};
use crate::dispatcher::WorkerRef;
use crate::ledger::{Ledger, Told};

/// Design §7: "Every claim, deferral and un-deferral reads it FOR SHARE in the same statement: group ownership is not
/// a fence." After a partition's epoch moved on no claim of the old one succeeds.
pub(crate) fn no_claim_of_an_old_epoch_succeeds(ask: &ClaimAsk, current: i64) -> Checked {
    holds(
        ask.epoch == current,
        "no_claim_of_an_old_epoch_succeeds",
        || {
            format!(
                "message {} was claimed under epoch {} of {:?}, which is in epoch {current}",
                ask.message, ask.epoch, ask.partition
            )
        },
    )
}

/// Design §7: "Epoch row per (group, topic, partition), bumped on assignment before deferred state is loaded."
pub(crate) fn an_assignment_has_an_epoch_of_its_own(
    partition: PartitionId,
    before: Option<i64>,
    epoch: i64,
) -> Checked {
    let grew = before.is_none_or(|before| before < epoch);
    holds(grew, "an_assignment_has_an_epoch_of_its_own", || {
        format!("{partition:?} went from epoch {before:?} to {epoch}")
    })
}

/// Design §7: "under `park` a conditional write commits before the first byte": only who holds the claim, and may
/// still call under it, may make it look as if it had.
pub(crate) fn started_is_the_holders_alone(
    now: u64,
    worker: WorkerRef,
    message: usize,
    fence: i64,
    before: Option<Row>,
) -> Checked {
    let held = before.is_some_and(|row| {
        let unstarted = row.state == State::Claimed;
        unstarted && row.fence == fence && row.owner == worker && row.lease_until > now
    });
    holds(held, "started_is_the_holders_alone", || {
        format!(
            "message {message} was started by {worker} under fence {fence}; its row was {before:?}"
        )
    })
}

/// Design §1: a claim is "the right to attempt: recorded, time-limited, numbered per message": no two live ones.
pub(crate) fn no_claim_while_another_holds_one(now: u64, message: usize, taken: &Taken) -> Checked {
    let lapsed = taken.before.is_none_or(|row| row.lease_until <= now);
    holds(lapsed, "no_claim_while_another_holds_one", || {
        format!(
            "message {message} was taken from {:?} before its lease ran out",
            taken.before
        )
    })
}

/// Design §1: fences are "numbered per message": a new claim's is above all before, so that writes of older ones can
/// be told.
pub(crate) fn a_fence_only_grows(message: usize, taken: &Taken) -> Checked {
    let grew = taken
        .before
        .is_none_or(|before| before.fence < taken.after.fence);
    holds(grew, "a_fence_only_grows", || {
        format!(
            "message {message}: a claim went from {:?} to {:?}",
            taken.before, taken.after
        )
    })
}

/// Design §7: under `park` a conditional write commits before the first byte, "so that 'waiting for a permit' and
/// 'maybe sent' differ after a crash". It may be taken back only when every call is known to have been refused.
pub(crate) fn started_is_taken_back_only_when_nothing_was_posted(
    ledger: &Ledger,
    message: usize,
    taken: &Taken,
) -> Checked {
    let was_started = taken
        .before
        .is_some_and(|before| before.state == State::Started);
    if !was_started || taken.after.state != State::Claimed {
        return Ok(());
    }
    let open = ledger
        .attempts_of(message)
        .find(|attempt| attempt.told != Told::Refused);
    holds(
        open.is_none(),
        "started_is_taken_back_only_when_nothing_was_posted",
        || {
            format!(
                "message {message}: `started` was taken back, and its call may have been seen: {open:?}"
            )
        },
    )
}
