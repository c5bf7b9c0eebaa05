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
            format!("{}: {:?}, {row:?}", world.name(index), world.ledger.messages[index])
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
