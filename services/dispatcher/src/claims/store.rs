use std::collections::HashMap;
use std::time::Duration;

use tidings_delivery::{Answer, ClaimOutcome, Grant, Settlement};
use tokio_postgres::Row;
use uuid::Uuid;

use super::clock::DatabaseClock;
use super::{Ask, Claim, Identity, Release, Settle, Start, sql};
use crate::state::{Database, StateError, Unanswered, count, in_order, ordinal};

/// The least wait that another worker's lease gives: a lease that ends now may still be there for Postgres.
const LEAST_LEASE_WAIT: Duration = Duration::from_millis(5);

/// The statements about claims.
pub(crate) struct Store {
    database: Database,
    identity: Identity,
    clock: DatabaseClock,
}

/// The columns that name messages, as arrays.
struct Keys {
    days: Vec<i32>,
    ids: Vec<Uuid>,
    nonces: Vec<String>,
}

impl Keys {
    fn of<T>(asks: &[Ask<T>]) -> Self {
        Self {
            days: asks.iter().map(|ask| ask.key.recorded_day).collect(),
            ids: asks.iter().map(|ask| ask.key.message_id).collect(),
            nonces: asks
                .iter()
                .map(|ask| ask.key.resend_nonce.to_string())
                .collect(),
        }
    }
}

impl Store {
    pub(crate) fn new(database: Database, identity: Identity) -> Self {
        Self {
            database,
            identity,
            clock: DatabaseClock::default(),
        }
    }

    /// Postgres' wall clock.
    pub(crate) fn clock(&self) -> &DatabaseClock {
        &self.clock
    }

    /// Asks for nothing but an answer.
    pub(crate) async fn ping(&self) -> Result<(), StateError> {
        self.database.query(sql::PING, &[]).await?;
        Ok(())
    }

    /// Bumps the epochs of newly assigned partitions; returns them by (topic, partition).
    pub(crate) async fn bump_epochs(
        &self,
        partitions: &[(String, i32)],
    ) -> Result<HashMap<(String, i32), i64>, StateError> {
        let topics: Vec<&str> = partitions.iter().map(|(topic, _)| topic.as_str()).collect();
        let numbers: Vec<i32> = partitions.iter().map(|(_, number)| *number).collect();
        let rows = self
            .database
            .query(
                sql::BUMP_EPOCHS,
                &[&self.identity.consumer, &topics, &numbers],
            )
            .await?;
        self.clock.learn(&rows);
        Ok(rows
            .iter()
            .map(|row| ((row.get(0), row.get(1)), row.get(2)))
            .collect())
    }

    /// One outcome for each claim, in order. No message may be named twice.
    pub(crate) async fn claim(&self, asks: &[Ask<Claim>]) -> Result<Vec<ClaimOutcome>, StateError> {
        let keys = Keys::of(asks);
        let topics: Vec<&str> = asks.iter().map(|ask| &*ask.what.topic).collect();
        let partitions: Vec<i32> = asks.iter().map(|ask| ask.what.partition).collect();
        let offsets: Vec<i64> = asks.iter().map(|ask| ask.what.offset).collect();
        let epochs: Vec<i64> = asks.iter().map(|ask| ask.what.epoch).collect();
        let owner = self.identity.owner.to_string();
        let lease = self.identity.lease.as_secs_f64();
        let rows = self
            .database
            .query(
                sql::CLAIM,
                &[
                    &self.identity.consumer,
                    &owner,
                    &keys.days,
                    &keys.ids,
                    &keys.nonces,
                    &topics,
                    &partitions,
                    &offsets,
                    &epochs,
                    &lease,
                ],
            )
            .await?;
        self.clock.learn(&rows);
        Ok(in_order(asks.len(), &rows, claim_outcome))
    }

    /// The same for claims that are held.
    pub(crate) async fn renew(&self, asks: &[Ask<Claim>]) -> Result<Vec<ClaimOutcome>, StateError> {
        let keys = Keys::of(asks);
        let topics: Vec<&str> = asks.iter().map(|ask| &*ask.what.topic).collect();
        let partitions: Vec<i32> = asks.iter().map(|ask| ask.what.partition).collect();
        let epochs: Vec<i64> = asks.iter().map(|ask| ask.what.epoch).collect();
        let fences: Vec<i64> = asks
            .iter()
            .map(|ask| ask.what.renew.unwrap_or_default())
            .collect();
        let attempts: Vec<i32> = asks.iter().map(|ask| count(ask.what.attempts)).collect();
        let failed: Vec<Option<i64>> = asks
            .iter()
            .map(|ask| ask.what.first_failed_at_micros)
            .collect();
        let owner = self.identity.owner.to_string();
        let lease = self.identity.lease.as_secs_f64();
        let rows = self
            .database
            .query(
                sql::RENEW,
                &[
                    &self.identity.consumer,
                    &owner,
                    &keys.days,
                    &keys.ids,
                    &keys.nonces,
                    &topics,
                    &partitions,
                    &epochs,
                    &fences,
                    &lease,
                    &attempts,
                    &failed,
                ],
            )
            .await?;
        Ok(in_order(asks.len(), &rows, renewal_outcome))
    }

