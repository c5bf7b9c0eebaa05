use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tidings_delivery::{Answer, CloseAnswer, DeferredChat, Due};
use tokio_postgres::Row;
use uuid::Uuid;

use super::columns::{Columns, LONGEST, Places};
use super::{Changed, Close, Defer, Load, Loaded, Undefer, WrittenBehind, row, sql};
use crate::consumer::Lanes;
use crate::decode::Decoder;
use crate::state::{Database, StateError, Unanswered, in_order, ordinal};

/// The statements about deferred chats.
pub(crate) struct DeferralStore {
    database: Database,
    /// The consumer group.
    consumer: String,
    /// This incarnation, which holds the claims that are given back.
    owner: Uuid,
    decoder: Arc<Decoder>,
    lanes: Arc<Lanes>,
    /// The most bytes that a load reads of one chat.
    load_bytes: i64,
}

impl DeferralStore {
    /// `load_bytes` bounds what one load reads of a chat, a single larger message aside.
    pub(crate) fn new(
        database: Database,
        (consumer, owner): (String, Uuid),
        decoder: Arc<Decoder>,
        lanes: Arc<Lanes>,
        load_bytes: usize,
    ) -> Self {
        Self {
            database,
            consumer,
            owner,
            decoder,
            lanes,
            load_bytes: i64::try_from(load_bytes).unwrap_or(i64::MAX),
        }
    }

    /// Done for each message that is behind its marker now, `Fenced` where the partition is not ours any more.
    pub(super) async fn defer(&self, asks: &[Defer]) -> Result<Vec<WrittenBehind>, StateError> {
        let places = Places::of(asks.iter().map(|ask| &ask.of));
        let each = Columns::of(asks);
        let owner = self.owner.to_string();
        let rows = self
            .database
            .query(
                sql::DEFER,
                &[
                    &self.consumer,
                    &owner,
                    &places.topics,
                    &places.partitions,
                    &places.epochs,
                    &each.offsets,
                    &each.chats,
                    &each.dues,
                    &each.moves,
                    &each.reasons,
                    &each.days,
                    &each.ids,
                    &each.nonces,
                    &each.fences,
                    &each.attempts,
                    &each.failed,
                    &each.keys,
                    &each.values,
                    &each.headers,
                    &each.timestamps,
                    &each.event_types,
                ],
            )
            .await?;
        Ok(in_order(asks.len(), &rows, written_behind))
    }

    /// The messages that were asked for, decoded.
    pub(super) async fn load(&self, asks: &[Load]) -> Result<Vec<Loaded>, StateError> {
        let places = Places::of(asks.iter().map(|ask| &ask.of));
        let chats: Vec<&str> = asks.iter().map(|ask| &*ask.chat).collect();
        // Offsets begin at 0.
        let after: Vec<i64> = asks.iter().map(|ask| ask.after.unwrap_or(-1)).collect();
        let below: Vec<i64> = asks.iter().map(|ask| ask.below).collect();
        let most: Vec<i64> = asks
            .iter()
            .map(|ask| i64::try_from(ask.limit).unwrap_or(i64::MAX - 1))
            .collect();
        let rows = self
            .database
            .query(
                sql::LOAD,
                &[
                    &self.consumer,
                    &places.topics,
                    &places.partitions,
                    &places.epochs,
                    &chats,
                    &after,
                    &below,
                    &most,
                    &self.load_bytes,
                ],
            )
            .await?;
        let mut of_each: Vec<Vec<&Row>> = asks.iter().map(|_| Vec::new()).collect();
        for row in &rows {
            if let Some(rows) = of_each.get_mut(ordinal(row)) {
                rows.push(row);
            }
        }
        let loaded = asks.iter().zip(of_each);
        Ok(loaded.map(|(ask, rows)| self.loaded(ask, &rows)).collect())
    }

    fn loaded(&self, ask: &Load, rows: &[&Row]) -> Loaded {
        let Some(first) = rows.first() else {
            return Loaded::Failed;
        };
        if !first.get::<_, bool>("owned") {
            return Loaded::StaleEpoch;
        }
        let Some(found) = first.get::<_, Option<i64>>("found") else {
            return Loaded::Records {
                intakes: Vec::new(),
                more: false,
            };
        };
        let intakes = rows
            .iter()
            .filter_map(|row| row::intake(row, &ask.of, &self.decoder, &self.lanes));
        Loaded::Records {
            intakes: intakes.collect(),
            more: usize::try_from(found).is_ok_and(|found| found > rows.len()),
        }
    }

    /// Done for each message that is not in Postgres any more.
    pub(super) async fn undefer(&self, asks: &[Undefer]) -> Result<Vec<Answer>, StateError> {
        let places = Places::of(asks.iter().map(|ask| &ask.of));
        let offsets: Vec<i64> = asks.iter().map(|ask| ask.offset).collect();
        let rows = self
            .database
            .query(
                sql::UNDEFER,
                &[
                    &self.consumer,
                    &places.topics,
                    &places.partitions,
                    &places.epochs,
                    &offsets,
                ],
            )
            .await?;
        Ok(in_order(asks.len(), &rows, answer))
    }

