//! What statements take, as arrays.

use std::time::Duration;

use rdkafka::Message as _;
use tidings_delivery::Due;
use uuid::Uuid;

use super::{Defer, Owned, headers};
use crate::state::count;

/// The longest that a chat is deferred for, whatever a hint says: Postgres' times end somewhere.
pub(super) const LONGEST: Duration = Duration::from_secs(3_650 * 86_400);

/// The columns that name partitions under their epochs, as arrays.
pub(super) struct Places<'a> {
    pub(super) topics: Vec<&'a str>,
    pub(super) partitions: Vec<i32>,
    pub(super) epochs: Vec<i64>,
}

impl<'a> Places<'a> {
    pub(super) fn of(owned: impl Iterator<Item = &'a Owned>) -> Self {
        let mut places = Self {
            topics: Vec::new(),
            partitions: Vec::new(),
            epochs: Vec::new(),
        };
        for of in owned {
            places.topics.push(&of.topic);
            places.partitions.push(of.partition.partition);
            places.epochs.push(of.epoch);
        }
        places
    }
}

/// What a deferral writes, as arrays.
#[derive(Default)]
pub(super) struct Columns<'a> {
    pub(super) offsets: Vec<i64>,
    pub(super) chats: Vec<&'a str>,
    pub(super) dues: Vec<Option<f64>>,
    pub(super) moves: Vec<bool>,
    pub(super) reasons: Vec<String>,
    pub(super) days: Vec<i32>,
    pub(super) ids: Vec<Uuid>,
    pub(super) nonces: Vec<&'a str>,
    pub(super) fences: Vec<Option<i64>>,
    pub(super) attempts: Vec<i32>,
    pub(super) failed: Vec<Option<i64>>,
    pub(super) keys: Vec<Option<&'a [u8]>>,
    pub(super) values: Vec<&'a [u8]>,
    pub(super) headers: Vec<Vec<u8>>,
    pub(super) timestamps: Vec<Option<i64>>,
    pub(super) event_types: Vec<&'a str>,
}

impl<'a> Columns<'a> {
    pub(super) fn of(asks: &'a [Defer]) -> Self {
        let mut columns = Self::default();
        for ask in asks {
            columns.marker(ask);
            columns.claim(ask);
            columns.record(ask);
        }
        columns
    }

    fn marker(&mut self, ask: &'a Defer) {
        self.chats.push(&ask.chat);
        self.dues.push(due_seconds(ask.due));
        self.moves.push(ask.moves_due);
        self.reasons.push(text(&ask.reason));
    }

    fn claim(&mut self, ask: &'a Defer) {
        self.days.push(ask.key.recorded_day);
        self.ids.push(ask.key.message_id);
        self.nonces.push(&ask.key.resend_nonce);
        self.fences.push(ask.claim.map(|claim| claim.fence));
        let attempts = ask.claim.map_or(0, |claim| claim.attempts);
        self.attempts.push(count(attempts));
        let failed = ask.claim.and_then(|claim| claim.first_failed_at_micros);
        self.failed.push(failed);
    }

    fn record(&mut self, ask: &'a Defer) {
        let record = &ask.record;
        self.offsets.push(record.offset());
        self.keys.push(record.key());
        // A message was decoded from it, so there is one.
        self.values.push(record.payload().unwrap_or_default());
        self.headers.push(headers::encode(record.headers()));
        self.timestamps.push(record.timestamp().to_millis());
        self.event_types.push(&ask.event_type);
    }
}

/// `None` is null: until an operator lets go.
fn due_seconds(due: Due) -> Option<f64> {
    match due {
        Due::In(wait) => Some(wait.min(LONGEST).as_secs_f64()),
        Due::Held => None,
    }
}

/// Postgres' text has no U+0000, and a reason may quote anything.
fn text(reason: &str) -> String {
    reason.replace('\0', "\u{FFFD}")
}