    /// Done for each `started` that was committed, `Fenced` for the others.
    pub(crate) async fn start(&self, asks: &[Ask<Start>]) -> Result<Vec<Answer>, StateError> {
        let keys = Keys::of(asks);
        let fences: Vec<i64> = asks.iter().map(|ask| ask.what.fence).collect();
        let owner = self.identity.owner.to_string();
        let rows = self
            .database
            .query(
                sql::START,
                &[
                    &self.identity.consumer,
                    &owner,
                    &keys.days,
                    &keys.ids,
                    &keys.nonces,
                    &fences,
                ],
            )
            .await?;
        let mut answers = vec![Answer::Fenced; asks.len()];
        for row in &rows {
            if let Some(answer) = answers.get_mut(ordinal(row)) {
                *answer = Answer::Done;
            }
        }
        Ok(answers)
    }

    /// Records ends; `Fenced` where another worker's live claim stands.
    pub(crate) async fn settle(&self, asks: &[Ask<Settle>]) -> Result<Vec<Answer>, StateError> {
        let keys = Keys::of(asks);
        let states: Vec<&str> = asks.iter().map(|ask| ask.what.settlement.word()).collect();
        let fences: Vec<i64> = asks.iter().map(|ask| ask.what.fence).collect();
        let attempts: Vec<i32> = asks.iter().map(|ask| count(ask.what.attempts)).collect();
        let calls: Vec<i32> = asks.iter().map(|ask| count(ask.what.call)).collect();
        let posts: Vec<Option<&str>> = asks
            .iter()
            .map(|ask| ask.what.platform_message_id.as_deref())
            .collect();
        // Postgres' text has no U+0000, and a reason may quote anything.
        let reasons: Vec<String> = asks
            .iter()
            .map(|ask| ask.what.reason.replace('\0', "\u{FFFD}"))
            .collect();
        let owner = self.identity.owner.to_string();
        let rows = self
            .database
            .query(
                sql::SETTLE,
                &[
                    &self.identity.consumer,
                    &owner,
                    &keys.days,
                    &keys.ids,
                    &keys.nonces,
                    &states,
                    &fences,
                    &attempts,
                    &calls,
                    &posts,
                    &reasons,
                ],
            )
            .await?;
        Ok(in_order(asks.len(), &rows, settle_answer))
    }

    /// Gives claims back.
    pub(crate) async fn release(&self, asks: &[Ask<Release>]) -> Result<(), StateError> {
        let keys = Keys::of(asks);
        let fences: Vec<i64> = asks.iter().map(|ask| ask.what.fence).collect();
        let attempts: Vec<i32> = asks.iter().map(|ask| count(ask.what.attempts)).collect();
        let failed: Vec<Option<i64>> = asks
            .iter()
            .map(|ask| ask.what.first_failed_at_micros)
            .collect();
        let owner = self.identity.owner.to_string();
        self.database
            .query(
                sql::RELEASE,
                &[
                    &self.identity.consumer,
                    &owner,
                    &keys.days,
                    &keys.ids,
                    &keys.nonces,
                    &fences,
                    &attempts,
                    &failed,
                ],
            )
            .await?;
        Ok(())
    }
}

fn claim_outcome(row: &Row) -> ClaimOutcome {
    let owned: bool = row.get("owned");
    if !owned {
        return ClaimOutcome::StaleEpoch;
    }
    if let Some(fence) = row.get::<_, Option<i64>>("fence") {
        let state: String = row.get("taken_state");
        return ClaimOutcome::Granted(grant(row, fence, state == "started"));
    }
    match found(row) {
        Some(settlement) => ClaimOutcome::Settled(settlement),
        None => {
            let left: Option<i64> = row.get("lease_left_millis");
            let left = Duration::from_millis(u64::try_from(left.unwrap_or(0)).unwrap_or(0));
            ClaimOutcome::Busy {
                wait: left.max(LEAST_LEASE_WAIT),
            }
        }
    }
}

fn renewal_outcome(row: &Row) -> ClaimOutcome {
    let owned: bool = row.get("owned");
    if !owned {
        return ClaimOutcome::StaleEpoch;
    }
    match row.get::<_, Option<i64>>("fence") {
        Some(fence) => ClaimOutcome::Granted(grant(row, fence, false)),
        None => found(row).map_or(ClaimOutcome::Fenced, ClaimOutcome::Settled),
    }
}

fn settle_answer(row: &Row) -> Answer {
    let written: bool = row.get("written");
    let found_state: Option<String> = row.get("found_state");
    match (written, found_state) {
        (true, _) => Answer::Done,
        // Settled before, or its day was dropped: there is nothing left to record.
        (false, None) => Answer::Done,
        (false, Some(state)) if Settlement::from_word(&state).is_some() => Answer::Done,
        (false, Some(_)) => Answer::Fenced,
    }
}

fn grant(row: &Row, fence: i64, started_before: bool) -> Grant {
    let attempts: i32 = row.get("attempts");
    Grant {
        fence,
        attempts: u32::try_from(attempts).unwrap_or(0),
        first_failed_at_micros: row.get("first_failed_micros"),
        started_before,
    }
}

fn found(row: &Row) -> Option<Settlement> {
    let state: Option<String> = row.get("found_state");
    Settlement::from_word(&state?)
}

impl Unanswered for ClaimOutcome {
    const UNANSWERED: Self = Self::Failed;
}
