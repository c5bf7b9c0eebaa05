//! What always holds, each in a function that is named for it and carries the sentence of the design that it states.
//! They look at the world's truth (the ledger, the logs, the rows), never at what a machine says of itself, and are
//! asked at each step that could break them.

mod calls;
mod claims;
mod deferrals;
mod permits;
mod posts;
mod relay;
mod rest;
mod settlements;

pub(crate) use calls::{
    a_call_starts_under_a_live_lease, a_claim_is_given_back_only_unused,
    an_attempt_id_is_used_once, calls_of_an_account_are_bounded, nothing_is_unbounded,
    nothing_starts_after_its_assignment, nothing_unknown_is_called_again_under_park,
    one_at_a_time_in_a_chat, predecessors_have_their_end, what_parks_is_started_before_its_call,
};
pub(crate) use claims::{
    a_fence_only_grows, an_assignment_has_an_epoch_of_its_own, no_claim_of_an_old_epoch_succeeds,
    no_claim_while_another_holds_one, started_is_taken_back_only_when_nothing_was_posted,
    started_is_the_holders_alone,
};
pub(crate) use deferrals::{
    a_held_chat_is_not_called, a_row_goes_only_with_its_end, a_row_has_its_marker,
    loads_are_bounded, no_deferral_of_an_old_epoch_succeeds, nothing_stays_deferred,
};
pub(crate) use permits::{
    a_limited_call_has_its_permit, a_wish_has_its_own_number, an_idle_worker_wants_nothing,
};
pub(crate) use posts::{
    extra_copies_have_their_excuse, first_posts_follow_the_order, only_committed_rows_are_posted,
};
pub(crate) use relay::{
    a_row_is_read_once_by_a_cursor, nothing_is_deleted_before_kafka_has_it,
    only_committed_rows_are_published, only_what_cannot_be_encoded_is_rejected,
    rows_are_published_in_order,
};
pub(crate) use rest::{
    every_committed_row_reaches_its_end, the_world_comes_to_rest,
    what_ends_in_order_repeats_nothing,
};
pub(crate) use settlements::{
    a_settlement_needs_its_fence_or_a_lapsed_lease, a_settlement_stays, an_end_has_its_cause,
    commit_passes_only_what_has_its_end, dead_letters_are_kept_before_they_settle,
    delivered_only_when_accepted, parked_only_when_unknown,
};

/// An invariant that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The invariant's name: that of its function.
    pub invariant: &'static str,
    /// What was found, for people.
    pub what: String,
}

pub(crate) type Checked = Result<(), Broken>;

/// `Ok` if it holds; what was found is put into words only if not.
fn holds(holds: bool, invariant: &'static str, what: impl FnOnce() -> String) -> Checked {
    if holds {
        return Ok(());
    }
    Err(Broken {
        invariant,
        what: what(),
    })
}
