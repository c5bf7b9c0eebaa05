use tidings_delivery::{PermitId, SlotId};

use super::{Checked, holds};
use crate::dispatcher::{Wish, WorkerRef};

/// Design §9: "Re-checked at the moment of sending": what is told to call holds a grant that has begun, and asks for none
/// where there is no limit.
pub(crate) fn a_limited_call_has_its_permit(
    caller: WorkerRef,
    slot: SlotId,
    limited: bool,
    wish: Option<Wish>,
    now: u64,
) -> Checked {
    let kept = match wish {
        Some(Wish::Granted { from }) => limited && from <= now,
        Some(Wish::Wanted) => false,
        None => !limited,
    };
    holds(kept, "a_limited_call_has_its_permit", || {
        format!("{caller} calls for {slot:?} at {now}: limited {limited}, {wish:?}")
    })
}

/// A number that is used twice would give one permit to two calls.
pub(crate) fn a_wish_has_its_own_number(
    worker: WorkerRef,
    permit: PermitId,
    is_new: bool,
) -> Checked {
    holds(is_new, "a_wish_has_its_own_number", || {
        format!("{worker} wants {permit:?} again")
    })
}

/// Nothing is wanted by a worker that holds nothing: what is not given back holds others up.
pub(crate) fn an_idle_worker_wants_nothing(worker: usize, wishes: usize) -> Checked {
    holds(wishes == 0, "an_idle_worker_wants_nothing", || {
        format!("worker {worker} is idle and has {wishes} wishes")
    })
}
