use super::{Checked, holds};
use crate::world::World;

/// Design §7: "every committed outbox row reaches a settlement; none is lost."
pub(crate) fn every_committed_row_reaches_its_end(world: &World) -> Checked {
    let messages = world.ledger.messages.iter().enumerate();
    let mut committed = messages.filter(|(_, message)| message.committed.is_some());
    let open = committed
        .find(|(index, message)| !message.rejected && world.claims.settlement(*index).is_none())
        .map(|(index, _)| index);
    holds(
        open.is_none(),
        "every_committed_row_reaches_its_end",
        || {
            let index = open.unwrap_or_default();
            let row = world.claims.rows.get(&index);
            format!(
                "{}: {:?}, {row:?}",
                world.name(index),
                world.ledger.messages[index]
            )
        },
    )
}

/// Once faults have ended everything goes on by itself: the outbox empties, everything is committed, no machine holds
/// anything.
pub(crate) fn the_world_comes_to_rest(world: &World) -> Checked {
    holds(world.is_at_rest(), "the_world_comes_to_rest", || {
        let (rows, committed) = (&world.outbox.rows, &world.kafka.committed);
        let ends = world.kafka.logs.values().map(Vec::len).collect::<Vec<_>>();
        let loads = world.loads();
        format!("rows left: {rows:?}; committed: {committed:?} of {ends:?}; held: {loads:?}")
    })
}

/// reference/faults.md, rows 6 and 42: processes that are told to stop, and partitions that move, park nothing and
/// repeat nothing.
pub(crate) fn what_ends_in_order_repeats_nothing(world: &World) -> Checked {
    let (extra, parked) = (world.counts.get("extra posts"), world.counts.get("parked"));
    let clean = extra == 0 && parked == 0;
    holds(
        clean || !world.settings.calm,
        "what_ends_in_order_repeats_nothing",
        || format!("{extra} extra posts, {parked} parked"),
    )
}
