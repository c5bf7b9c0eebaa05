use tidings_delivery::{Limits, Load, SlotId};

use super::{Checked, holds};
use crate::claims::State;
use crate::dispatcher::WorkerRef;
use crate::ledger::{Attempt, Ledger, Told};
use crate::times::CALL_DEADLINE;
use crate::world::World;

/// Design §7: "The lease outlives the call's deadline with margin and is extended while work runs; no call starts
/// unless lease left > deadline + margin." By Postgres' clock, at the moment of the decision: the fence is current and
/// its lease ends after the call must have.
pub(crate) fn a_call_starts_under_a_live_lease(
    world: &World,
    caller: WorkerRef,
    message: usize,
    fence: i64,
) -> Checked {
    let row = world.claims.rows.get(&message);
    let covered = row.is_some_and(|row| {
        let lasts = row.lease_until >= world.now + CALL_DEADLINE;
        row.fence == fence && row.owner == caller && lasts
    });
    holds(covered, "a_call_starts_under_a_live_lease", || {
        format!("message {message}: {caller} calls under fence {fence}; its row is {row:?}")
    })
}

/// Design §7: "under `park` a conditional write commits before the first byte".
pub(crate) fn what_parks_is_started_before_its_call(
    world: &World,
    message: usize,
    fence: i64,
) -> Checked {
    if !world.ledger.messages[message].park {
        return Ok(());
    }
    let row = world.claims.rows.get(&message);
    // Its end may be recorded already, by a zombie whose answer came after all.
    let written = row.is_some_and(|row| row.fence == fence && row.state != State::Claimed);
    holds(written, "what_parks_is_started_before_its_call", || {
        format!("message {message} is called under fence {fence}; its row is {row:?}")
    })
}

/// Design §7: "each attempt carries an id that the simulator sees": worker, fence and the number of the call name one
/// call of a message.
pub(crate) fn an_attempt_id_is_used_once(
    ledger: &Ledger,
    caller: WorkerRef,
    message: usize,
    fence: i64,
    call: u32,
) -> Checked {
    let id = (caller, fence, call);
    let used = ledger
        .attempts_of(message)
        .any(|other| (other.caller, other.fence, other.call) == id);
    holds(!used, "an_attempt_id_is_used_once", || {
        format!("message {message}: {id:?} names two calls")
    })
}

/// Design §7: "`park` (at most once: dead letter `unknown`, a person decides)".
pub(crate) fn nothing_unknown_is_called_again_under_park(
    ledger: &Ledger,
    message: usize,
) -> Checked {
    if !ledger.messages[message].park {
        return Ok(());
    }
    let open = ledger
        .attempts_of(message)
        .find(|attempt| attempt.told != Told::Refused);
    holds(
        open.is_none(),
        "nothing_unknown_is_called_again_under_park",
        || format!("message {message} is called again, and may have been posted: {open:?}"),
    )
}

/// Design §7: "Within a partition chats run in parallel, each in order": whatever precedes a message by §6 has its end
/// recorded before the message's first byte, wherever it is: in the outbox, in Kafka, or with another worker.
pub(crate) fn predecessors_have_their_end(world: &World, message: usize) -> Checked {
    let open = world
        .ledger
        .predecessors(message)
        .find(|earlier| world.claims.settlement(*earlier).is_none());
    holds(open.is_none(), "predecessors_have_their_end", || {
        format!("message {message} is called before {open:?}, which precedes it, has its end")
    })
}

/// Design §7, the machine's own: in one chat of one lane partition, one message at a time is between its claim and its
/// outcome. A call that was overtaken by another owner's, and still leaves late, is nobody's to wait for.
pub(crate) fn one_at_a_time_in_a_chat(
    ledger: &Ledger,
    caller: WorkerRef,
    message: usize,
) -> Checked {
    let others = ledger.lane_of_chat(message).iter();
    let other = others.copied().find(|other| {
        *other != message
            && ledger.attempts_of(*other).any(|attempt| {
                attempt.caller == caller && attempt.told == Told::Nothing && !attempt.fenced
            })
    });
    holds(other.is_none(), "one_at_a_time_in_a_chat", || {
        format!("{caller} calls for message {message} while {other:?} of the same chat is out")
    })
}

/// Design §7: "a revocation stops what has not started": after an assignment is gone nothing new starts for it.
pub(crate) fn nothing_starts_after_its_assignment(
    worker: WorkerRef,
    slot: SlotId,
    owned: bool,
) -> Checked {
    holds(owned, "nothing_starts_after_its_assignment", || {
        format!(
            "{worker} begins something for {slot:?}, whose partition is being taken back or gone"
        )
    })
}

/// Design §7, revocation: "finish or abandon what is in flight within a deadline, commit, release": a claim is given
/// back only when its calls are known to have been refused, or (under `resend`) lost their answers.
pub(crate) fn a_claim_is_given_back_only_unused(
    ledger: &Ledger,
    worker: WorkerRef,
    message: usize,
    newest: Option<&Attempt>,
) -> Checked {
    let park = ledger.messages[message].park;
    let unused = newest.is_none_or(|attempt| match attempt.told {
        Told::Refused => true,
        Told::Unknown => !park,
        Told::Nothing | Told::Accepted => false,
    });
    holds(unused, "a_claim_is_given_back_only_unused", || {
        format!("{worker} gives message {message} back after {newest:?}")
    })
}

/// Design §7: "Bounded everywhere: records and bytes in flight per worker, per account and per chat; past it the
/// partition pauses." A partition that is assigned to a full worker brings one more before it is paused too.
pub(crate) fn nothing_is_unbounded(
    worker: WorkerRef,
    load: Load,
    limits: &Limits,
    partitions: usize,
) -> Checked {
    let records = limits.records + partitions;
    let bounded = load.records <= records && load.calls <= limits.calls;
    holds(bounded, "nothing_is_unbounded", || {
        format!("{worker} holds {load:?} under {limits:?}")
    })
}

/// Design §7: bounded "per account": what one account has on its way takes no other's place.
pub(crate) fn calls_of_an_account_are_bounded(
    ledger: &Ledger,
    caller: WorkerRef,
    message: usize,
    most: usize,
) -> Checked {
    let account = account_of(ledger, message);
    let out = ledger.attempts.iter().filter(|attempt| {
        let same = account_of(ledger, attempt.message) == account;
        same && attempt.caller == caller && attempt.told == Told::Nothing
    });
    let out = out.count();
    holds(out < most, "calls_of_an_account_are_bounded", || {
        format!("{caller} calls for message {message} while {out} calls of its account are out")
    })
}

fn account_of(ledger: &Ledger, message: usize) -> usize {
    ledger.messages[message].account()
}