    /// Removes each marker behind which no message is.
    pub(super) async fn close(&self, asks: &[Close]) -> Result<Vec<CloseAnswer>, StateError> {
        let places = Places::of(asks.iter().map(|ask| &ask.of));
        let chats: Vec<&str> = asks.iter().map(|ask| &*ask.chat).collect();
        let rows = self
            .database
            .query(
                sql::CLOSE,
                &[
                    &self.consumer,
                    &places.topics,
                    &places.partitions,
                    &places.epochs,
                    &chats,
                ],
            )
            .await?;
        Ok(in_order(asks.len(), &rows, close_answer))
    }

    /// Every marker of these partitions, by (topic, partition). Ask after their epochs were bumped.
    pub(crate) async fn markers(
        &self,
        partitions: &[(String, i32)],
    ) -> Result<HashMap<(String, i32), Vec<DeferredChat>>, StateError> {
        let (topics, numbers) = names(partitions);
        let asked: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
            [&self.consumer, &topics, &numbers];
        let rows = self.database.query(sql::MARKERS, &asked).await?;
        let mut markers: HashMap<(String, i32), Vec<DeferredChat>> = HashMap::new();
        for row in &rows {
            let place = (row.get("topic"), row.get("partition"));
            markers.entry(place).or_default().push(deferred_chat(row));
        }
        Ok(markers)
    }

    /// At most `most` markers that an operator changed.
    pub(crate) async fn changed(
        &self,
        partitions: &[(String, i32)],
        most: i64,
    ) -> Result<Vec<Changed>, StateError> {
        let (topics, numbers) = names(partitions);
        let rows = self
            .database
            .query(sql::CHANGED, &[&self.consumer, &topics, &numbers, &most])
            .await?;
        let changed = rows.iter().map(|row| Changed {
            topic: row.get("topic"),
            partition: row.get("partition"),
            chat: deferred_chat(row),
            changed_at: row.get("changed_at"),
        });
        Ok(changed.collect())
    }

    /// The changes reached the machine. Losing this tells them again.
    pub(crate) async fn seen(&self, changed: &[Changed]) -> Result<(), StateError> {
        let topics: Vec<&str> = changed.iter().map(|c| c.topic.as_str()).collect();
        let numbers: Vec<i32> = changed.iter().map(|c| c.partition).collect();
        let chats: Vec<&str> = changed.iter().map(|c| &*c.chat.chat).collect();
        let times: Vec<SystemTime> = changed.iter().map(|c| c.changed_at).collect();
        self.database
            .query(
                sql::SEEN,
                &[&self.consumer, &topics, &numbers, &chats, &times],
            )
            .await?;
        Ok(())
    }

    /// How many messages wait in these partitions.
    pub(crate) async fn count(&self, partitions: &[(String, i32)]) -> Result<u64, StateError> {
        let (topics, numbers) = names(partitions);
        let rows = self
            .database
            .query(sql::COUNT, &[&self.consumer, &topics, &numbers])
            .await?;
        let messages: i64 = rows.first().map_or(0, |row| row.get("messages"));
        Ok(u64::try_from(messages).unwrap_or(0))
    }
}

fn names(partitions: &[(String, i32)]) -> (Vec<&str>, Vec<i32>) {
    partitions
        .iter()
        .map(|(topic, number)| (topic.as_str(), *number))
        .unzip()
}

fn deferred_chat(row: &Row) -> DeferredChat {
    let chat: String = row.get("chat");
    let give_up: Option<String> = row.get("give_up_reason");
    let seconds: Option<f64> = row.get("due_seconds");
    DeferredChat {
        chat: chat.into(),
        due: seconds.map_or(Due::Held, |seconds| {
            let wait = Duration::try_from_secs_f64(seconds.max(0.0));
            Due::In(wait.unwrap_or(LONGEST).min(LONGEST))
        }),
        give_up: give_up.map(Arc::from),
    }
}

fn written_behind(row: &Row) -> WrittenBehind {
    let (owned, had_its_end): (bool, bool) = (row.get("owned"), row.get("had_its_end"));
    if owned && had_its_end {
        WrittenBehind::HadItsEnd
    } else {
        WrittenBehind::Answered(answer(row))
    }
}

fn answer(row: &Row) -> Answer {
    let (owned, done): (bool, bool) = (row.get("owned"), row.get("done"));
    match (owned, done) {
        (false, _) => Answer::Fenced,
        (true, true) => Answer::Done,
        (true, false) => Answer::Failed,
    }
}

fn close_answer(row: &Row) -> CloseAnswer {
    let (owned, remain): (bool, bool) = (row.get("owned"), row.get("rows_remain"));
    match (owned, remain) {
        (false, _) => CloseAnswer::StaleEpoch,
        (true, true) => CloseAnswer::RowsRemain,
        (true, false) => CloseAnswer::Gone,
    }
}

impl Unanswered for WrittenBehind {
    const UNANSWERED: Self = Self::Answered(Answer::Failed);
}

impl Unanswered for CloseAnswer {
    const UNANSWERED: Self = Self::Failed;
}
