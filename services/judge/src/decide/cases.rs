//! One case a committed message: its ledger row, and all that was seen of it.

use std::collections::HashMap;

use uuid::Uuid;

use crate::evidence::{AttemptId, Call, Claim, Evidence, LedgerRow, State};

/// Everything known of one committed message.
pub(super) struct Case<'e> {
    /// What upstream committed.
    pub(super) row: &'e LedgerRow,
    /// What Tidings says of it; none or one, unless several consumers claimed it.
    pub(super) claims: Vec<&'e Claim>,
    /// The calls that carried it, in order of arrival.
    pub(super) attempts: Vec<Attempt<'e>>,
}

/// One call that carried a readable attempt id.
pub(super) struct Attempt<'e> {
    pub(super) id: AttemptId,
    pub(super) call: &'e Call,
}

/// All cases, and the accepted calls that belong to none.
pub(super) struct Cases<'e> {
    pub(super) all: Vec<Case<'e>>,
    /// Accepted calls with their message id, if one could be read.
    pub(super) strays: Vec<(Option<Uuid>, &'e Call)>,
}

impl<'e> Cases<'e> {
    pub(super) fn of(evidence: &'e Evidence) -> Self {
        let mut all: Vec<Case<'e>> = evidence.ledger.iter().map(Case::new).collect();
        let places: HashMap<Uuid, usize> = evidence
            .ledger
            .iter()
            .enumerate()
            .map(|(place, row)| (row.message_id, place))
            .collect();
        for claim in &evidence.claims {
            if let Some(case) = find(&mut all, &places, claim.message_id) {
                case.claims.push(claim);
            }
        }
        let mut calls: Vec<&Call> = evidence.calls.iter().collect();
        calls.sort_by_key(|call| call.seq);
        let mut strays = Vec::new();
        for call in calls {
            let id = read_attempt(call);
            let message_id = id.as_ref().map(|id| id.message_id);
            let case = message_id.and_then(|message| find(&mut all, &places, message));
            match (id, case) {
                (Some(id), Some(case)) => case.attempts.push(Attempt { id, call }),
                (_, _) if call.accepted => strays.push((message_id, call)),
                (_, _) => {}
            }
        }
        Self { all, strays }
    }
}

impl<'e> Case<'e> {
    fn new(row: &'e LedgerRow) -> Self {
        Self {
            row,
            claims: Vec::new(),
            attempts: Vec::new(),
        }
    }

    /// The accepted calls, the first one first.
    pub(super) fn posts(&self) -> impl Iterator<Item = &Attempt<'e>> {
        self.attempts.iter().filter(|attempt| attempt.call.accepted)
    }

    /// The one end of the message that Tidings recorded, if any. Delivered counts before others.
    pub(super) fn settlement(&self) -> Option<State> {
        self.claims
            .iter()
            .map(|claim| claim.state)
            .filter(|state| state.is_settlement())
            .min()
    }

    /// Whether `attempt` is the one that was recorded as sent.
    pub(super) fn recorded(&self, attempt: &AttemptId) -> bool {
        self.claims
            .iter()
            .any(|claim| claim.sent.as_ref() == Some(attempt))
    }

    /// The case in words for an example.
    pub(super) fn label(&self) -> String {
        let row = self.row;
        format!(
            "{} {} {} (run {}, transaction {}, ordinal {})",
            row.message_id,
            row.chat,
            row.event_type,
            row.transaction.run,
            row.transaction.number,
            row.ordinal
        )
    }
}

fn find<'c, 'e>(
    all: &'c mut [Case<'e>],
    places: &HashMap<Uuid, usize>,
    message_id: Uuid,
) -> Option<&'c mut Case<'e>> {
    places
        .get(&message_id)
        .and_then(|place| all.get_mut(*place))
}

fn read_attempt(call: &Call) -> Option<AttemptId> {
    call.attempt.as_deref()?.parse().ok()
}
