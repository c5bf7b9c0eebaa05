use tidings_delivery::{PartitionId, Settlement};

use super::{Checked, holds};
use crate::claims::{State, Taken};
use crate::kafka::Record;
use crate::ledger::{Ledger, Told};
use crate::world::World;

/// Design §7: "the commit is the contiguous low watermark": it never passes a record without its end, but (§8) for one
/// that is deferred, once that is committed.
pub(crate) fn commit_passes_only_what_has_its_end(
    world: &World,
    partition: PartitionId,
    offset: usize,
) -> Checked {
    let log = &world.kafka.logs[&partition];
    let open = (0..offset).find(|at| match log[*at] {
        Record::Poison => !world.kafka.dead_letters.contains(&(partition, *at)),
        Record::Message(message) => {
            let row = world.claims.deferrals.row_of(partition, message);
            world.claims.settlement(message).is_none() && row.is_none()
        }
    });
    holds(
        open.is_none(),
        "commit_passes_only_what_has_its_end",
        || format!("{partition:?} is committed up to {offset}, and {open:?} has no end"),
    )
}

/// Design §1: "settlement: the one current end of a message"; "only a replay operation reopens a settlement".
pub(crate) fn a_settlement_stays(message: usize, taken: &Taken) -> Checked {
    let before = taken.before.map(|row| row.state);
    let stays = !matches!(before, Some(State::Settled(_))) || before == Some(taken.after.state);
    holds(stays, "a_settlement_stays", || {
        format!(
            "message {message} went from {before:?} to {:?}",
            taken.after.state
        )
    })
}

/// Design §7: "`sent` is recorded at once after success from any fence (it is a fact)"; any other end is the right of
/// who holds the claim, or of whoever finds it lapsed.
pub(crate) fn a_settlement_needs_its_fence_or_a_lapsed_lease(
    now: u64,
    message: usize,
    fence: i64,
    end: Settlement,
    taken: &Taken,
) -> Checked {
    let allowed = taken
        .before
        .is_some_and(|row| row.fence == fence || row.lease_until <= now);
    holds(
        end == Settlement::Delivered || allowed,
        "a_settlement_needs_its_fence_or_a_lapsed_lease",
        || {
            format!(
                "message {message} became {end:?} by fence {fence}; its row was {:?}",
                taken.before
            )
        },
    )
}

/// Design §1: `Delivered` says that the platform accepted it.
pub(crate) fn delivered_only_when_accepted(
    ledger: &Ledger,
    message: usize,
    end: Settlement,
) -> Checked {
    let accepted = ledger.attempts_of(message).any(|attempt| attempt.accepted);
    holds(
        end != Settlement::Delivered || accepted,
        "delivered_only_when_accepted",
        || format!("message {message} is delivered, and nobody saw it"),
    )
}

/// Design §1: "`Parked` (unknown under `park`)": a call lost its answer, or an earlier owner had committed `started` and
/// ended. What is known to have been refused is never parked.
pub(crate) fn parked_only_when_unknown(
    ledger: &Ledger,
    message: usize,
    end: Settlement,
) -> Checked {
    let known = &ledger.messages[message];
    let lost = ledger
        .attempts_of(message)
        .any(|attempt| attempt.told == Told::Unknown);
    let unknown = known.park && (known.found_started || lost);
    holds(
        end != Settlement::Parked || unknown,
        "parked_only_when_unknown",
        || format!("message {message} is parked, and nothing about it is unknown"),
    )
}

/// Design §1: "Rejected, DeadLettered and Parked are also dead letters"; §10: kept "byte for byte", so before the
/// settlement lets the commit pass.
pub(crate) fn dead_letters_are_kept_before_they_settle(
    message: usize,
    end: Settlement,
    kept: bool,
) -> Checked {
    let dead = matches!(
        end,
        Settlement::Rejected | Settlement::DeadLettered | Settlement::Parked
    );
    holds(
        !dead || kept,
        "dead_letters_are_kept_before_they_settle",
        || format!("message {message} is {end:?}, and its bytes are in no dead-letter topic"),
    )
}

/// A dead target is remembered: what one message was told counts for all that go there, also from chats that moved there.
fn said_of_account(ledger: &Ledger, message: usize, word: &str) -> bool {
    let account = ledger.messages[message].account();
    ledger.attempts.iter().any(|attempt| {
        attempt.verdict == word && ledger.messages[attempt.message].account() == account
    })
}

/// Design §8, "one table": an end other than `Delivered` is what the platform said, or the clock of the worker that
/// looked last (`wall_micros`).
pub(crate) fn an_end_has_its_cause(
    ledger: &Ledger,
    message: usize,
    end: Settlement,
    wall_micros: i64,
    given_up: bool,
) -> Checked {
    let said = |word: &str| {
        ledger
            .attempts_of(message)
            .any(|attempt| attempt.verdict == word)
    };
    let caused = match end {
        Settlement::Expired => ledger.messages[message]
            .expires_at_micros
            .is_some_and(|at| at <= wall_micros),
        Settlement::Undeliverable => said_of_account(ledger, message, "dead_target"),
        Settlement::Rejected => said("rejected"),
        Settlement::DeadLettered => {
            said("transient")
                || said("unknown")
                || said("unrecognised")
                || said("migrated")
                || given_up
        }
        Settlement::Delivered | Settlement::Parked => true,
        Settlement::Discarded => false,
    };
    holds(caused, "an_end_has_its_cause", || {
        format!("message {message} is to be {end:?}, and nothing says so")
    })
}
