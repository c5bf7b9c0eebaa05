use super::{Checked, holds};
use crate::ledger::Ledger;

/// Design §2: "INSERT outbox" in the upstream transaction: what did not commit is never published.
pub(crate) fn only_committed_rows_are_published(ledger: &Ledger, message: usize) -> Checked {
    let committed = ledger.messages[message].committed.is_some();
    holds(committed, "only_committed_rows_are_published", || {
        format!("message {message} is in Kafka and its transaction has not committed")
    })
}

/// Design §6: "a precedes b if both are of one transaction and a's id is lower, or a's transaction committed before
/// b's row was inserted". Copies may follow in any order; the first of each is in it.
pub(crate) fn rows_are_published_in_order(ledger: &Ledger, message: usize) -> Checked {
    if ledger.messages[message].in_kafka {
        return Ok(());
    }
    let overtaken = ledger
        .predecessors(message)
        .find(|earlier| !ledger.messages[*earlier].in_kafka);
    holds(overtaken.is_none(), "rows_are_published_in_order", || {
        format!("message {message} is in Kafka before {overtaken:?}, which precedes it")
    })
}

/// Design §6: "Delete exactly the acknowledged ids"; a zombie relay "never deletes unacknowledged rows".
pub(crate) fn nothing_is_deleted_before_kafka_has_it(ledger: &Ledger, id: i64) -> Checked {
    let in_kafka = ledger.messages[(id - 1) as usize].in_kafka;
    holds(in_kafka, "nothing_is_deleted_before_kafka_has_it", || {
        format!("row {id} was deleted and is not in Kafka")
    })
}

/// Design §6: "A row that cannot be encoded goes to `outbox_rejected`"; "a row that is merely unlucky (broker down) is
/// retried in place".
pub(crate) fn only_what_cannot_be_encoded_is_rejected(ledger: &Ledger, message: usize) -> Checked {
    let unencodable = !ledger.messages[message].encodable;
    holds(
        unencodable,
        "only_what_cannot_be_encoded_is_rejected",
        || format!("message {message} could have been encoded and was moved to outbox_rejected"),
    )
}

/// Design §6: the next read restarts "skipping ids in flight": a row is read again only once its cursor is given up.
pub(crate) fn a_row_is_read_once_by_a_cursor(id: i64, was_in_flight: bool) -> Checked {
    holds(!was_in_flight, "a_row_is_read_once_by_a_cursor", || {
        format!("row {id} was read while it was in flight")
    })
}
