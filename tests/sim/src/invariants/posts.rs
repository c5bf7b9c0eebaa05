use super::{Checked, holds};
use crate::ledger::{Attempt, Ledger};

/// Rolled-back rows are never posted.
pub(crate) fn only_committed_rows_are_posted(ledger: &Ledger, message: usize) -> Checked {
    let committed = ledger.messages[message].committed.is_some();
    holds(committed, "only_committed_rows_are_posted", || {
        format!("message {message} was posted and its transaction did not commit")
    })
}

/// Design §7: "A message is posted twice only if a process died, was fenced, or lost the answer after its last lease
/// check and before `sent` was recorded: at most one extra per such attempt under `resend`, none under `park`." So of
/// all accepted attempts of a message at most one is without such an excuse, and under `park` there is one.
pub(crate) fn extra_copies_have_their_excuse(ledger: &Ledger, message: usize) -> Checked {
    let accepted: Vec<&Attempt> = ledger
        .attempts_of(message)
        .filter(|attempt| attempt.accepted)
        .collect();
    let plain = accepted
        .iter()
        .filter(|attempt| !attempt.is_excused())
        .count();
    let once = accepted.len() <= 1;
    let allowed = once || (!ledger.messages[message].park && plain <= 1);
    holds(allowed, "extra_copies_have_their_excuse", || {
        format!(
            "message {message} was posted {} times: {accepted:?}",
            accepted.len()
        )
    })
}

/// Design §7: "Per chat and lane, first posts follow the order of §6; extra copies, unknowns, replays and migrations
/// aside."
pub(crate) fn first_posts_follow_the_order(ledger: &Ledger, attempt: usize) -> Checked {
    let attempt = &ledger.attempts[attempt];
    let message = attempt.message;
    if ledger.messages[message].posted || attempt.is_excused() {
        return Ok(());
    }
    let successor = ledger
        .lane_of_chat(message)
        .iter()
        .find(|later| ledger.messages[**later].posted && ledger.precedes(message, **later));
    holds(successor.is_none(), "first_posts_follow_the_order", || {
        format!("message {message} was posted after {successor:?}, which it precedes")
    })
}
