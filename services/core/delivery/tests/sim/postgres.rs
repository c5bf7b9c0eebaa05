use std::collections::HashMap;
use std::time::Duration;

use tidings_delivery::{Answer, ClaimOutcome, Grant, PartitionId, Settlement};

/// The claims and epochs, with the semantics of the dispatcher's statements. `now` is Postgres' own clock.
#[derive(Default)]
pub struct Postgres {
    pub claims: HashMap<usize, Row>,
    pub epochs: HashMap<PartitionId, i64>,
    pub fenced: u64,
}

pub struct Row {
    pub state: State,
    pub fence: i64,
    pub lease_until: u64,
    pub attempts: u32,
    pub first_failed_at_micros: Option<i64>,
    /// Given back by its holder, who had nothing on its way.
    pub released: bool,
    /// Grants that took the message from a holder which had not given it back.
    pub taken_over: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Claimed,
    Started,
    Settled(Settlement),
}

pub struct Claim {
    pub message: usize,
    pub partition: PartitionId,
    pub epoch: i64,
    pub renew: Option<i64>,
    pub attempts: u32,
    pub first_failed_at_micros: Option<i64>,
}

impl Postgres {
    pub fn bump(&mut self, partition: PartitionId) -> i64 {
        let epoch = self.epochs.entry(partition).or_default();
        *epoch += 1;
        *epoch
    }

    pub fn claim(&mut self, now: u64, lease: Duration, claim: &Claim) -> ClaimOutcome {
        if self.epochs.get(&claim.partition) != Some(&claim.epoch) {
            self.fenced += 1;
            return ClaimOutcome::StaleEpoch;
        }
        let lease_until = now + lease.as_micros() as u64;
        match claim.renew {
            Some(fence) => self.renew(fence, lease_until, claim),
            None => self.take(now, lease_until, claim),
        }
    }

    fn renew(&mut self, fence: i64, lease_until: u64, claim: &Claim) -> ClaimOutcome {
        match self.claims.get_mut(&claim.message) {
            Some(row) if row.fence == fence && !matches!(row.state, State::Settled(_)) => {
                row.state = State::Claimed;
                row.lease_until = lease_until;
                row.attempts = row.attempts.max(claim.attempts);
                row.first_failed_at_micros =
                    row.first_failed_at_micros.or(claim.first_failed_at_micros);
                ClaimOutcome::Granted(grant(row))
            }
            Some(Row {
                state: State::Settled(end),
                ..
            }) => ClaimOutcome::Settled(*end),
            Some(_) | None => {
                self.fenced += 1;
                ClaimOutcome::Fenced
            }
        }
    }

    fn take(&mut self, now: u64, lease_until: u64, claim: &Claim) -> ClaimOutcome {
        let row = self.claims.entry(claim.message).or_insert(Row {
            state: State::Claimed,
            fence: 0,
            lease_until: 0,
            attempts: 0,
            first_failed_at_micros: None,
            released: true,
            taken_over: 0,
        });
        match row.state {
            State::Settled(end) => ClaimOutcome::Settled(end),
            State::Claimed | State::Started if row.lease_until > now => ClaimOutcome::Busy {
                wait: Duration::from_micros(row.lease_until - now),
            },
            State::Claimed | State::Started => {
                row.fence += 1;
                row.taken_over += u32::from(!row.released);
                row.released = false;
                row.lease_until = lease_until;
                ClaimOutcome::Granted(grant(row))
            }
        }
    }

    pub fn start(&mut self, now: u64, message: usize, fence: i64) -> Answer {
        match self.claims.get_mut(&message) {
            Some(row)
                if row.fence == fence && row.state == State::Claimed && row.lease_until > now =>
            {
                row.state = State::Started;
                Answer::Done
            }
            _ => {
                self.fenced += 1;
                Answer::Fenced
            }
        }
    }

    pub fn settle(&mut self, now: u64, message: usize, fence: i64, end: Settlement) -> Answer {
        let row = self
            .claims
            .get_mut(&message)
            .expect("settled without a claim");
        match row.state {
            State::Settled(_) => Answer::Done,
            _ if end == Settlement::Delivered || row.fence == fence || row.lease_until <= now => {
                row.state = State::Settled(end);
                Answer::Done
            }
            State::Claimed | State::Started => {
                self.fenced += 1;
                Answer::Fenced
            }
        }
    }

    pub fn release(&mut self, now: u64, message: usize, fence: i64) {
        if let Some(row) = self.claims.get_mut(&message)
            && row.fence == fence
            && !matches!(row.state, State::Settled(_))
        {
            row.state = State::Claimed;
            row.released = true;
            row.lease_until = now;
        }
    }
}

fn grant(row: &Row) -> Grant {
    Grant {
        fence: row.fence,
        attempts: row.attempts,
        first_failed_at_micros: row.first_failed_at_micros,
        started_before: row.state == State::Started,
    }
}
