//! Evidence made by hand, for the tests: a run in which all went well, to be broken on purpose.

use uuid::Uuid;

use crate::evidence::{
    Answer, AttemptId, Call, Claim, Evidence, Expectation, KafkaEvidence, Lane, LedgerRow, State,
    Transaction,
};
use crate::report::Report;

/// The worker that sends unless said otherwise.
pub(super) const WORKER: Uuid = Uuid::from_u128(0xA);
/// Another one.
pub(super) const OTHER_WORKER: Uuid = Uuid::from_u128(0xB);

/// The id of message `n`.
pub(super) fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

/// An attempt of message `n` under `fence`.
pub(super) fn attempt(n: u128, owner: Uuid, fence: i64) -> AttemptId {
    AttemptId {
        message_id: id(n),
        owner,
        fence,
        attempt: 1,
    }
}

/// A run under construction. Message `n` is transaction `n` at second `n`, in chat `telegram:main:5`.
#[derive(Default)]
pub(super) struct Scene {
    pub(super) evidence: Evidence,
}

impl Scene {
    /// Messages 1 to `count`, each committed, posted in order and settled as delivered.
    pub(super) fn delivered(count: u128) -> Self {
        let mut scene = Self::default();
        for n in 1..=count {
            scene.commit(n);
            scene.post(n);
            scene.settle(n, State::Delivered);
        }
        scene
    }

    /// Commits message `n`, and waits for the commit before the next one.
    pub(super) fn commit(&mut self, n: u128) -> &mut LedgerRow {
        let second = i64::try_from(n).unwrap() * 1_000_000;
        self.evidence.ledger.push(LedgerRow {
            message_id: id(n),
            transaction: Transaction {
                run: "run".to_owned(),
                number: second,
            },
            ordinal: 0,
            lock_ordinal: None,
            lane: Lane::Normal,
            chat: "telegram:main:5".to_owned(),
            event_type: "order.confirmed".to_owned(),
            marker: format!("ORDER{n}"),
            expect: Expectation::Posted,
            inserted_at_micros: second,
            committed_at_micros: Some(second + 1_000),
        });
        self.evidence.ledger.last_mut().unwrap()
    }

    /// The platform accepts message `n` from [`WORKER`] under fence 1.
    pub(super) fn post(&mut self, n: u128) -> &mut Call {
        self.post_by(n, WORKER, 1)
    }

    /// The platform accepts message `n`.
    pub(super) fn post_by(&mut self, n: u128, owner: Uuid, fence: i64) -> &mut Call {
        self.evidence.calls.push(Call {
            seq: self.evidence.calls.len() as u64 + 1,
            account: "main".to_owned(),
            chat_id: "5".to_owned(),
            text: Some(format!("Order ORDER{n} is confirmed.")),
            attempt: Some(format!("{}/{owner}/{fence}/1", id(n))),
            accepted: true,
            answer: Answer::Status(200),
        });
        self.evidence.calls.last_mut().unwrap()
    }

    /// Settles message `n`; as delivered, the attempt of [`Self::post`] is recorded as sent.
    pub(super) fn settle(&mut self, n: u128, state: State) -> &mut Claim {
        self.evidence.claims.push(Claim {
            message_id: id(n),
            state,
            sent: (state == State::Delivered).then(|| attempt(n, WORKER, 1)),
            reason: None,
        });
        self.evidence.claims.last_mut().unwrap()
    }

    pub(super) fn row(&mut self, n: u128) -> &mut LedgerRow {
        let rows = &mut self.evidence.ledger;
        rows.iter_mut().find(|row| row.message_id == id(n)).unwrap()
    }

    pub(super) fn claim(&mut self, n: u128) -> &mut Claim {
        let claims = &mut self.evidence.claims;
        claims
            .iter_mut()
            .find(|claim| claim.message_id == id(n))
            .unwrap()
    }

    pub(super) fn forget_claim(&mut self, n: u128) {
        self.evidence
            .claims
            .retain(|claim| claim.message_id != id(n));
    }

    pub(super) fn forget_posts(&mut self, n: u128) {
        let start = id(n).to_string();
        let calls = &mut self.evidence.calls;
        calls.retain(|call| !call.attempt.as_deref().unwrap_or("").starts_with(&start));
    }

    pub(super) fn kafka(&mut self) -> &mut KafkaEvidence {
        self.evidence.kafka.get_or_insert_default()
    }

    pub(super) fn judge(&self) -> Report {
        super::decide(&self.evidence)
    }
}
